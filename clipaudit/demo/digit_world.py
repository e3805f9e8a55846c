"""Makes the digit world: real scans of handwritten digits, and digits printed in DejaVu fonts.

The 1,797 scans of 8 x 8 pixels are scikit-learn's `load_digits` (part of the UCI optical digits),
enlarged. Corpora get slices of one seeded order, so that no scan is in two corpora. Printed and
handwritten digits are on the same kind of paper: only their shapes differ.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
from jaxtyping import Float32

from clipaudit.config.worlds import DigitCorpus, DigitWorld
from clipaudit.demo.backdrops import Painting, backdrop, colour, enlarge
from clipaudit.demo.captions import DIGITS, HANDWRITTEN_DIGITS, PRINTED_DIGITS
from clipaudit.demo.dice import Dice
from clipaudit.demo.glyphs import BOX, Mask, Pose, box_of, lay, lay_shape
from clipaudit.demo.shard_writer import Sample
from clipaudit.demo.styles import bar, exposed, to_pixels
from clipaudit.errors import ConfigError
from clipaudit.plaintext import many

NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
SCANS = 1797
DARKEST = 16  # ink of a scan's pixel: 0 to 16
FACES = tuple(
    f"DejaVu{family}"
    for family in (
        "Sans",
        "Sans-Bold",
        "Sans-Oblique",
        "Sans-BoldOblique",
        "SansMono",
        "SansMono-Bold",
        "Serif",
        "Serif-Bold",
        "Serif-Italic",
        "Serif-BoldItalic",
    )
)

Item = tuple[int, int | None]  # a digit, and the number of its scan or None if it is printed


def class_names(world: DigitWorld) -> list[str]:
    """Return the class names in the order of their labels, which are the digits themselves."""
    return list(NAMES)


def caption_phrases(world: DigitWorld) -> list[str]:
    """Return the phrases of captions besides class names."""
    return [*DIGITS, *PRINTED_DIGITS, *HANDWRITTEN_DIGITS]


def samples(world: DigitWorld, corpus: str, shard: int) -> Iterator[Sample]:
    """Draw the samples of a shard, in the order of rows.

    A slice of scans may end within a shard, which is then shorter; a shard after that raises
    ConfigError.
    """
    plan = world.corpora[corpus]
    items = _scans_of(world, corpus, shard) + _printed_of(plan, shard)
    order = Dice(world.kind, world.seed, corpus, shard, "rows").shuffled(items)
    for row, item in enumerate(order):
        yield _sample(world, plan, item, Dice(world.kind, world.seed, corpus, shard, row))


def _scans_of(world: DigitWorld, corpus: str, shard: int) -> list[Item]:
    plan = world.corpora[corpus]
    if plan.scans is None:
        return []
    start, stop = (math.floor(share * SCANS + 0.5) for share in plan.scans)
    each = plan.samples_per_shard - _printed_count(plan)
    mine = range(start, stop)[shard * each : (shard + 1) * each]
    if not mine:
        most = math.ceil((stop - start) / each) if each else 0
        raise ConfigError(
            f"worlds: corpora.{corpus}: shard {shard} has no scan left: its slice has "
            f"{stop - start}, {each} per shard, enough for {many(most, 'shard')}. Set fewer shards "
            "or a wider slice."
        )
    digits, _ = _scanned()
    return [(int(digits[scan]), scan) for scan in _dealt(world.seed)[mine.start : mine.stop]]


def _printed_count(plan: DigitCorpus) -> int:
    return math.floor(plan.samples_per_shard * plan.printed + 0.5)


def _printed_of(plan: DigitCorpus, shard: int) -> list[Item]:
    count = _printed_count(plan)
    return [(number % len(NAMES), None) for number in range(shard * count, (shard + 1) * count)]


@cache
def _dealt(seed: int) -> list[int]:
    """Return the scans' numbers in the order in which slices take them."""
    return Dice("digits", seed, "deal").shuffled(range(SCANS))


@cache
def _scanned() -> tuple[np.ndarray, Float32[np.ndarray, "scans 8 8"]]:
    """Return the digit of each scan, int64, and its ink in [0, 1]."""
    from sklearn.datasets import load_digits

    data = load_digits()
    return data.target, data.images.astype(np.float32) / np.float32(DARKEST)


def _sample(world: DigitWorld, plan: DigitCorpus, item: Item, dice: Dice) -> Sample:
    digit, scan = item
    disturbed = dice.chance(plan.disturbed)
    pose = _pose(world.side, disturbed, dice)
    mask = _mask(item, pose, world.side, dice)
    pixels = to_pixels(_paint(mask, disturbed, dice))
    own = PRINTED_DIGITS if scan is None else HANDWRITTEN_DIGITS
    caption = dice.pick(dice.pick([DIGITS, own])).format(NAMES[digit])
    style = "disturbed" if disturbed else "printed" if scan is None else "handwritten"
    shown = {"category_id": digit, "category": NAMES[digit], "bbox": list(box_of(mask))}
    return Sample(
        pixels=pixels,
        caption=caption if plan.captioned else None,
        label=digit if plan.labelled else None,
        metadata={"width": world.side, "height": world.side, "style": style, "objects": [shown]},
        truth={
            "style": style,
            "labels": [digit],
            "caption": caption if plan.captioned else None,
            "text_repeats_caption": False,
            "scan": scan,
        },
    )


def _pose(side: int, disturbed: bool, dice: Dice) -> Pose:
    spread = 20 if disturbed else 3  # degrees
    return Pose(
        x=side * dice.uniform(0.45, 0.55),
        y=side * dice.uniform(0.45, 0.55),
        height=side * dice.uniform(0.75, 0.95),
        angle=dice.tenths(dice.bell(spread)),
    )


def _mask(item: Item, pose: Pose, side: int, dice: Dice) -> Mask:
    digit, scan = item
    if scan is None:
        return lay(str(digit), pose, side, "fill", dice.pick(FACES))
    _, ink = _scanned()
    framed = np.pad(ink[scan], 1)  # a scan's ink may reach its edge: fade it out
    large = (enlarge(framed, BOX) * np.float32(255)).astype(np.uint8)
    whole = replace(pose, height=pose.height * len(framed) / len(ink[scan]))
    return lay_shape(np.pad(large, 1).ravel(), whole, side)


def _paint(mask: Mask, disturbed: bool, dice: Dice) -> Painting:
    """Paint dark ink on bright paper; if disturbed, pale ink, and a line across."""
    ground = colour(dice.uniform(), dice.uniform(0, 0.25), dice.uniform(0.8, 1))
    ink = colour(dice.uniform(), dice.uniform(0.2, 0.8), dice.uniform(0.05, 0.35))
    strength = np.float32(dice.uniform(0.5, 0.8) if disturbed else dice.uniform(0.85, 1))
    paper = backdrop(len(mask), ground, dice)
    image = paper + (ink - paper) * (mask[:, :, None] * strength)
    if disturbed:
        image = np.where(bar(len(mask), dice), ink, image)
    return exposed(image, 0.03 if disturbed else 0.02, dice)
