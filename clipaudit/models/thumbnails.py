"""The image encoder that needs no model: the pixels of a thumbnail.

It is a plug-in like those of others, and a baseline: whatever it finds similar is similar pixel by
pixel.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float32, UInt8
from PIL import Image

from clipaudit.errors import ConfigError

MOST = 64  # pixels a side: 12,289 numbers an image


class Thumbnails:
    """The pixels of each image, averaged over a grid, less their mean."""

    def __init__(self, *, side: object = 8, device: str) -> None:
        """Take the thumbnail's width and height in pixels; raise ConfigError unless 2 to 64.

        It is computed on the CPU, the same numbers on every machine, whatever `device` is.
        """
        if not isinstance(side, int) or not 2 <= side <= MOST:
            raise ConfigError(f"options.side: {side!r}; give a number of pixels from 2 to {MOST}")
        self._size = (side, side)

    def embed(self, pictures: Sequence[UInt8[np.ndarray, "_ _ 3"]]) -> Float32[np.ndarray, "n d"]:
        """Return 3 * side * side + 1 numbers a picture: pixels less their mean, and a one.

        The one gives blank pictures a direction, too: all of them the same.
        """
        return np.stack([self._embedded(picture) for picture in pictures])

    def _embedded(self, picture: UInt8[np.ndarray, "_ _ 3"]) -> Float32[np.ndarray, " d"]:
        small = Image.fromarray(picture).resize(self._size, Image.Resampling.BOX)
        pixels = np.asarray(small, dtype=np.float32).ravel()
        return np.append(pixels - pixels.mean(), np.float32(1))
