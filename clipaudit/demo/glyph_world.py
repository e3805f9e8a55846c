"""Makes the glyph world: turns scenes into images and samples."""

from collections.abc import Iterator, Sequence

import numpy as np

from clipaudit.config.worlds.glyph_settings import GlyphCorpus, GlyphWorld
from clipaudit.demo.candidates import candidate_phrases, candidates_of
from clipaudit.demo.captions import BETWEEN, BY_STYLE, PLAIN
from clipaudit.demo.dice import Dice
from clipaudit.demo.glyphs import symbols
from clipaudit.demo.lettering import word_height, words_of_nothing, write_word
from clipaudit.demo.scenes import Address, Scene, all_captions, compose, dice_of, in_lower_half
from clipaudit.demo.shard_writer import Sample
from clipaudit.demo.styles import Picture, Pixels, draw, frame

COPY_GRAIN = 4  # a repetition's bytes differ by at most half of it, visible or not


def class_names(world: GlyphWorld) -> list[str]:
    """Return the class names in the order of their labels."""
    return [symbol.name for symbol in symbols()[: world.classes]]


def caption_phrases(world: GlyphWorld) -> list[str]:
    """Return the phrases of captions besides class names, and of candidates if a corpus has any.

    So a world without candidates or parroting captions keeps its vocabulary.
    """
    styled = [template for group in BY_STYLE.values() for template in group]
    return [*PLAIN, BETWEEN, *styled, *candidate_phrases(world), *_parrot_words(world)]


def _parrot_words(world: GlyphWorld) -> list[str]:
    """Return the words that parroting captions say."""
    counts = [
        plan.written.parrot_words for plan in world.corpora.values() if plan.written.parroting
    ]
    return list(words_of_nothing(world.classes, max(counts))) if counts else []


def samples(world: GlyphWorld, corpus: str, shard: int) -> Iterator[Sample]:
    """Draw the samples of a shard, in the order of rows."""
    for row in range(world.corpora[corpus].samples_per_shard):
        yield sample(world, Address(corpus, shard, row))


def sample(world: GlyphWorld, address: Address) -> Sample:
    """Draw the sample at an address."""
    plan = world.corpora[address.corpus]
    scene = compose(world, address)
    picture = _picture(world, address, scene)
    return Sample(
        pixels=picture.pixels,
        caption=scene.caption,
        label=scene.labels[0] if plan.labelled else None,
        metadata=_metadata(world, address, scene, picture),
        truth=_truth(world, address, scene),
    )


def _picture(world: GlyphWorld, address: Address, scene: Scene) -> Picture:
    """Draw the image at an address; a repetition is its original, slightly changed."""
    original = scene.original(address)
    if original is None:
        return _drawn(world, address, scene)
    picture = _picture(world, original, compose(world, original))
    shift = _shift(world.corpora[address.corpus], scene)
    pixels = _slightly_changed(picture.pixels, dice_of(world, address, "copy"), shift)
    return Picture(pixels, picture.boxes)


def _shift(plan: GlyphCorpus, scene: Scene) -> int:
    if scene.duplicate_of is None:
        return plan.copies.shift if plan.copies else 0
    of = scene.duplicate_of.corpus
    return next(plant.shift for plant in plan.near_duplicates if plant.of == of)


def _drawn(world: GlyphWorld, address: Address, scene: Scene) -> Picture:
    """Draw symbols, then the frame, then the word, so that the word stays legible."""
    characters = [symbols()[label].character for label in scene.labels]
    picture = draw(scene.style, characters, world.side, dice_of(world, address, "picture"))
    if scene.framed:
        picture = frame(picture, dice_of(world, address, "framing"))
    if scene.text is None:
        return picture
    written = world.corpora[address.corpus].written
    lettered = write_word(
        picture.pixels,
        scene.text,
        dice_of(world, address, "lettering"),
        type_size=written.type_size,
        place=written.place,
    )
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


def _metadata(
    world: GlyphWorld, address: Address, scene: Scene, picture: Picture
) -> dict[str, object]:
    """Return the json member; objects as in COCO: [left, top, width, height] in pixels.

    The boxes of a repetition are its original's, so they may be a few pixels off. If the corpus
    plans frames, `framed` and `lower_half` (null: the class is not an ordinary one) say how the
    attribute and the class agree. `captions` has the further captions or candidates that it plans.
    """
    plan = world.corpora[address.corpus]
    objects: Sequence[dict[str, object]] = [
        {"category_id": label, "category": symbols()[label].name, "bbox": list(box)}
        for label, box in zip(scene.labels, picture.boxes, strict=True)
    ]
    side = len(picture.pixels)
    metadata: dict[str, object] = {"width": side, "height": side, "style": scene.style}
    if plan.framed is not None:
        metadata["framed"] = scene.framed
        metadata["lower_half"] = in_lower_half(world, address, scene)
    metadata["objects"] = list(objects)
    if plan.further_captions:
        metadata["captions"] = all_captions(world, address, scene)
    if plan.candidates is not None:
        dice = dice_of(world, address, "candidates")
        metadata |= candidates_of(plan.candidates, scene, picture.boxes, dice)
    return metadata


def _truth(world: GlyphWorld, address: Address, scene: Scene) -> dict[str, object]:
    truth: dict[str, object] = {
        "style": scene.style,
        "labels": list(scene.labels),
        "caption": scene.caption,
        "caption_of_row": scene.caption_of_row,
        "copy_of_row": scene.copy_of_row,
        "stranger": scene.stranger,
        "framed": scene.framed,
        "text": scene.text,
        "text_height": _text_height(world, address, scene),
        "text_repeats_caption": scene.text_repeats_caption,
    }
    if scene.duplicate_of is not None:
        truth["duplicate_of_corpus"] = scene.duplicate_of.corpus
        truth["duplicate_of_shard"] = scene.duplicate_of.shard
        truth["duplicate_of_row"] = scene.duplicate_of.row
    return truth


def _text_height(world: GlyphWorld, address: Address, scene: Scene) -> int | None:
    """Return how high the written word's letters are; a repetition's are its original's."""
    if scene.text is None:
        return None
    origin = scene.original(address) or address
    type_size = world.corpora[origin.corpus].written.type_size
    return word_height(scene.text, world.side, type_size=type_size)
