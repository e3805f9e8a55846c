"""Settings of a digit world: the scans and printed digits of each corpus."""

from itertools import pairwise
from typing import Literal

from pydantic import Field, model_validator

from clipaudit.config.base import Section
from clipaudit.config.worlds.corpus_settings import MadeCorpus, Share


class DigitCorpus(MadeCorpus):
    """One corpus of a digit world: some of the scans, and printed digits."""

    scans: tuple[Share, Share] | None = Field(
        default=None,
        description="The slice of the 1,797 scans, in the seed's order, as two fractions; null: "
        "printed digits only. No two corpora may share a scan.",
    )
    printed: Share = Field(
        default=0.0,
        description="Share of a shard's images that are printed; ours: none beside scans.",
    )
    disturbed: Share = Field(
        default=0.0,
        description="Share of the images that are rotated, pale and crossed by a line; ours: 0.",
    )

    @model_validator(mode="after")
    def _is_possible(self) -> "DigitCorpus":
        if self.scans is None and self.printed != 1:
            raise ValueError(
                f"printed is {self.printed}, but scans is null: name a slice of the scans or set "
                "printed to 1"
            )
        if self.scans is not None and not self.scans[0] < self.scans[1]:
            raise ValueError(f"scans: the range {self.scans[0]} to {self.scans[1]} is empty")
        if self.scans is not None and self.printed == 1:
            raise ValueError("printed is 1, so no scan would be used; set scans to null")
        return self


class DigitWorld(Section):
    """Scanned handwritten digits (scikit-learn's `load_digits`) and printed ones."""

    kind: Literal["digits"] = Field(default="digits", description="The kind of world.")
    seed: int = Field(default=0, ge=0, lt=2**63, description="Random seed of the slices; ours: 0.")
    side: int = Field(
        default=48,
        ge=24,
        le=256,
        description="Side of an image in pixels; 48: the demo models' input size.",
    )
    corpora: dict[str, DigitCorpus] = Field(min_length=1, description="Its corpora, by name.")

    @model_validator(mode="after")
    def _slices_are_disjoint(self) -> "DigitWorld":
        used = sorted((*plan.scans, name) for name, plan in self.corpora.items() if plan.scans)
        for (_, stop, name), (start, _, other) in pairwise(used):
            if start < stop:
                raise ValueError(
                    f"corpora.{name}.scans ends at {stop}, but corpora.{other}.scans begins at "
                    f"{start}: a scan may be in only one corpus"
                )
        return self
