"""Embeds images without a model: the pixels of a thumbnail.

It is a plug-in like others, and a baseline: images that it finds similar are similar pixel by
pixel.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float32, UInt8
from PIL import Image

from clipaudit.errors import ConfigError

MOST = 64  # pixels per side: 12,289 numbers per image


class Thumbnails:
    """The pixels of each image, averaged over a grid, minus their mean."""

    def __init__(self, *, side: object = 8, device: str) -> None:
        """Take the thumbnail's width and height in pixels; raise ConfigError unless 2 to 64.

        It is computed on the CPU, the same numbers on every machine, whatever `device` is.
        """
        if not isinstance(side, int) or not 2 <= side <= MOST:
            raise ConfigError(f"options.side: {side!r}; give a number of pixels from 2 to {MOST}")
        self._size = (side, side)

    def embed(self, pictures: Sequence[UInt8[np.ndarray, "_ _ 3"]]) -> Float32[np.ndarray, "n d"]:
        """Return 3 * side * side + 1 numbers per image: pixels minus their mean, and a one.

        The one also gives blank images a direction, the same for all.
        """
        return np.stack([self._embedded(picture) for picture in pictures])

    def _embedded(self, picture: UInt8[np.ndarray, "_ _ 3"]) -> Float32[np.ndarray, " d"]:
        small = Image.fromarray(picture).resize(self._size, Image.Resampling.BOX)
        pixels = np.asarray(small, dtype=np.float32).ravel()
        return np.append(pixels - pixels.mean(), np.float32(1))
