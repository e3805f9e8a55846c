"""Defines what embeds images: a CLIP model on its device, or a plug-in's encoder."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from jaxtyping import Float32, UInt8

from clipaudit.models.pictures import PictureBatch, Running, StoredBatch


class Embedder(ABC):
    """What gives each image `dimension` floats, in float32, not scaled."""

    dimension: int

    @abstractmethod
    def features(
        self, pictures: Sequence[UInt8[np.ndarray, "_ _ 3"]]
    ) -> Float32[np.ndarray, "n d"]:
        """Return the raw embeddings of one or more RGB images."""

    @abstractmethod
    def of_samples(
        self,
        shards: Sequence[tuple[int, Path]],
        samples: pa.Table,
        running: Running,
        *,
        task: str,
    ) -> Iterator[tuple[PictureBatch | StoredBatch, Float32[np.ndarray, "n d"]]]:
        """Yield batches of the images in `samples`, and their raw embeddings.

        `shards` and `samples` are those of `clipaudit.models.pictures.decoded`.
        """
