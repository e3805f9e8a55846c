"""Measures what the direct alignment of copies misses: python benchmarks/alignments.py FOLDER...

Draws images from the tars below each folder, makes copies of them in all ways of the calibration,
and verifies those that `copies.views.DIRECT` finds within 31 bits: directly, as an audit does, and
in every way. Prints how many are verified by each, and the ways of the copies that only the latter
verifies. Options: --images, --seed.
"""

import argparse
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np

from clipaudit.copies.compared import Compared
from clipaudit.copies.hash_distances import hashed, nearest_view
from clipaudit.copies.hashing import pixels_digest
from clipaudit.copies.kinds import LOOKALIKE
from clipaudit.copies.thresholds import ADVISED_DISTANCE
from clipaudit.copies.transformations import WAYS, made
from clipaudit.copies.verification import verify_compared
from clipaudit.copies.verified import COMPARED_SIDE
from clipaudit.copies.views import DIRECT, Rgb, reduced, test_views, train_views
from clipaudit.corpora.images import open_picture
from clipaudit.corpora.reasons import Unusable
from clipaudit.corpora.shards import first_image, raw_samples


def main() -> None:
    """Measure each folder, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--images", type=int, default=60, help="of each folder")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    cv2.setNumThreads(1)
    for folder in asked.folders:
        images = drawn(folder, asked.images, asked.seed)
        counts, missed = Counter[str](), Counter[str]()
        for way, directly, fully in verdicts(images):
            counts.update(found=1, directly=directly, fully=fully)
            missed[way] += fully > directly
        print(f"{folder}: {len(images)} images, {counts['found']} copies found by DIRECT,")
        print(f"  verified directly {counts['directly']}, in every way {counts['fully']}")
        print("  only in every way:", +missed)


def drawn(folder: Path, count: int, seed: int) -> list[Rgb]:
    """Return some usable images of the tars below a folder, reduced as an audit compares them."""
    files = [
        first_image(sample.members)
        for tar in sorted(folder.rglob("*.tar"))
        for sample in raw_samples(tar)
    ]
    random.Random(seed).shuffle(files)
    images: list[Rgb] = []
    for file in files:
        if len(images) == count:
            break
        try:
            images.append(reduced(np.asarray(open_picture(file or b"").rgb), COMPARED_SIDE))
        except Unusable:
            continue  # the library has some drawings that no reader opens
    return images


def verdicts(images: list[Rgb]) -> Iterator[tuple[str, bool, bool]]:
    """Yield a copy's way, and whether it is verified directly and in every way."""
    for number, image in enumerate(images):
        views, original = hashed(test_views(image)), Compared(image)
        for way in WAYS:
            other = images[(number + 1) % len(images)]
            address = (pixels_digest(image),)
            rgb = made(way.transformation, way.value, image, address=address, other=other)
            copy = Compared(reduced(rgb, COMPARED_SIDE))
            view = nearest_view(hashed(train_views(rgb)), views, within=ADVISED_DISTANCE)
            if view is None or view not in DIRECT:
                continue
            directly, fully = (
                verify_compared(original, copy, directly=only).kind != LOOKALIKE
                for only in (True, False)
            )
            yield f"{way.transformation} {way.value:g}", directly, fully


if __name__ == "__main__":
    main()
