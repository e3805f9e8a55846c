"""Settings of what is planted in the images of a glyph world, and at which rates."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from clipaudit.config.base import Section
from clipaudit.config.worlds.corpus_settings import Share

Style = Literal["photo", "sketch", "r", "a", "v2", "objectnet", "coarse"]
Weight = Annotated[float, Field(gt=0)]


class NearDuplicates(Section):
    """Images that repeat a test image with a small shift and a little noise."""

    of: str = Field(description="The corpus of this world whose images are repeated.")
    rate: Share = Field(description="Share of the images that are such a repetition.")
    shards: int = Field(
        default=1, ge=1, description="The repeated images are in its first N shards."
    )
    shift: int = Field(
        default=1,
        ge=0,
        le=8,
        description="Most pixels that a repetition is shifted, either way; 1: a small encoder "
        "already sees another image (tried); 0: noise only.",
    )


class Copies(Section):
    """Images that repeat an earlier image of their shard with a shift and a little noise.

    The repeated image may itself be a repetition; along such a chain shifts and noise add up.
    """

    rate: Share = Field(description="Share of the images that are such a repetition.")
    shift: int = Field(
        default=1,
        ge=0,
        le=8,
        description="Most pixels that a repetition is shifted, either way; as for near duplicates.",
    )


class Strangers(Section):
    """Images of classes that the corpus does not show otherwise, in styles of their own.

    Like MNIST and SVHN among web data, they resemble none of the other test sets.
    """

    rate: Share = Field(description="Share of the images that are such strangers.")
    classes: tuple[int, int] = Field(
        description="Their classes: the first, and the one after the last; none of the ordinary "
        "ones."
    )
    styles: dict[Style, Weight] = Field(
        default={"coarse": 1.0},
        min_length=1,
        description="Relative weight of each style; default: coarse, which no test set that stands "
        "for one of ImageNet's has.",
    )

    @model_validator(mode="after")
    def _is_possible(self) -> "Strangers":
        check_range("strangers.classes", self.classes)
        return self


class Frames(Section):
    """Thick coloured frames, an attribute like CelebA's eyeglasses or Waterbirds' background."""

    rate: Share = Field(description="Share of the images that are framed.")
    leaning: Share = Field(
        default=0.5,
        description="Share of the framed images that show a class of the lower half of the "
        "corpus's ordinary classes. 0.5: a frame says nothing about the class. With a rate of 0.5 "
        "it is also the framed share of the lower half, and 1 - leaning that of the upper.",
    )

    @model_validator(mode="after")
    def _is_possible(self) -> "Frames":
        most = max(self.chance(in_lower_half=True), self.chance(in_lower_half=False))
        if most > 1:
            raise ValueError(
                f"a rate of {self.rate} with a leaning of {self.leaning} would frame {most:.2f} "
                "times the images of one half; lower the rate, or set a leaning nearer to 0.5"
            )
        return self

    def chance(self, *, in_lower_half: bool | None) -> float:
        """Return the probability that an image is framed; None: its class is not ordinary."""
        if in_lower_half is None:
            return self.rate
        return 2 * self.rate * (self.leaning if in_lower_half else 1 - self.leaning)


class WrittenWords(Section):
    """Words written into the images."""

    rate: Share = Field(default=0.0, description="Share of the images with a word; ours: none.")
    repeats_caption: Share = Field(
        default=1.0, description="Share of those whose caption holds the word; ours: all."
    )
    parroting: Share = Field(
        default=0.0,
        description="Share of the repeating ones whose caption is only the word, which names "
        "nothing drawn in the world, as parrot captions do; ours: none.",
    )
    parrot_words: int = Field(
        default=24,
        ge=1,
        description="Words used in such captions. 24: a small model may learn to read them.",
    )
    type_size: float = Field(
        default=12 / 64,
        ge=0.1,
        le=0.5,
        description="Height of the type, as a share of the side. 12/64: OCR reads it; small models "
        "learn to read from 20/64 on (tried).",
    )
    place: Literal["edges", "anywhere"] = Field(
        default="edges",
        description="At the top or bottom, or anywhere, as models must see it to read (tried).",
    )


def check_range(name: str, classes: tuple[int, int]) -> None:
    """Reject an empty range of classes, given as the first and the one after the last."""
    first, stop = classes
    if not 0 <= first < stop:
        raise ValueError(
            f"{name}: the range from {first} to before {stop} is empty; give the first class and "
            "the one after the last"
        )
