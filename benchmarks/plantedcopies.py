"""Plants copies: writes drawings of a folder, and a copy of each by every way of a list.

Drawings are put on white, reduced to a longer side of 512 pixels, and written as PNG:
`originals/00017.png`, and `copies/03/00017.png` for its copy by the fourth of PLANTED.
"""

import json
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from clipaudit.copies.transformations import made

PLANTED = (
    ("jpeg", 30), ("resize", 0.25), ("stretched", 1.5), ("crop", 0.75), ("border", 0.1),
    ("blur", 0.01), ("brightness", 0.5), ("contrast", 0.5), ("grey", 1), ("channels swapped", 1),
    ("mirror", 1), ("rotation", 10), ("rotation", 90), ("overlaid text", 0.15),
    ("caption bar", 0.2), ("on another image", 0.5), ("screenshot", 0.5), ("several at once", 1),
)  # fmt: skip
SEED = 20
SIDE = 512  # pixels of the longer side
MAX_PIXELS = 20_000_000  # larger drawings are skipped, for their time
MIN_SIDE = 16
SAME = 0.99  # correlation from which a pair of drawings is not counted
THUMBNAIL = 32


def plant(folder: Path, target: Path, originals: int, jobs: int) -> None:
    """Draw originals from the PNG below a folder, and write them and their copies.

    A finished set of the same size is unchanged.
    """
    done = target / "planted.json"
    stated = {"originals": originals, "ways": [list(way) for way in PLANTED], "seed": SEED}
    if done.exists() and json.loads(done.read_text()) == stated:
        return
    for part in ["originals", *(f"copies/{number:02d}" for number in range(len(PLANTED)))]:
        (target / part).mkdir(parents=True, exist_ok=True)
    for number, drawing in enumerate(drawings(folder, originals)):
        _write(target / "originals" / f"{number:05d}.png", drawing)
    with ProcessPoolExecutor(jobs) as pool:
        copy = partial(_write_copies, target, originals)
        list(pool.map(copy, range(originals), chunksize=8))
    done.write_text(json.dumps(stated))


def drawings(folder: Path, count: int, skipped: int = 0) -> Iterator[np.ndarray]:
    """Yield `count` drawings in a seeded order, after `skipped` others.

    Drawings are left out if they do not open, are gigantic or tiny, have only one colour, or have
    the pixels of an earlier one.
    """
    files = sorted(folder.rglob("*.png"))
    seen: set[bytes] = set()
    for place in np.random.default_rng(SEED).permutation(len(files)):
        drawing = _drawing(files[place])
        if drawing is None or drawing.tobytes() in seen:
            continue
        seen.add(drawing.tobytes())
        if len(seen) > skipped:
            yield drawing
        if len(seen) == skipped + count:
            return
    raise SystemExit(f"{folder}: {len(seen)} different drawings, {skipped + count} are needed")


def background(number: int, originals: int) -> int:
    """Return the original that a copy of original `number` is pasted on."""
    return (number + originals // 2) % originals


def same_drawings(target: Path, originals: int) -> np.ndarray:
    """Return which pairs of originals are drawings of the same shapes, in any colours.

    Their grey values correlate at SAME or more, when both are squeezed to a small square. A pair of
    one's copy and the other counts neither as right nor as wrong.
    """
    small = np.stack([_thumbnail(target, number) for number in range(originals)])
    small -= small.mean(axis=1, keepdims=True)
    small /= np.maximum(np.linalg.norm(small, axis=1, keepdims=True), 1e-6)
    return small @ small.T >= SAME


def _thumbnail(target: Path, number: int) -> np.ndarray:
    grey = Image.open(target / "originals" / f"{number:05d}.png").convert("L")
    square = (THUMBNAIL, THUMBNAIL)
    reduced = cv2.resize(np.asarray(grey), square, interpolation=cv2.INTER_AREA)
    return reduced.astype(np.float32).ravel()


def _drawing(path: Path) -> np.ndarray | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with Image.open(path) as image:
                if image.width * image.height > MAX_PIXELS:
                    return None
                laid = image.convert("RGBA")
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
            return None
    white = Image.new("RGBA", laid.size, "white")
    white.alpha_composite(laid)
    drawing = white.convert("RGB")
    drawing.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    pixels = np.asarray(drawing)
    return pixels if min(drawing.size) >= MIN_SIDE and np.ptp(pixels) > 0 else None


def _write_copies(target: Path, originals: int, number: int) -> None:
    rgb, other = (
        np.asarray(Image.open(target / "originals" / f"{one:05d}.png"))
        for one in (number, background(number, originals))
    )
    for place, (name, value) in enumerate(PLANTED):
        copy = made(name, value, rgb, address=(SEED, number), other=other)
        _write(target / "copies" / f"{place:02d}" / f"{number:05d}.png", copy)


def _write(path: Path, rgb: np.ndarray) -> None:
    Image.fromarray(rgb).save(path, compress_level=1)
