"""What a made world holds: the settings of the glyph world and of the digit world.

A world has a seed, a picture size and named corpora. How many shards a corpus has is not said
here: a shard's bytes depend on the seed, the corpus's name, the shard's number and these
settings, so a further shard changes none of the others.
"""

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Share = Annotated[float, Field(ge=0, le=1)]
Style = Literal["photo", "sketch", "r", "a", "v2", "objectnet"]
Weight = Annotated[float, Field(gt=0)]

SYMBOLS = 186  # lines of classes.tsv; a test counts them
SMALLEST_LETTERED_SIDE = 48  # below it the longest words do not fit at any legible size


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class NearDuplicates(_Settings):
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


class WrittenWords(_Settings):
    """Words written into the pictures."""

    rate: Share = Field(default=0.0, description="Share of the pictures with a word; none by ours.")
    repeats_caption: Share = Field(
        default=1.0, description="Share of those whose caption holds the word; ours: all of them."
    )
    parroting: Share = Field(
        default=0.0,
        description="Share of the repeating ones whose caption says the word and nothing of what "
        "is drawn, as parrot captions do; ours: none.",
    )


class _Corpus(_Settings):
    samples_per_shard: int = Field(
        default=500,
        ge=1,
        le=1_000_000,
        description="Pictures in a shard; keys have six digits. 500: about 6 MB at 64 pixels.",
    )
    captioned: bool = Field(default=True, description="Write a caption (.txt) for each picture.")
    labelled: bool = Field(default=False, description="Write the class number (.cls).")

    @model_validator(mode="after")
    def _says_something(self) -> "_Corpus":
        if not (self.captioned or self.labelled):
            raise ValueError(
                "captioned and labelled are both false, so nothing would say what a picture "
                "shows: set one of them"
            )
        return self


class GlyphCorpus(_Corpus):
    """What one corpus of a glyph world holds."""

    styles: dict[Style, Weight] = Field(
        default={"photo": 1.0},
        min_length=1,
        description="Relative weight of each style; photo by default, the style of `val`.",
    )
    objects: tuple[int, int] = Field(
        default=(1, 1),
        description="Fewest and most symbols in a picture, at most 5. (1, 1): models learn from "
        "single objects, and nothing from scenes alone (tried).",
    )
    named_objects: int = Field(
        default=2,
        ge=1,
        le=5,
        description="A caption names at most so many of the symbols. 2: more does not fit into "
        "a context of 16 tokens.",
    )
    tag_letters: int = Field(
        default=0,
        ge=0,
        le=8,
        description="Random letters at a caption's end, which make it nearly unique; ours: none.",
    )
    first_classes: int | None = Field(
        default=None,
        ge=1,
        description="Show only the first so many classes, as ImageNet-A and -R hold 200 of 1000; "
        "null: all of the world's.",
    )
    near_duplicates: tuple[NearDuplicates, ...] = Field(
        default=(), description="Repetitions of test pictures; ours: none."
    )
    written: WrittenWords = Field(
        default=WrittenWords(), description="Words written into the pictures; ours: none."
    )
    repeated_caption_rate: Share = Field(
        default=0.0,
        description="Share of the pictures that take classes and caption from an earlier picture "
        "of their shard and are drawn anew; ours: none.",
    )

    @model_validator(mode="after")
    def _is_possible(self) -> "GlyphCorpus":
        fewest, most = self.objects
        if not 1 <= fewest <= most <= 5:
            raise ValueError(f"objects: {fewest} to {most} symbols; give 1 <= fewest <= most <= 5")
        repeated = [plan.of for plan in self.near_duplicates]
        if len(set(repeated)) < len(repeated):
            raise ValueError(f"near_duplicates: {', '.join(repeated)}; name each corpus once")
        planted = sum(plan.rate for plan in self.near_duplicates)
        if planted > 1:
            raise ValueError(f"near_duplicates: the rates add up to {planted}; at most 1")
        if self.written.rate and self.written.repeats_caption and not self.captioned:
            raise ValueError(
                "written.repeats_caption is above 0, but captioned is false: there is no caption "
                "to repeat; set repeats_caption to 0"
            )
        return self


class GlyphWorld(_Settings):
    """Pictures drawn from the symbols of the DejaVu Sans font."""

    kind: Literal["glyphs"] = Field(default="glyphs", description="The kind of world.")
    seed: int = Field(default=0, ge=0, description="Another seed, another world; ours: 0.")
    side: int = Field(
        default=64,
        ge=24,
        le=256,
        description="Side of a picture in pixels. 64: text of 12 pixels is read by OCR (tried).",
    )
    classes: int = Field(
        default=50,
        ge=6,
        le=SYMBOLS,
        description="Classes, the first lines of classes.tsv. 50: a small model learns them in "
        "half a minute (tried).",
    )
    corpora: dict[str, GlyphCorpus] = Field(min_length=1, description="Its corpora, by name.")

    @model_validator(mode="after")
    def _fits_together(self) -> "GlyphWorld":
        for name, plan in self.corpora.items():
            if plan.first_classes is not None and plan.first_classes > self.classes:
                raise ValueError(
                    f"corpora.{name}.first_classes is {plan.first_classes}, but the world has "
                    f"{self.classes} classes"
                )
            if plan.objects[1] > (plan.first_classes or self.classes):
                raise ValueError(
                    f"corpora.{name}.objects: {plan.objects[1]} different symbols from "
                    f"{plan.first_classes} classes; raise first_classes"
                )
            if plan.written.rate and self.side < SMALLEST_LETTERED_SIDE:
                raise ValueError(
                    f"corpora.{name}.written: words need a side of {SMALLEST_LETTERED_SIDE} "
                    f"pixels, but side is {self.side}"
                )
            self._check_duplicates(name, plan)
        return self

    def _check_duplicates(self, name: str, plan: GlyphCorpus) -> None:
        for duplicates in plan.near_duplicates:
            if duplicates.of not in self.corpora:
                raise ValueError(
                    f"corpora.{name}.near_duplicates: `{duplicates.of}` is no corpus of this "
                    f"world; there are {', '.join(sorted(self.corpora))}"
                )
            if self.corpora[duplicates.of].near_duplicates:
                raise ValueError(
                    f"corpora.{name}.near_duplicates: `{duplicates.of}` has near duplicates "
                    "itself; take a corpus without"
                )


class DigitCorpus(_Corpus):
    """What one corpus of a digit world holds: some of the scans, and printed digits."""

    scans: tuple[Share, Share] | None = Field(
        default=None,
        description="The slice of the 1,797 scans, in the seed's order, as two fractions; null: "
        "printed digits only. No two corpora may share a scan.",
    )
    printed: Share = Field(
        default=0.0,
        description="Share of a shard's pictures that are printed; ours: none beside scans.",
    )
    disturbed: Share = Field(
        default=0.0,
        description="Share of the pictures that are turned, pale and crossed by a line; ours: 0.",
    )

    @model_validator(mode="after")
    def _is_possible(self) -> "DigitCorpus":
        if self.scans is None and self.printed != 1:
            raise ValueError(
                f"printed is {self.printed}, but scans is null: name a slice of the scans or set "
                "printed to 1"
            )
        if self.scans is not None and not self.scans[0] < self.scans[1]:
            raise ValueError(f"scans: from {self.scans[0]} to {self.scans[1]} there is nothing")
        if self.scans is not None and self.printed == 1:
            raise ValueError("printed is 1, so no scan would be used: set scans to null")
        return self


class DigitWorld(_Settings):
    """Scanned handwritten digits (scikit-learn's `load_digits`) and printed ones."""

    kind: Literal["digits"] = Field(default="digits", description="The kind of world.")
    seed: int = Field(default=0, ge=0, description="Another seed, other slices; ours: 0.")
    side: int = Field(
        default=48,
        ge=24,
        le=256,
        description="Side of a picture in pixels; 48: the demo models' input size.",
    )
    corpora: dict[str, DigitCorpus] = Field(min_length=1, description="Its corpora, by name.")

    @model_validator(mode="after")
    def _slices_are_disjoint(self) -> "DigitWorld":
        used = sorted((*plan.scans, name) for name, plan in self.corpora.items() if plan.scans)
        for (_, stop, name), (start, _, other) in pairwise(used):
            if start < stop:
                raise ValueError(
                    f"corpora.{name}.scans ends at {stop}, but corpora.{other}.scans begins at "
                    f"{start}: a scan may stand in one corpus only"
                )
        return self


World = Annotated[GlyphWorld | DigitWorld, Field(discriminator="kind")]
