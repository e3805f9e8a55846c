"""Computes the raw embeddings that a CLIP model gives for images."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Float32, UInt8
from PIL import Image

from clipaudit.models.clip import Clip
from clipaudit.models.embedder import Embedder
from clipaudit.models.pictures import PictureBatch, Running, decoded
from clipaudit.models.preparation import Preparation
from clipaudit.models.transforms import evaluation_preparation


class ClipEmbedder(Embedder):
    """A CLIP model on its device, in its evaluation mode."""

    def __init__(self, clip: Clip, device: torch.device) -> None:
        """Move the model to the device."""
        clip.model.to(device).eval()
        self.clip, self.device, self.dimension = clip, device, clip.dimension
        self._preparation = evaluation_preparation(clip.preprocessing)

    def features(
        self, pictures: Sequence[UInt8[np.ndarray, "_ _ 3"]]
    ) -> Float32[np.ndarray, "n d"]:
        """Return the raw embeddings of one or more RGB images, computed as one batch."""
        pixels = np.stack([self._preparation.pixels(Image.fromarray(each)) for each in pictures])
        rows = list(range(len(pictures)))
        batch = PictureBatch(0, rows, [""] * len(rows), torch.from_numpy(pixels), [])
        return image_features(batch, self.clip, self._preparation, self.device)

    def of_samples(
        self,
        shards: Sequence[tuple[int, Path]],
        samples: pa.Table,
        running: Running,
        *,
        task: str,
    ) -> Iterator[tuple[PictureBatch, Float32[np.ndarray, "n d"]]]:
        """Yield full batches of the images in `samples`, and their raw embeddings."""
        for batch in decoded(shards, samples, self._preparation, running, task=task, unit="rows"):
            yield batch, image_features(batch, self.clip, self._preparation, self.device)


def image_features(
    batch: PictureBatch, clip: Clip, preparation: Preparation, device: torch.device
) -> Float32[np.ndarray, "n d"]:
    """Return the model's raw output for the images of a batch, in float32.

    The model, in its evaluation mode, and `preparation` are those of `clip` on `device`.
    """
    with torch.inference_mode(), clip.autocast(device):
        images = preparation.tensor(batch.pixels, device)
        features = clip.model.encode_image(images)  # type: ignore[operator]
        return np.asarray(features[: len(batch.rows)].float().cpu().numpy())
