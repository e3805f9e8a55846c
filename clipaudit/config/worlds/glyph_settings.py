"""Settings of a glyph world: its corpora, their content and what is planted in them."""

from math import fsum
from typing import Literal

from pydantic import Field, model_validator

from clipaudit.config.base import Section
from clipaudit.config.worlds.corpus_settings import MadeCorpus, Share
from clipaudit.config.worlds.plant_settings import (
    Copies,
    Frames,
    NearDuplicates,
    Strangers,
    Style,
    Weight,
    WrittenWords,
    check_range,
)

CandidateForm = Literal["relation", "attribution", "order"]

SYMBOLS = 186  # lines of classes.tsv; a test counts them
SMALLEST_LETTERED_SIDE = 48  # below it the longest words do not fit at any legible size
SMALLEST_LETTERS = 5  # pixels; `clipaudit.demo.lettering` writes none that are smaller


class GlyphCorpus(MadeCorpus):
    """One corpus of a glyph world."""

    styles: dict[Style, Weight] = Field(
        default={"photo": 1.0},
        min_length=1,
        description="Relative weight of each style; default: photo, the style of `val`.",
    )
    objects: tuple[int, int] = Field(
        default=(1, 1),
        description="Fewest and most symbols in an image, at most 5. (1, 1): models learn from "
        "single objects, but nothing from scenes alone (tried).",
    )
    named_objects: int = Field(
        default=2,
        ge=1,
        le=5,
        description="Most symbols that a caption names. 2: more does not fit into a context of 16 "
        "tokens.",
    )
    tag_letters: int = Field(
        default=0,
        ge=0,
        le=8,
        description="Random letters at a caption's end, which make it nearly unique; ours: none.",
    )
    further_captions: int = Field(
        default=0,
        ge=0,
        le=9,
        description="Captions after the first (COCO has four): the json member lists them all as "
        "`captions`. Each names different symbols if possible; ours: none.",
    )
    classes: tuple[int, int] | None = Field(
        default=None,
        description="Show only these classes: the first, and the one after the last; null: all "
        "of the world's.",
    )
    first_classes: int | None = Field(
        default=None,
        ge=1,
        description="Instead of classes: show only the first N, as ImageNet-A and -R hold "
        "200 of 1000; null: all of the world's.",
    )
    near_duplicates: tuple[NearDuplicates, ...] = Field(
        default=(), description="Repetitions of test images; ours: none."
    )
    copies: Copies | None = Field(
        default=None, description="Repetitions within the corpus; null: none."
    )
    strangers: Strangers | None = Field(
        default=None, description="Images of other classes in other styles; null: none."
    )
    framed: Frames | None = Field(
        default=None,
        description="Frames around images; if given, the json member has `framed` and "
        "`lower_half`. Null: none.",
    )
    written: WrittenWords = Field(
        default=WrittenWords(), description="Words written into the images; ours: none."
    )
    repeated_caption_rate: Share = Field(
        default=0.0,
        description="Share of the images that take classes and caption from an earlier image of "
        "their shard and are drawn again; ours: none.",
    )
    candidates: CandidateForm | None = Field(
        default=None,
        description="As in ARO's sets of this name, the json member has `captions`, the index of "
        "the `right` one and its `kind`: positions of symbols, their sizes, or the order of the "
        "caption's words. Null: none.",
    )

    @model_validator(mode="after")
    def _is_possible(self) -> "GlyphCorpus":
        fewest, most = self.objects
        if not 1 <= fewest <= most <= 5:
            raise ValueError(f"objects: {fewest} to {most} symbols; give 1 <= fewest <= most <= 5")
        if self.classes is not None and self.first_classes is not None:
            raise ValueError("classes and first_classes are both given; keep classes")
        if self.classes is not None:
            check_range("classes", self.classes)
        repeated = [plan.of for plan in self.near_duplicates]
        if len(set(repeated)) < len(repeated):
            raise ValueError(f"near_duplicates: {', '.join(repeated)}; name each corpus once")
        if self.further_captions and (self.candidates is not None or not self.captioned):
            raise ValueError(
                f"further_captions is {self.further_captions}, but it needs captioned and no "
                "candidates, which use `captions` too; set it to 0"
            )
        planted = fsum(plant.rate for plant in self.exclusive_plants())
        if planted > 1:
            raise ValueError(
                f"near_duplicates, copies, strangers: the rates add up to {planted}; at most 1"
            )
        if self.written.rate and self.written.repeats_caption and not self.captioned:
            raise ValueError(
                "written.repeats_caption is above 0, but captioned is false, so there is no "
                "caption to repeat; set repeats_caption to 0"
            )
        self._check_candidates()
        return self

    def _check_candidates(self) -> None:
        """Reject images about which candidates would say nothing, or nothing certainly true."""
        if self.candidates is None:
            return
        if self.objects[0] < 2:
            raise ValueError(
                f"candidates: {self.candidates} needs two symbols, but an image may show "
                f"{self.objects[0]}; let objects start at 2"
            )
        if self.framed is not None:
            raise ValueError(
                "candidates and framed are both given, but a frame may hide a symbol; use two "
                "corpora"
            )
        says_two = self.captioned and self.named_objects > 1 and not self.written.parroting
        if self.candidates == "order" and not says_two:
            raise ValueError(
                "candidates: order shuffles captions of two names or more; set captioned to true, "
                "named_objects to 2 or more and written.parroting to 0"
            )

    def exclusive_plants(self) -> "tuple[NearDuplicates | Copies | Strangers, ...]":
        """Return the plants that exclude each other in an image."""
        others = (self.copies, self.strangers)
        return (*self.near_duplicates, *(plant for plant in others if plant is not None))

    def ordinary_classes(self, classes: int) -> range:
        """Return the classes of all images except strangers, in a world of `classes` classes."""
        return range(*self.classes) if self.classes else range(self.first_classes or classes)


class GlyphWorld(Section):
    """Images drawn from the symbols of the DejaVu Sans font."""

    kind: Literal["glyphs"] = Field(default="glyphs", description="The kind of world.")
    seed: int = Field(default=0, ge=0, lt=2**63, description="Random seed of the world; ours: 0.")
    side: int = Field(
        default=64,
        ge=24,
        le=256,
        description="Side of an image in pixels. 64: OCR reads text of 12 pixels (tried).",
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
            self._check_classes(name, plan)
            if plan.written.rate and self.side < SMALLEST_LETTERED_SIDE:
                raise ValueError(
                    f"corpora.{name}.written: words need a side of {SMALLEST_LETTERED_SIDE} "
                    f"pixels, but side is {self.side}"
                )
            if plan.written.rate and int(self.side * plan.written.type_size) < SMALLEST_LETTERS:
                raise ValueError(
                    f"corpora.{name}.written.type_size: {plan.written.type_size} of {self.side} "
                    f"pixels is less than {SMALLEST_LETTERS} pixels, so letters would be blots; "
                    "increase it"
                )
            if plan.written.parroting and self.classes + 2 * plan.written.parrot_words > SYMBOLS:
                raise ValueError(
                    f"corpora.{name}.written: {plan.written.parrot_words} parrot_words with "
                    f"{self.classes} classes; {SYMBOLS} symbols have names, and half of those "
                    "without a class fit; use fewer classes or words"
                )
            self._check_duplicates(name, plan)
        return self

    def _check_classes(self, name: str, plan: GlyphCorpus) -> None:
        ordinary = plan.ordinary_classes(self.classes)
        shown = {"classes" if plan.classes else "first_classes": ordinary}
        if plan.strangers is not None:
            shown["strangers.classes"] = strangers = range(*plan.strangers.classes)
            if strangers.start < ordinary.stop and ordinary.start < strangers.stop:
                raise ValueError(
                    f"corpora.{name}.strangers: their classes, {_spelt(strangers)}, overlap the "
                    f"ordinary ones, {_spelt(ordinary)}; limit the ordinary ones with classes"
                )
        for setting, classes in shown.items():
            if classes.stop > self.classes:
                raise ValueError(
                    f"corpora.{name}.{setting} ends before {classes.stop}, but the world has "
                    f"{self.classes} classes"
                )
            if plan.objects[1] > len(classes):
                raise ValueError(
                    f"corpora.{name}.objects: {plan.objects[1]} different symbols from "
                    f"{len(classes)} classes; widen {setting}"
                )

    def _check_duplicates(self, name: str, plan: GlyphCorpus) -> None:
        for duplicates in plan.near_duplicates:
            if duplicates.of not in self.corpora:
                raise ValueError(
                    f"corpora.{name}.near_duplicates: `{duplicates.of}` is not a corpus of this "
                    f"world ({', '.join(sorted(self.corpora))})"
                )
            repeated = self.corpora[duplicates.of]
            if repeated.near_duplicates:
                raise ValueError(
                    f"corpora.{name}.near_duplicates: `{duplicates.of}` has near duplicates "
                    "itself; use a corpus without"
                )
            if plan.candidates and (repeated.objects[0] < 2 or repeated.framed):
                raise ValueError(
                    f"corpora.{name}.near_duplicates: {plan.candidates} needs two visible symbols, "
                    f"but images of `{duplicates.of}` may show one or have a frame; use a corpus "
                    "whose objects start at 2, without frames"
                )


def _spelt(classes: range) -> str:
    return f"{classes.start} to {classes.stop - 1}"
