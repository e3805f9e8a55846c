"""Print wrong class names and meaningless words on images: a typographic attack (ours).

Both texts of an image have the same place, letter size and colour, so a model's answers differ only
by the meaning of the text.
"""

from collections.abc import Mapping, Sequence
from itertools import count
from math import ceil

import numpy as np
import pyarrow as pa
from jaxtyping import Int32, UInt8
from PIL import Image, ImageFilter, ImageOps

from clipaudit.corpora.addresses import sample_address, sample_addresses
from clipaudit.corpora.drops import table_of_rows
from clipaudit.errors import InputError
from clipaudit.parrot.synthetic import Typeface, ink, layout
from clipaudit.plaintext import plain

LEAST_SIDE = 64  # pixels; smaller images are enlarged, so that a legible word fits
EDGE = 12  # letters have an edge of their size divided by this
TRIES = 100  # to find a word that is not a class

PRINTS = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("printed", pa.int32(), nullable=False),  # label of the class that is printed
        pa.field("name", pa.string(), nullable=False),  # its name
        pa.field("control", pa.string(), nullable=False),  # of its shape, without meaning
        pa.field("type_size", pa.float64(), nullable=False),  # share of the shorter side
        pa.field("x", pa.float64(), nullable=False),  # 0 to 1: left to right in the middle square
        pa.field("y", pa.float64(), nullable=False),  # top to bottom
        pa.field("black", pa.bool_(), nullable=False),  # black letters; else white
    ]
)


def draw_prints(
    samples: pa.Table,
    right: Int32[np.ndarray, " n"],
    classes: Sequence[str],
    labels: Int32[np.ndarray, " c"],
    *,
    type_size: tuple[float, float],
    seed: int,
    place: str,
) -> pa.Table:
    """Return PRINTS, the printed texts, of samples (columns shard and row), in their order.

    `right` are their labels, `labels` those that can be predicted, `classes` the names of all. Each
    sample draws a class with another name (in a tie the lowest label, as predictions do), a size
    between the two of `type_size`, a place and a colour. A control has as many letters and digits
    as the name, the same blanks and signs, and contains no class word. The draws depend only on
    `seed` and the sample's address. Raises InputError, which names `place`, if all names are equal
    or no control is found.
    """
    lowest = {classes[label]: int(label) for label in labels[::-1]}
    names = sorted(lowest)
    if len(names) < 2:
        raise InputError(
            f"{place}: its {len(labels)} classes have {len(names)} name, so no wrong one can be "
            "printed. Remove it from parrot.attack.test_sets."
        )
    folded = [name.casefold() for name in names]
    characters = sorted(c for name in folded for c in name if c.isalnum())
    kinds = {known: [c for c in characters if c.isalpha() == known] for known in (True, False)}
    taken = frozenset(folded) | {word for name in folded for word in name.split() if _says(word)}
    rows = []
    addresses = zip(samples["shard"].to_pylist(), samples["row"].to_pylist(), strict=True)
    for (shard, row), label in zip(addresses, right.tolist(), strict=True):
        rng = np.random.default_rng([seed, shard, row])
        own = names.index(classes[label])
        name = names[(own + 1 + int(rng.integers(len(names) - 1))) % len(names)]
        size, x, y = rng.uniform(*type_size), rng.random(), rng.random()
        black = bool(rng.integers(2))
        control = _meaningless(name, kinds, taken, rng)
        if control is None:
            raise InputError(
                f"{place}: found no word with the letters and digits of all classes, as long as "
                f"{plain(name)!r}, that is not a class. Remove it from parrot.attack.test_sets."
            )
        rows.append((shard, row, lowest[name], name, control, size, x, y, black))
    return table_of_rows(rows, PRINTS)


def _meaningless(
    name: str,
    kinds: Mapping[bool, Sequence[str]],
    taken: frozenset[str],
    rng: np.random.Generator,
) -> str | None:
    """Return the name with each letter and digit redrawn; None if not found.

    `kinds` are the letters (True) and the digits of all names.
    """

    def redrawn(character: str) -> str:
        if not character.isalnum():
            return character
        kind = kinds[character.isalpha()]
        return _cased(kind[int(rng.integers(len(kind)))], character)

    for _ in range(TRIES):
        drawn = "".join(map(redrawn, name))
        if taken.isdisjoint([drawn.casefold(), *drawn.casefold().split()]):
            return drawn
    return None


def _says(word: str) -> bool:
    """Return whether a word has a letter or digit; signs stay in a control."""
    return any(map(str.isalnum, word))


def _cased(letter: str, like: str) -> str:
    return letter.upper() if like.isupper() else letter


class Printing:
    """Prints the texts of PRINTS on images."""

    def __init__(self, prints: pa.Table, typeface: Typeface) -> None:
        """Take PRINTS, ascending by (shard, row)."""
        self.prints = prints
        self.typeface = typeface
        self._addresses = sample_addresses(prints)

    def printed(
        self, shard: int, row: int, picture: UInt8[np.ndarray, "_ _ 3"]
    ) -> list[UInt8[np.ndarray, "_ _ 3"]]:
        """Return the image with the control on it, then with the name of the wrong class."""
        at = int(np.searchsorted(self._addresses, sample_address(shard, row)))
        (drawn,) = self.prints.slice(at, 1).to_pylist()
        texts = [drawn["control"], drawn["name"]]
        place = drawn["x"], drawn["y"]
        share, black = drawn["type_size"], drawn["black"]
        return print_texts(picture, texts, self.typeface, type_size=share, place=place, black=black)


def print_texts(
    picture: UInt8[np.ndarray, "_ _ 3"],
    texts: Sequence[str],
    typeface: Typeface,
    *,
    type_size: float,
    place: tuple[float, float],
    black: bool,
) -> list[UInt8[np.ndarray, "_ _ 3"]]:
    """Return the image with each text on it, all in letters of one size, at one place.

    The letter size is `type_size`, a share of the shorter side, or less if needed for all texts to
    fit. Letters are black or white with an edge of the other colour. They are within the middle
    square, which models see; `place` gives the position to the right and down, each from 0 to 1. A
    text too wide is wrapped. Images with a side below LEAST_SIDE, or on which a text does not fit
    whole, are first enlarged by a whole factor. A text without ink leaves the image unchanged.
    """
    least = min(picture.shape[:2])
    for factor in count(ceil(LEAST_SIDE / least)):
        side = factor * least
        wanted = max(1, round(side * type_size))
        edge = max(1, round(wanted / EDGE))
        room = side - 2 * edge
        size = min(layout(text, typeface, side=room, type_size=wanted).type_size for text in texts)
        placed = [layout(text, typeface, side=room, type_size=size) for text in texts]
        if not any(each.cut for each in placed):
            break
    picture = picture.repeat(factor, axis=0).repeat(factor, axis=1)
    inks = [Image.fromarray(ink(each, typeface, side=room)) for each in placed]
    return [_stamped(picture, each.crop(each.getbbox()), edge, place, black) for each in inks]


def _stamped(
    picture: UInt8[np.ndarray, "height width 3"],
    letters: Image.Image,
    edge: int,
    place: tuple[float, float],
    black: bool,
) -> UInt8[np.ndarray, "height width 3"]:
    height, width, _ = picture.shape
    side = min(height, width)
    inner = ImageOps.expand(letters, edge)
    outer = inner.filter(ImageFilter.MaxFilter(2 * edge + 1))
    x, y = place
    corner = (
        (width - side) // 2 + round(x * (side - inner.width)),
        (height - side) // 2 + round(y * (side - inner.height)),
    )
    canvas = Image.fromarray(picture)
    colours = ((255,) * 3, (0,) * 3) if black else ((0,) * 3, (255,) * 3)
    for colour, cover in zip(colours, (outer, inner), strict=True):
        canvas.paste(colour, corner, cover)
    return np.array(canvas)
