"""What a picture of the glyph world shows and says, before anything is drawn.

A scene depends on the seed, its address and the settings only, so any scene can be composed at
any time: a near duplicate composes the test scene that it repeats.
"""

from dataclasses import dataclass, replace

from clipaudit.demo.captions import caption_of
from clipaudit.demo.dice import Dice
from clipaudit.demo.glyphs import symbols
from clipaudit.demo.lettering import spoken_word
from clipaudit.demo.settings import GlyphCorpus, GlyphWorld, Style, WrittenWords


@dataclass(frozen=True)
class Address:
    """The place of a sample in a world."""

    corpus: str
    shard: int
    row: int


@dataclass(frozen=True)
class Scene:
    """What a picture shows, and what its caption says.

    `labels` are the drawn classes, the first is the picture's class; `named` the classes that the
    caption names: others than the drawn ones where the caption parrots the written `text`.
    """

    style: Style
    labels: tuple[int, ...]
    named: tuple[int, ...]
    caption: str | None
    text: str | None = None
    duplicate_of: Address | None = None
    caption_of_row: int | None = None

    @property
    def text_repeats_caption(self) -> bool:
        """Whether the caption holds the written word; false if either is missing."""
        return self.text is not None and self.text in (self.caption or "").split()


def compose(world: GlyphWorld, address: Address) -> Scene:
    """Return the scene at an address, of a corpus that the world has."""
    plan = world.corpora[address.corpus]
    plants = _dice(world, address, "plants")
    original = _repeated_picture(plan, plants)
    repeated_row = _repeated_row(plan, address, plants)
    if original is not None:
        return _near_duplicate(world, address, original)
    if repeated_row is not None:
        earlier = compose(world, replace(address, row=repeated_row))
        scene = replace(
            earlier,
            style=plants.weighted(plan.styles),
            text=None,
            duplicate_of=None,
            caption_of_row=repeated_row,
        )
    else:
        scene = _fresh(world, address)
    if plants.chance(plan.written.rate):
        scene = _with_word(world, address, scene, plan.written)
    return scene


def _dice(world: GlyphWorld, address: Address, purpose: str) -> Dice:
    return Dice(world.kind, world.seed, address.corpus, address.shard, address.row, purpose)


def _repeated_picture(plan: GlyphCorpus, plants: Dice) -> Address | None:
    """Draw whether this is a near duplicate, and of which corpus and shard; the row is open."""
    drawn, shard_drawn = plants.uniform(), plants.uniform()
    for duplicates in plan.near_duplicates:
        if drawn < duplicates.rate:
            return Address(duplicates.of, int(shard_drawn * duplicates.shards), 0)
        drawn -= duplicates.rate
    return None


def _repeated_row(plan: GlyphCorpus, address: Address, plants: Dice) -> int | None:
    """Draw whether, and which, earlier row of the shard gives the caption."""
    repeats, row = plants.chance(plan.repeated_caption_rate), plants.integer(max(1, address.row))
    return row if repeats and address.row > 0 else None


def _near_duplicate(world: GlyphWorld, address: Address, original: Address) -> Scene:
    """Return the scene of a random row of the original's shard, with a caption of its own."""
    dice = _dice(world, address, "near duplicate")
    rows = world.corpora[original.corpus].samples_per_shard
    original = replace(original, row=dice.integer(rows))
    scene = compose(world, original)
    named = _named(world.corpora[address.corpus], scene.labels)
    caption = _caption(world, address.corpus, named, scene.style, dice)
    return replace(scene, named=named, caption=caption, duplicate_of=original, caption_of_row=None)


def _fresh(world: GlyphWorld, address: Address) -> Scene:
    """Return a scene whose first class is the next in turn, so that classes are equally many."""
    plan = world.corpora[address.corpus]
    dice = _dice(world, address, "scene")
    classes = plan.first_classes or world.classes
    style = dice.weighted(plan.styles)
    first = (address.shard * plan.samples_per_shard + address.row) % classes
    fewest, most = plan.objects
    others = [label for label in range(classes) if label != first]
    count = fewest + dice.integer(most - fewest + 1)
    labels = (first, *(dice.shuffled(others)[: count - 1] if count > 1 else ()))
    named = _named(plan, labels)
    return Scene(style, labels, named, _caption(world, address.corpus, named, style, dice))


def _named(plan: GlyphCorpus, labels: tuple[int, ...]) -> tuple[int, ...]:
    return labels[: plan.named_objects]


def _caption(
    world: GlyphWorld, corpus: str, named: tuple[int, ...], style: Style, dice: Dice
) -> str | None:
    plan = world.corpora[corpus]
    names = [symbols()[label].name for label in named]
    return caption_of(names, style, plan.tag_letters, dice) if plan.captioned else None


def _with_word(world: GlyphWorld, address: Address, scene: Scene, written: WrittenWords) -> Scene:
    """Write a word into the scene: one of its caption, or of a class that it has nothing of."""
    dice = _dice(world, address, "word")
    repeats, parrots = dice.chance(written.repeats_caption), dice.chance(written.parroting)
    absent = dice.pick(_absent_classes(world, scene))
    if not repeats:
        return replace(scene, text=spoken_word(symbols()[absent].name))
    if parrots and scene.caption_of_row is None:
        caption = _caption(world, address.corpus, (absent,), scene.style, dice)
        text = spoken_word(symbols()[absent].name)
        return replace(scene, named=(absent,), caption=caption, text=text)
    return replace(scene, text=spoken_word(symbols()[dice.pick(scene.named)].name))


def _absent_classes(world: GlyphWorld, scene: Scene) -> list[int]:
    """Return the classes neither drawn nor named whose word the caption does not hold."""
    said = (scene.caption or "").split()
    present = {*scene.labels, *scene.named}
    return [
        symbol.label
        for symbol in symbols()[: world.classes]
        if symbol.label not in present and spoken_word(symbol.name) not in said
    ]
