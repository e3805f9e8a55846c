"""Composes the scenes of the glyph world: what an image shows and its caption says.

A scene depends only on the seed, its address and the settings, so any scene can be composed at any
time: a repetition composes the scene that it repeats.

Near duplicates, copies and strangers exclude one another: one draw decides among them, so that the
rates are shares of all images (the first row of a shard has nothing to copy). A repetition shows
what its original shows, with frame and word, but has its own caption. Only images drawn for the
corpus itself may have a frame, a word or a repeated caption.
"""

from dataclasses import dataclass, replace

from clipaudit.config.worlds.glyph_settings import GlyphCorpus, GlyphWorld
from clipaudit.config.worlds.plant_settings import (
    Copies,
    NearDuplicates,
    Strangers,
    Style,
    WrittenWords,
)
from clipaudit.demo.captions import caption_of
from clipaudit.demo.dice import Dice
from clipaudit.demo.glyphs import symbols
from clipaudit.demo.lettering import spoken_word, words_of_nothing


@dataclass(frozen=True)
class Address:
    """The place of a sample in a world."""

    corpus: str
    shard: int
    row: int


@dataclass(frozen=True)
class Scene:
    """What an image shows, and what its caption says.

    `labels` are the drawn classes, the first is the image's class. `named` are those that the
    caption names: none if the caption parrots the written `text`. A `stranger` shows classes that
    are not the ordinary ones of its corpus.
    """

    style: Style
    labels: tuple[int, ...]
    named: tuple[int, ...]
    caption: str | None
    text: str | None = None
    stranger: bool = False
    framed: bool = False
    duplicate_of: Address | None = None
    copy_of_row: int | None = None
    caption_of_row: int | None = None

    def original(self, at: Address) -> Address | None:
        """Return the address of the image that this one, at `at`, repeats, or None."""
        if self.copy_of_row is not None:
            return replace(at, row=self.copy_of_row)
        return self.duplicate_of

    @property
    def text_repeats_caption(self) -> bool:
        """Return whether the caption contains the written word; false if either is missing."""
        return self.text is not None and self.text in (self.caption or "").split()


def compose(world: GlyphWorld, address: Address) -> Scene:
    """Return the scene at an address in one of the world's corpora."""
    plan = world.corpora[address.corpus]
    plants = dice_of(world, address, "plants")
    drawn, place = plants.uniform(), plants.uniform()
    repeats = plants.chance(plan.repeated_caption_rate) and address.row > 0
    repeated_row = plants.integer(max(1, address.row))  # drawn even if it does not repeat
    plant = _plant(plan, drawn)
    if isinstance(plant, NearDuplicates):
        return _near_duplicate(world, address, plant, place)
    if isinstance(plant, Copies) and address.row > 0:
        return _copy(world, address, int(place * address.row))
    if repeats:
        scene = _drawn_anew(world, address, repeated_row, plants)
    else:
        scene = _fresh(world, address, plant if isinstance(plant, Strangers) else None)
    if plan.framed is not None:
        chance = plan.framed.chance(in_lower_half=in_lower_half(world, address, scene))
        scene = replace(scene, framed=dice_of(world, address, "frame").chance(chance))
    if plants.chance(plan.written.rate):
        scene = _with_word(world, address, scene, plan.written)
    return scene


def all_captions(world: GlyphWorld, address: Address, scene: Scene) -> list[str]:
    """Return the caption of a scene and the further ones that its corpus plans.

    Each further one starts with the next of the drawn symbols, in other words.
    """
    plan, labels = world.corpora[address.corpus], scene.labels
    dice = dice_of(world, address, "further captions")
    turns = [turn % len(labels) for turn in range(1, plan.further_captions + 1)]
    named = [_named(plan, labels[turn:] + labels[:turn]) for turn in turns]
    further = [_caption(world, address.corpus, each, scene.style, dice) for each in named]
    return [caption for caption in (scene.caption, *further) if caption is not None]


def in_lower_half(world: GlyphWorld, address: Address, scene: Scene) -> bool | None:
    """Return whether a scene's class is in the lower half of its corpus's ordinary classes.

    With an odd number of them, the lower half is the smaller one. None means another class.
    """
    ordinary = world.corpora[address.corpus].ordinary_classes(world.classes)
    label = scene.labels[0]
    return label < (ordinary.start + ordinary.stop) // 2 if label in ordinary else None


def dice_of(world: GlyphWorld, address: Address, purpose: str) -> Dice:
    """Return the draws of one purpose for the sample at an address."""
    return Dice(world.kind, world.seed, address.corpus, address.shard, address.row, purpose)


def _plant(plan: GlyphCorpus, drawn: float) -> NearDuplicates | Copies | Strangers | None:
    """Return the plant that `drawn`, in [0, 1), selects among those that exclude one another."""
    for plant in plan.exclusive_plants():
        if drawn < plant.rate:
            return plant
        drawn -= plant.rate
    return None


def _near_duplicate(
    world: GlyphWorld, address: Address, plant: NearDuplicates, place: float
) -> Scene:
    """Return the scene of a random row of another corpus, with a caption of its own."""
    dice = dice_of(world, address, "near duplicate")
    row = dice.integer(world.corpora[plant.of].samples_per_shard)
    original = Address(plant.of, int(place * plant.shards), row)
    scene = _retold(world, address, compose(world, original), dice)
    return replace(scene, duplicate_of=original)


def _copy(world: GlyphWorld, address: Address, row: int) -> Scene:
    """Return the scene of an earlier row of the shard, with a caption of its own."""
    earlier = compose(world, replace(address, row=row))
    scene = _retold(world, address, earlier, dice_of(world, address, "copy's caption"))
    return replace(scene, copy_of_row=row)


def _retold(world: GlyphWorld, address: Address, scene: Scene, dice: Dice) -> Scene:
    """Return the scene with a new caption, which names the drawn classes."""
    named = _named(world.corpora[address.corpus], scene.labels)
    caption = _caption(world, address.corpus, named, scene.style, dice)
    told = replace(scene, named=named, caption=caption)
    return replace(told, duplicate_of=None, copy_of_row=None, caption_of_row=None)


def _drawn_anew(world: GlyphWorld, address: Address, row: int, plants: Dice) -> Scene:
    """Return a scene with the classes and the caption of an earlier row of the shard."""
    earlier = compose(world, replace(address, row=row))
    style = plants.weighted(_styles(world.corpora[address.corpus], stranger=earlier.stranger))
    return Scene(
        style,
        earlier.labels,
        earlier.named,
        earlier.caption,
        stranger=earlier.stranger,
        caption_of_row=row,
    )


def _styles(plan: GlyphCorpus, *, stranger: bool) -> dict[Style, float]:
    return plan.strangers.styles if stranger and plan.strangers else plan.styles


def _fresh(world: GlyphWorld, address: Address, strangers: Strangers | None) -> Scene:
    """Return a scene whose first class is the next in turn, so that classes are balanced."""
    plan = world.corpora[address.corpus]
    dice = dice_of(world, address, "scene")
    classes = range(*strangers.classes) if strangers else plan.ordinary_classes(world.classes)
    style = dice.weighted(_styles(plan, stranger=strangers is not None))
    first = classes[(address.shard * plan.samples_per_shard + address.row) % len(classes)]
    fewest, most = plan.objects
    others = [label for label in classes if label != first]
    count = fewest + dice.integer(most - fewest + 1)
    labels = (first, *(dice.shuffled(others)[: count - 1] if count > 1 else ()))
    named = _named(plan, labels)
    caption = _caption(world, address.corpus, named, style, dice)
    return Scene(style, labels, named, caption, stranger=strangers is not None)


def _named(plan: GlyphCorpus, labels: tuple[int, ...]) -> tuple[int, ...]:
    return labels[: plan.named_objects]


def _caption(
    world: GlyphWorld, corpus: str, named: tuple[int, ...], style: Style, dice: Dice
) -> str | None:
    plan = world.corpora[corpus]
    names = [symbols()[label].name for label in named]
    return caption_of(names, style, plan.tag_letters, dice) if plan.captioned else None


def _with_word(world: GlyphWorld, address: Address, scene: Scene, written: WrittenWords) -> Scene:
    """Return the scene with a written word: one of its caption, or of a class not in the scene.

    That is a class of the corpus, so that models trained on it know all words. A parroting caption
    is only the word, which names nothing in the world, so it is neither informative nor false.
    """
    dice = dice_of(world, address, "word")
    repeats, parrots = dice.chance(written.repeats_caption), dice.chance(written.parroting)
    absent = dice.pick(_absent_classes(world, address.corpus, scene))
    if not repeats:
        return replace(scene, text=spoken_word(symbols()[absent].name))
    if parrots and scene.caption_of_row is None:
        text = dice.pick(words_of_nothing(world.classes, written.parrot_words))
        return replace(scene, named=(), caption=text, text=text)
    if not scene.named:  # it repeats a parroting caption
        return replace(scene, text=scene.caption)
    return replace(scene, text=spoken_word(symbols()[dice.pick(scene.named)].name))


def _absent_classes(world: GlyphWorld, corpus: str, scene: Scene) -> list[int]:
    """Return the classes neither drawn nor named whose word the caption lacks.

    They are the corpus's own, or the world's if it has no other ones.
    """
    said = (scene.caption or "").split()
    present = {*scene.labels, *scene.named}

    def absent(classes: range) -> list[int]:
        words = {label: spoken_word(symbols()[label].name) for label in classes}
        return [label for label in classes if label not in present and words[label] not in said]

    own = world.corpora[corpus].ordinary_classes(world.classes)
    return absent(own) or absent(range(world.classes))
