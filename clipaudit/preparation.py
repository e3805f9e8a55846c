"""Pictures to the tensors that a model takes: open_clip's transforms, cut in two.

open_clip's transforms end in arithmetic (to [0, 1], minus mean, over deviation). Done picture by
picture that costs as much as the crop; here workers stop at uint8 pixels, which also makes what
they send four times smaller, and the arithmetic is done a batch at a time: the same operations on
the same numbers, so the same values, bit for bit.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32, UInt8
from open_clip.transform import MaybeToTensor, PreprocessCfg, image_transform_v2
from PIL import Image
from torchvision.transforms import Compose

Pixels = UInt8[np.ndarray, "height width 3"]


@dataclass(frozen=True)
class Preparation:
    """One of open_clip's transforms: `pixels` for a picture, then `tensor` for a batch of them."""

    picture_steps: tuple[Any, ...]  # PIL to PIL, ends in RGB of the model's size
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    size: tuple[int, int]  # height, width

    def pixels(self, picture: Image.Image) -> Pixels:
        """Return the picture resized and cropped, as uint8; random steps draw from torch's seed."""
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
        """Return what the model takes, computed on `device`, with that layout in memory."""
        batch = pixels.to(device, non_blocking=True).permute(0, 3, 1, 2)
        batch = batch.contiguous(memory_format=layout).to(torch.float32).div_(255)
        mean = torch.tensor(self.mean, device=device).view(3, 1, 1)
        deviation = torch.tensor(self.deviation, device=device).view(3, 1, 1)
        return batch.sub_(mean).div_(deviation)


def evaluation_preparation(settings: PreprocessCfg) -> Preparation:
    """Return open_clip's inference transform for `settings`."""
    return _cut(image_transform_v2(settings, is_train=False), settings)


def training_preparation(
    settings: PreprocessCfg, *, crop_scale: tuple[float, float]
) -> Preparation:
    """Return open_clip's training transform: a random resized crop of `crop_scale` of the area."""
    transform = image_transform_v2(settings, is_train=True, aug_cfg={"scale": crop_scale})
    return _cut(transform, settings)


def _cut(transform: Compose, settings: PreprocessCfg) -> Preparation:
    """Cut open_clip's list of steps where pictures become tensors."""
    steps = transform.transforms
    border = next(at for at, step in enumerate(steps) if isinstance(step, MaybeToTensor))
    assert len(steps) == border + 2, "open_clip's transforms end in to-tensor and normalize"
    size = settings.size if isinstance(settings.size, tuple | list) else (settings.size,) * 2
    mean, deviation = tuple(settings.mean), tuple(settings.std)
    return Preparation(tuple(steps[:border]), mean, deviation, (size[0], size[1]))
