"""The glyph world: scenes become pictures and samples."""

from collections.abc import Iterator, Sequence

import numpy as np

from clipaudit.demo.captions import BETWEEN, BY_STYLE, PLAIN
from clipaudit.demo.dice import Dice
from clipaudit.demo.glyphs import symbols
from clipaudit.demo.lettering import write_word
from clipaudit.demo.scenes import Address, Scene, compose
from clipaudit.demo.settings import GlyphWorld
from clipaudit.demo.shard_writer import Sample
from clipaudit.demo.styles import Picture, Pixels, draw

COPY_GRAIN = 4  # a near duplicate's bytes differ by at most half of it, seen or not


def class_names(world: GlyphWorld) -> list[str]:
    """Return the class names in the order of their labels."""
    return [symbol.name for symbol in symbols()[: world.classes]]


def caption_phrases(world: GlyphWorld) -> list[str]:
    """Return what captions are made of beside class names."""
    return [*PLAIN, BETWEEN, *(template for group in BY_STYLE.values() for template in group)]


def samples(world: GlyphWorld, corpus: str, shard: int) -> Iterator[Sample]:
    """Draw the samples of a shard, in the order of rows."""
    for row in range(world.corpora[corpus].samples_per_shard):
        yield sample(world, Address(corpus, shard, row))


def sample(world: GlyphWorld, address: Address) -> Sample:
    """Draw the sample at an address."""
    plan = world.corpora[address.corpus]
    scene = compose(world, address)
    picture = _picture(world, scene, scene.duplicate_of or address)
    pixels = picture.pixels
    if scene.duplicate_of is not None:
        of = scene.duplicate_of.corpus
        shift = next(copy.shift for copy in plan.near_duplicates if copy.of == of)
        pixels = _slightly_changed(pixels, _dice(world, address, "copy"), shift)
    return Sample(
        pixels=pixels,
        caption=scene.caption,
        label=scene.labels[0] if plan.labelled else None,
        metadata=_metadata(scene, picture),
        truth=_truth(scene),
    )


def _dice(world: GlyphWorld, address: Address, purpose: str) -> Dice:
    return Dice(world.kind, world.seed, address.corpus, address.shard, address.row, purpose)


def _picture(world: GlyphWorld, scene: Scene, drawn_at: Address) -> Picture:
    """Draw a scene with the dice of an address: a copy has those of its original."""
    characters = [symbols()[label].character for label in scene.labels]
    picture = draw(scene.style, characters, world.side, _dice(world, drawn_at, "picture"))
    if scene.text is None:
        return picture
    lettered = write_word(picture.pixels, scene.text, _dice(world, drawn_at, "lettering"))
    return Picture(lettered, picture.boxes)


def _slightly_changed(pixels: Pixels, dice: Dice, shift: int) -> Pixels:
    """Move by up to `shift` pixels either way, and add noise of up to two levels of 255."""
    side = len(pixels)
    down, right = dice.integer(2 * shift + 1), dice.integer(2 * shift + 1)
    edged = np.pad(pixels, ((shift, shift), (shift, shift), (0, 0)), mode="edge")
    moved = edged[down : down + side, right : right + side].astype(np.int16)
    noise = dice.octets(side, side * 3).reshape(side, side, 3) % (COPY_GRAIN + 1)
    changed: Pixels = np.clip(moved + noise - COPY_GRAIN // 2, 0, 255).astype(np.uint8)
    return changed


def _metadata(scene: Scene, picture: Picture) -> dict[str, object]:
    """Return the json member; objects as in COCO: [left, top, width, height] in pixels.

    The boxes of a near duplicate are its original's, so they may be a pixel off.
    """
    objects: Sequence[dict[str, object]] = [
        {"category_id": label, "category": symbols()[label].name, "bbox": list(box)}
        for label, box in zip(scene.labels, picture.boxes, strict=True)
    ]
    side = len(picture.pixels)
    return {"width": side, "height": side, "style": scene.style, "objects": list(objects)}


def _truth(scene: Scene) -> dict[str, object]:
    truth: dict[str, object] = {
        "style": scene.style,
        "labels": list(scene.labels),
        "caption": scene.caption,
        "caption_of_row": scene.caption_of_row,
        "text": scene.text,
        "text_repeats_caption": scene.text_repeats_caption,
    }
    if scene.duplicate_of is not None:
        truth["duplicate_of_corpus"] = scene.duplicate_of.corpus
        truth["duplicate_of_shard"] = scene.duplicate_of.shard
        truth["duplicate_of_row"] = scene.duplicate_of.row
    return truth
