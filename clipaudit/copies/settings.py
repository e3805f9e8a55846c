"""Defines the settings of the copies audit."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from clipaudit.config.base import Distinct, Name, Section
from clipaudit.copies.fixed import MAX_DISTANCE

CALIBRATED: Literal["calibrated"] = "calibrated"

Distance = Annotated[int, Field(ge=0, le=MAX_DISTANCE)]
Similarity = Annotated[float, Field(gt=0, le=1)]


class Calibration(Section):
    """Copies that are made on purpose and searched for, to choose thresholds by measurement."""

    images: int = Field(
        default=40, ge=2, description="images to make copies of, the first in a seeded order"
    )
    false_positives: float | None = Field(
        default=None,
        gt=0,
        description="allowed candidates that are not copies, per million pairs of images; when "
        "absent, the rate that gives three per hundred training images",
    )


class Copies(Section):
    """Which test images are in the training data, and which training images repeat others?

    Candidates are found without a model: by equal bytes, equal pixels and a perceptual hash.
    Each pair is then compared pixel by pixel.
    """

    train: Name = Field(description="the corpus that is searched for copies")
    test_sets: Distinct[Name] = Field(
        [], description="the corpora whose images are searched for; none: only repeats in `train`"
    )
    encoders: Distinct[Name] = Field(
        [], description="names under `encoders` that propose further candidates by similarity"
    )
    distance: Distance | Literal["calibrated"] = Field(
        CALIBRATED,
        description="largest distance between the 256-bit hashes of a candidate pair; calibrated: "
        "the largest one within `calibration.false_positives`",
    )
    similarity: dict[Name, Similarity] = Field(
        {},
        description="lowest similarity of a candidate pair, by encoder; calibrated for encoders "
        "that are not named",
    )
    repeats: bool = Field(True, description="search for repeats within `train` as well")
    sample: int | None = Field(
        None,
        ge=1,
        description="search only this many images of `train`, the first in a seeded order; all "
        "when absent",
    )
    seed: int = Field(0, ge=0, lt=2**63, description="random seed of the seeded orders")
    calibration: Calibration = Field(
        default_factory=Calibration, description="how thresholds are chosen"
    )
    shown: int = Field(12, ge=1, description="pairs in a gallery")

    @model_validator(mode="after")
    def _is_possible(self) -> "Copies":
        if not self.test_sets and not self.repeats:
            raise ValueError(
                "copies: test_sets is empty and repeats is false, so there is nothing to search "
                "for; name a test set, or set repeats to true"
            )
        strange = sorted(self.similarity.keys() - set(self.encoders))
        if strange:
            raise ValueError(
                f"copies.similarity: {', '.join(strange)} is not among copies.encoders "
                f"({', '.join(self.encoders) or 'nothing'}); add it there, or remove its threshold"
            )
        return self

    @property
    def calibrated_encoders(self) -> list[str]:
        """Return the encoders whose threshold the calibration chooses."""
        return [name for name in self.encoders if name not in self.similarity]
