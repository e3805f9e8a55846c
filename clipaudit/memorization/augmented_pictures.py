"""Embed cropped and mirrored images, for comparison with a pair's cosine.

A model that has memorized a training pair knows its exact image, so its cosine falls if a part is
missing. Crops and mirrors are the same for all images, so versions of members and of the hold-out
differ only by their images. A model trained on random crops has seen similar ones, so its cosine
falls less.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from PIL import Image, ImageOps

from clipaudit.corpora.drops import Drops
from clipaudit.embeddings.embedding import embedding_rows, embeddings_schema
from clipaudit.memorization.augmented import augmented_schema, numbered
from clipaudit.memorization.resampling import generator
from clipaudit.models.clip import Clip
from clipaudit.models.clip_features import image_features
from clipaudit.models.pictures import Running, decoded
from clipaudit.models.preparation import Pixels, Preparation
from clipaudit.models.transforms import evaluation_preparation

LEAST_AREA, MOST_AREA = 0.5, 0.9  # of an image: a part is missing, but most objects remain


@dataclass(frozen=True)
class Crop:
    """A part of an image, in shares of its width and height, perhaps mirrored."""

    left: float
    top: float
    side: float  # of both, which keeps the aspect ratio
    mirrored: bool

    @staticmethod
    def drawn(version: int, seed: int) -> "Crop":
        """Return the crop of a version; every other one, from the second, is mirrored."""
        draws = generator(seed, f"crop {version}")
        side = float(np.sqrt(draws.uniform(LEAST_AREA, MOST_AREA)))
        left, top = (draws.uniform(0, 1 - side, 2)).tolist()
        return Crop(left, top, side, version % 2 == 1)

    def of(self, picture: Image.Image) -> Image.Image:
        """Return that part of an image, at least one pixel."""
        width, height = picture.size
        left, top = int(self.left * width), int(self.top * height)
        right, bottom = (
            start + max(1, round(self.side * length))
            for start, length in ((left, width), (top, height))
        )
        part = picture.crop((left, top, min(right, width), min(bottom, height)))
        return ImageOps.mirror(part) if self.mirrored else part


@dataclass(frozen=True)
class _Versions:
    """Makes the versions of an image, stacked, so that workers send one array."""

    preparation: Preparation
    crops: tuple[Crop, ...]

    def __call__(self, picture: Image.Image) -> Pixels:
        return np.concatenate([self.preparation.pixels(crop.of(picture)) for crop in self.crops])


def embed_augmented_pictures(
    shards: Sequence[tuple[int, Path]],
    samples: pa.Table,
    clip: Clip,
    running: Running,
    *,
    encoder: str,
    versions: int,
    seed: int,
    drops: Drops,
) -> Iterator[pa.RecordBatch]:
    """Yield AUGMENTED of the images in `samples`, in order: each batch of rows in all versions.

    Each image is read and decoded once for all versions. A version is a `Crop`, decided by `seed`
    and its number, and prepared as for `embed_images`. Rows whose image cannot be decoded are added
    to `drops` once and have no version; a version whose embedding is not usable is added too.
    Values depend on `seed` and on everything that those of `embed_images` depend on.
    """
    plain = evaluation_preparation(clip.preprocessing)
    crops = tuple(Crop.drawn(version, seed) for version in range(versions))
    height, width = plain.size
    stacked = replace(
        plain, picture_steps=(_Versions(plain, crops),), size=(versions * height, width)
    )
    clip.model.to(running.device).eval()
    schema = augmented_schema(encoder, clip.dimension)
    of_version = embeddings_schema(encoder, clip.dimension)
    task = f"embedding versions of images with {encoder}"
    for batch in decoded(shards, samples, stacked, running, task=task, unit="rows"):
        faults = batch.faults
        for version in range(versions):
            top = version * height
            one = batch._replace(pixels=batch.pixels[:, top : top + height])
            features = image_features(one, clip, plain, running.device)
            rows = embedding_rows(
                batch.shard, batch.rows, batch.keys, features, of_version, drops, faults=faults
            )
            yield numbered(rows, version, schema)
            faults = []
