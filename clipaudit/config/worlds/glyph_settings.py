"""What a glyph world holds: its corpora, what they show and what is planted in them."""

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


class GlyphCorpus(MadeCorpus):
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
    further_captions: int = Field(
        default=0,
        ge=0,
        le=9,
        description="Captions beside the first, as COCO has four: the json member lists them all "
        "as `captions`. Each names other symbols, where there are others; ours: none.",
    )
    classes: tuple[int, int] | None = Field(
        default=None,
        description="Show only these classes: the first, and the one after the last; null: all "
        "of the world's.",
    )
    first_classes: int | None = Field(
        default=None,
        ge=1,
        description="Instead of classes: show only the first so many, as ImageNet-A and -R hold "
        "200 of 1000; null: all of the world's.",
    )
    near_duplicates: tuple[NearDuplicates, ...] = Field(
        default=(), description="Repetitions of test pictures; ours: none."
    )
    copies: Copies | None = Field(
        default=None, description="Repetitions within the corpus; null: none."
    )
    strangers: Strangers | None = Field(
        default=None, description="Pictures of other classes in other styles; null: none."
    )
    framed: Frames | None = Field(
        default=None,
        description="Frames around pictures; if given, the json member says `framed` and "
        "`lower_half`. Null: none.",
    )
    written: WrittenWords = Field(
        default=WrittenWords(), description="Words written into the pictures; ours: none."
    )
    repeated_caption_rate: Share = Field(
        default=0.0,
        description="Share of the pictures that take classes and caption from an earlier picture "
        "of their shard and are drawn anew; ours: none.",
    )
    candidates: CandidateForm | None = Field(
        default=None,
        description="As in ARO's sets of this name, the json member says `captions`, the place of "
        "the `right` one and its `kind`: where symbols stand, how large they are, or in which "
        "order the caption's words come. Null: none.",
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
                f"further_captions is {self.further_captions}: a captioned corpus without "
                "candidates has these, since candidates stand in `captions` too; set it to 0"
            )
        planted = fsum(plant.rate for plant in self.exclusive_plants())
        if planted > 1:
            raise ValueError(
                f"near_duplicates, copies, strangers: the rates add up to {planted}; at most 1"
            )
        if self.written.rate and self.written.repeats_caption and not self.captioned:
            raise ValueError(
                "written.repeats_caption is above 0, but captioned is false: there is no caption "
                "to repeat; set repeats_caption to 0"
            )
        self._check_candidates()
        return self

    def _check_candidates(self) -> None:
        """Refuse pictures of which candidates could say nothing, or nothing that is surely true."""
        if self.candidates is None:
            return
        if self.objects[0] < 2:
            raise ValueError(
                f"candidates: {self.candidates} speaks of two symbols, but a picture may show "
                f"{self.objects[0]}; let objects start at 2"
            )
        if self.framed is not None:
            raise ValueError(
                "candidates and framed are both given, but a frame may hide a symbol; take two "
                "corpora"
            )
        says_two = self.captioned and self.named_objects > 1 and not self.written.parroting
        if self.candidates == "order" and not says_two:
            raise ValueError(
                "candidates: order shuffles captions of two names or more; set captioned to true, "
                "named_objects to 2 or more and written.parroting to 0"
            )

    def exclusive_plants(self) -> "tuple[NearDuplicates | Copies | Strangers, ...]":
        """Return the plants of which a picture is at most one."""
        others = (self.copies, self.strangers)
        return (*self.near_duplicates, *(plant for plant in others if plant is not None))

    def ordinary_classes(self, classes: int) -> range:
        """Return the classes of all pictures but strangers, in a world of so many `classes`."""
        return range(*self.classes) if self.classes else range(self.first_classes or classes)


class GlyphWorld(Section):
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
            self._check_classes(name, plan)
            if plan.written.rate and self.side < SMALLEST_LETTERED_SIDE:
                raise ValueError(
                    f"corpora.{name}.written: words need a side of {SMALLEST_LETTERED_SIDE} "
                    f"pixels, but side is {self.side}"
                )
            if plan.written.parroting and self.classes + 2 * plan.written.parrot_words > SYMBOLS:
                raise ValueError(
                    f"corpora.{name}.written: {plan.written.parrot_words} parrot_words beside "
                    f"{self.classes} classes; {SYMBOLS} symbols have names, and of those without a "
                    "class half fit: take fewer classes or words"
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
                    f"ordinary ones, {_spelt(ordinary)}; limit those by classes"
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
                    f"corpora.{name}.near_duplicates: `{duplicates.of}` is no corpus of this "
                    f"world; there are {', '.join(sorted(self.corpora))}"
                )
            if self.corpora[duplicates.of].near_duplicates:
                raise ValueError(
                    f"corpora.{name}.near_duplicates: `{duplicates.of}` has near duplicates "
                    "itself; take a corpus without"
                )


def _spelt(classes: range) -> str:
    return f"{classes.start} to {classes.stop - 1}"
