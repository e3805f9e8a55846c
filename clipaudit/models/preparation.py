"""Prepares images as tensors for a model, by a transform that is cut in two.

Transforms end in arithmetic (to [0, 1], minus mean, over deviation). Per image, it costs as
much as the crop. Here workers stop at uint8 pixels, which are also four times smaller to send, and
the arithmetic is done per batch: the same operations on the same numbers give the same values, bit
for bit.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32, UInt8
from PIL import Image

Pixels = UInt8[np.ndarray, "height width 3"]


@dataclass(frozen=True)
class Preparation:
    """A transform: `pixels` for an image, then `tensor` for a batch of them."""

    picture_steps: tuple[Any, ...]  # PIL to PIL, ends in RGB of the model's size
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    size: tuple[int, int]  # height, width

    def pixels(self, picture: Image.Image) -> Pixels:
        """Return the image resized and cropped, as uint8; random steps draw from torch's seed."""
        for step in self.picture_steps:
            picture = step(picture)
        return np.asarray(picture)

    def tensor(
        self,
        pixels: UInt8[torch.Tensor, "n height width 3"],
        device: torch.device,
        *,
        layout: torch.memory_format = torch.contiguous_format,
    ) -> Float32[torch.Tensor, "n 3 height width"]:
        """Return the model's input, computed on `device`, with this layout in memory."""
        batch = pixels.to(device, non_blocking=True).permute(0, 3, 1, 2)
        batch = batch.contiguous(memory_format=layout).to(torch.float32).div_(255)
        mean = torch.tensor(self.mean, device=device).view(3, 1, 1)
        deviation = torch.tensor(self.deviation, device=device).view(3, 1, 1)
        return batch.sub_(mean).div_(deviation)
