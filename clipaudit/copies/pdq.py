"""Computes PDQ, Meta's perceptual hash, of images of 64 x 64 pixels.

Source: Meta, "The TMK+PDQF Video-Hashing Algorithm and the PDQ Image-Hashing Algorithm", 2019. The
package `pdqhash` has no wheels for Linux. The hashes are its hashes to the bit: rounding decides
the bits of frequencies that an image lacks, so this adds the same float32 numbers in its order.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float32, Int64, UInt8

HASH_BYTES = 32
HASH_SIDE = 64  # pixels; PDQ itself reduces larger images to this


class Hashes(NamedTuple):
    """PDQ hashes of n images, and their qualities from 0 to 100."""

    codes: UInt8[np.ndarray, "n 32"]
    qualities: Int64[np.ndarray, " n"]


def pdq(images: UInt8[np.ndarray, "n 64 64 3"]) -> Hashes:
    """Return the hashes of RGB images.

    A bit tells whether a coefficient of the cosine transform is above the lower median of all 256.
    The quality is the sum of steps between neighbouring pixels, in whole percent of the range.
    """
    red, green, blue = np.moveaxis(images, 3, 0)
    luma = (red * 0.299 + green * 0.587 + blue * 0.114).astype(np.float32)
    down = _frequencies(luma).swapaxes(1, 2)  # (n, 64, 16)
    both = _frequencies(down).swapaxes(1, 2).reshape(len(luma), 256)
    medians = np.partition(both, 127, axis=1)[:, 127, None]
    bits = (both > medians)[:, ::-1]  # in the order of Meta's texts
    return Hashes(np.packbits(bits, axis=1), _qualities(luma))


def _frequencies(numbers: Float32[np.ndarray, "n 64 w"]) -> Float32[np.ndarray, "n 16 w"]:
    """Return the frequencies 1 to 16 of each column, by sums in the order of the rows."""
    sums = np.zeros((len(numbers), 16, numbers.shape[2]), np.float32)
    for row in range(HASH_SIDE):
        sums += _COSINES[:, row, None] * numbers[:, None, row]
    return sums


def _qualities(luma: Float32[np.ndarray, "n 64 64"]) -> Int64[np.ndarray, " n"]:
    steps = [np.diff(luma, axis=axis) * np.float32(100) / np.float32(255) for axis in (1, 2)]
    down, along = (abs(each.astype(np.int64)).sum(axis=(1, 2)) for each in steps)
    qualities: np.ndarray = np.minimum((down + along) // 90, 100)
    return qualities


def _cosines() -> Float32[np.ndarray, "16 64"]:
    frequencies, places = np.arange(1, 17)[:, None], 2 * np.arange(HASH_SIDE) + 1
    cosines = np.cos(np.pi / 2 / HASH_SIDE * frequencies * places)
    scaled: np.ndarray = np.float64(np.float32(np.sqrt(2 / HASH_SIDE))) * cosines
    return scaled.astype(np.float32)


_COSINES = _cosines()
