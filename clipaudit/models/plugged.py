"""Wraps image encoders of plug-ins, and checks their output."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float32, UInt8

from clipaudit.models.embedder import Embedder
from clipaudit.models.pictures import Running, StoredBatch, stored
from clipaudit.steps.plugins import Plugin


class PluggedEncoder(Embedder):
    """A plug-in's encoder; `dimension` is that of the embedding of a noise image."""

    def __init__(self, plugin: Plugin, options: Mapping[str, Any], device: str) -> None:
        """Make the encoder and embed an image of noise; raise StepError if either fails."""
        self.plugin = plugin
        self._encoder = plugin.make(options, device=device)
        noise = np.random.default_rng(0).integers(0, 256, (48, 64, 3)).astype(np.uint8)
        self.dimension = 0  # of any length
        probed = self.features([noise])
        self.dimension = probed.shape[1]
        if not np.isfinite(probed).all():
            raise plugin.fault("finite numbers for an image of noise", "NaN or infinity")

    def features(
        self, pictures: Sequence[UInt8[np.ndarray, "_ _ 3"]]
    ) -> Float32[np.ndarray, "n d"]:
        """Return the raw embeddings of RGB images, in float32.

        Raise StepError for anything but one row of `dimension` floats per image.
        """
        if not pictures:
            return np.zeros((0, self.dimension), np.float32)
        found = self.plugin.called("embedding", lambda: self._encoder.embed(list(pictures)))
        expected = f"a float array of shape ({len(pictures)}, {self.dimension or 'd'})"
        if not isinstance(found, np.ndarray):
            raise self.plugin.fault(expected, f"an object of type {type(found).__name__}")
        shape = (len(pictures), self.dimension or found.shape[-1] if found.ndim else 0)
        floats = np.issubdtype(found.dtype, np.floating)
        if found.shape != shape or found.size == 0 or not floats:
            raise self.plugin.fault(expected, f"{found.dtype} of shape {found.shape}")
        with np.errstate(over="ignore"):  # beyond float32 becomes infinite, so a drop
            return found.astype(np.float32)

    def of_samples(
        self,
        shards: Sequence[tuple[int, Path]],
        samples: pa.Table,
        running: Running,
        *,
        task: str,
    ) -> Iterator[tuple[StoredBatch, Float32[np.ndarray, "n d"]]]:
        """Yield batches of the images in `samples`, in their own sizes, and their embeddings."""
        for batch in stored(shards, samples, running, task=task):
            yield batch, self.features([picture.numpy() for picture in batch.pictures])
