"""Measures how fast the copies audit hashes, searches and verifies: python benchmarks/copyspeed.py

Prints images per second and core from 256-pixel JPEGs of noise and shapes to hashes, the time of a
search of 1,000,000 by 50,000 hashes, and the time to verify a pair. Options: --hashes, --others,
--images.
"""

import argparse
import io
import os
import time

import faiss
import numpy as np
import pyarrow as pa
from PIL import Image, ImageDraw

from clipaudit.copies.hashing import OpenedImage, hash_opened
from clipaudit.copies.search import hash_pairs
from clipaudit.copies.transformations import WAYS, made
from clipaudit.copies.verification import verify
from clipaudit.copies.views import test_views, train_views
from clipaudit.corpora.images import open_picture


def photo(seed: int) -> np.ndarray:
    """Return an RGB image of 256 pixels with shapes, slopes and noise."""
    dice = np.random.default_rng(seed)
    image = Image.fromarray((dice.normal(128, 20, (256, 256, 3)).clip(0, 255)).astype(np.uint8))
    draw = ImageDraw.Draw(image)
    for _ in range(40):
        x, y, w, h = dice.integers(0, 200, 4).tolist()
        colour = tuple(dice.integers(0, 256, 3).tolist())
        (draw.ellipse if dice.random() < 0.5 else draw.rectangle)((x, y, x + w, y + h), colour)
    return np.asarray(image)


def jpeg(image: np.ndarray) -> bytes:
    """Return an image as a JPEG of quality 90."""
    out = io.BytesIO()
    Image.fromarray(image).save(out, "JPEG", quality=90)
    return out.getvalue()


def hashing(files: list[bytes]) -> None:
    """Time decoding and hashing on one core, with the views of each side."""
    for name, views in (("training", train_views), ("test", test_views)):
        start = time.process_time()
        images = (
            OpenedImage(0, row, "", np.asarray(open_picture(data).rgb))
            for row, data in enumerate(files)
        )
        _, hashes = hash_opened(images, views)
        rate = len(files) / (time.process_time() - start)
        views_each = len(hashes) / len(files)
        print(f"{name} images: {rate:.0f} per second and core, {views_each:.0f} hashes each")


def searching(hashes: int, others: int) -> None:
    """Time a search on all cores."""
    dice = np.random.default_rng(0)
    second, first = (dice.integers(0, 256, (n, 32), dtype=np.uint8) for n in (hashes, others))
    first[:1000] = second[:1000]
    faiss.omp_set_num_threads(os.cpu_count() or 1)
    start, cpu = time.perf_counter(), time.process_time()
    found = sum(len(pair.first) for pair in hash_pairs(first, second, distance=31))
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    what = f"search of {hashes:,} by {others:,} hashes"
    print(f"{what}: {wall:.1f} s, {cpu:.1f} s of CPU, {found} pairs")


def verifying(originals: list[np.ndarray]) -> None:
    """Time verification of made copies and of pairs of different images."""
    copies, others = [], []
    for number, original in enumerate(originals):
        other = originals[(number + 1) % len(originals)]
        for way in WAYS:
            copy = made(way.transformation, way.value, original, address=(number,), other=other)
            start = time.process_time()
            verify(original, copy)
            copies.append(time.process_time() - start)
        start = time.process_time()
        verify(original, other)
        others.append(time.process_time() - start)
    for name, times in (("made copies", copies), ("different images", others)):
        mean, median = 1000 * np.mean(times), 1000 * np.median(times)
        print(f"verification of {name}: {mean:.1f} ms per pair on average, median {median:.1f}")


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hashes", type=int, default=1_000_000)
    parser.add_argument("--others", type=int, default=50_000)
    parser.add_argument("--images", type=int, default=100)
    asked = parser.parse_args()
    pa.set_cpu_count(1)
    drawn = [photo(seed) for seed in range(asked.images)]
    hashing([jpeg(image) for image in drawn])
    searching(asked.hashes, asked.others)
    verifying(drawn[:10])


if __name__ == "__main__":
    main()
