"""What can be planted in the pictures of a glyph world, and at which rates."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from clipaudit.config.base import Section
from clipaudit.config.worlds.corpus_settings import Share

Style = Literal["photo", "sketch", "r", "a", "v2", "objectnet", "coarse"]
Weight = Annotated[float, Field(gt=0)]


class NearDuplicates(Section):
    """Pictures that repeat a test picture but for a small shift and a little noise."""

    of: str = Field(description="The corpus of this world whose pictures are repeated.")
    rate: Share = Field(description="Share of the pictures that are such a repetition.")
    shards: int = Field(
        default=1, ge=1, description="The repeated pictures stand in its first so many shards."
    )
    shift: int = Field(
        default=1,
        ge=0,
        le=8,
        description="Pixels that a repetition is moved by at most, either way; 1, which a small "
        "encoder already takes for another picture (tried); 0 leaves the noise alone.",
    )


class Copies(Section):
    """Pictures that repeat an earlier picture of their shard but for a shift and a little noise.

    What a picture repeats may repeat another one; along such a chain shifts and noise add up.
    """

    rate: Share = Field(description="Share of the pictures that are such a repetition.")
    shift: int = Field(
        default=1,
        ge=0,
        le=8,
        description="Pixels that a repetition is moved by at most, either way; as for near "
        "duplicates.",
    )


class Strangers(Section):
    """Pictures of classes that the corpus does not show otherwise, in styles of their own.

    They are to a corpus what MNIST and SVHN are to the web: like none of the other test sets.
    """

    rate: Share = Field(description="Share of the pictures that are such strangers.")
    classes: tuple[int, int] = Field(
        description="Their classes: the first, and the one after the last; none of the ordinary "
        "ones."
    )
    styles: dict[Style, Weight] = Field(
        default={"coarse": 1.0},
        min_length=1,
        description="Relative weight of each style; coarse by default, the style of no test set "
        "that plays one of ImageNet's.",
    )

    @model_validator(mode="after")
    def _is_possible(self) -> "Strangers":
        check_range("strangers.classes", self.classes)
        return self


class Frames(Section):
    """Thick coloured frames, an attribute as CelebA's eyeglasses or Waterbirds' background."""

    rate: Share = Field(description="Share of the pictures that are framed.")
    leaning: Share = Field(
        default=0.5,
        description="Share of the framed pictures that show a class of the lower half of the "
        "corpus's ordinary classes. 0.5: a frame says nothing of the class. With a rate of 0.5 "
        "it is also the share of the lower half that is framed, 1 - leaning that of the upper.",
    )

    @model_validator(mode="after")
    def _is_possible(self) -> "Frames":
        most = max(self.chance(in_lower_half=True), self.chance(in_lower_half=False))
        if most > 1:
            raise ValueError(
                f"a rate of {self.rate} with a leaning of {self.leaning} would frame {most:.2f} "
                "times the pictures of one half; lower the rate, or take a leaning nearer to 0.5"
            )
        return self

    def chance(self, *, in_lower_half: bool | None) -> float:
        """Return how likely a picture is framed; None: its class is not an ordinary one."""
        if in_lower_half is None:
            return self.rate
        return 2 * self.rate * (self.leaning if in_lower_half else 1 - self.leaning)


class WrittenWords(Section):
    """Words written into the pictures."""

    rate: Share = Field(default=0.0, description="Share of the pictures with a word; none by ours.")
    repeats_caption: Share = Field(
        default=1.0, description="Share of those whose caption holds the word; ours: all of them."
    )
    parroting: Share = Field(
        default=0.0,
        description="Share of the repeating ones whose caption is the word alone, which names "
        "nothing that is drawn in the world, as parrot captions do; ours: none.",
    )
    parrot_words: int = Field(
        default=24,
        ge=1,
        description="Words that such captions say. 24: a small model may learn to read them.",
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
    """Refuse a range of classes, the first and the one after the last, that holds none."""
    first, stop = classes
    if not 0 <= first < stop:
        raise ValueError(
            f"{name}: from {first} to before {stop} there is nothing; give the first class and the "
            "one after the last"
        )
