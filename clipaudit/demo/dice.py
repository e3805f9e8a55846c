"""Makes seeded draws that are the same on every machine.

Everything random in a synthetic world comes from a `Dice` whose seed is the SHA-256 of an address
(world, seed, corpus, shard, row, purpose), so a sample can be drawn without earlier ones.

**How the worlds stay identical bit by bit.** Sums, products, quotients and square roots are
correctly rounded everywhere. Sines, exponentials, powers, sums over a whole array and `normal`
variates are not, as they depend on libm, on the vector unit and on Python's version. So scalars
are drawn as integers over a power of two, bell-shaped draws are sums of integers, and angles are
whole tenths of a degree whose cosines are rounded to six decimals (`cosine_sine`). Array code uses
only elementwise + - * / min max floor, and sums are taken over integers.
"""

import hashlib
import json
import math
import struct
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TypeVar

import numpy as np
from jaxtyping import Float32, UInt8

T = TypeVar("T")

BELL_DRAWS = 12  # a sum of 12 uniforms has variance 1
GRAIN_SPREAD = 147.8  # standard deviation of a sum of four bytes
GRAIN_CENTRE = 510


class Dice:
    """A stream of draws named by an address.

    >>> Dice(7, "val", 0).integer(1000) == Dice(7, "val", 0).integer(1000)
    True
    """

    def __init__(self, *address: str | int) -> None:
        """Start the stream that belongs to `address`."""
        digest = hashlib.sha256(json.dumps(address).encode()).digest()
        bits = np.random.PCG64(int.from_bytes(digest, "little"))
        self._generator = np.random.Generator(bits)

    def uniform(self, low: float = 0.0, high: float = 1.0) -> float:
        """Draw evenly from `low` (included) to `high`."""
        return low + (high - low) * self._generator.random()

    def integer(self, stop: int) -> int:
        """Draw one of 0 .. `stop` - 1."""
        return int(self._generator.random() * stop)

    def chance(self, rate: float) -> bool:
        """Draw true with probability `rate`; 0 is never, 1 is always."""
        return self._generator.random() < rate

    def bell(self, spread: float) -> float:
        """Draw a nearly normal number with mean 0, never beyond 6 times `spread`."""
        halves = struct.unpack(f"<{BELL_DRAWS}H", self._generator.bytes(2 * BELL_DRAWS))
        total: int = sum(halves)
        return (total - BELL_DRAWS * 65535 / 2) / 65536 * spread

    def pick(self, things: Sequence[T]) -> T:
        """Draw one of `things`, which must not be empty."""
        return things[self.integer(len(things))]

    def weighted(self, weights: Mapping[T, float]) -> T:
        """Draw a key with a probability in proportion to its weight, in sorted order of keys."""
        keys = sorted(weights, key=str)
        left = self.uniform() * math.fsum(weights.values())
        for key in keys:
            left -= weights[key]
            if left < 0:
                return key
        return keys[-1]

    def shuffled(self, things: Sequence[T]) -> list[T]:
        """Return `things` in a random order (Fisher and Yates)."""
        result = list(things)
        for last in range(len(result) - 1, 0, -1):
            other = self.integer(last + 1)
            result[last], result[other] = result[other], result[last]
        return result

    def tenths(self, degrees: float) -> int:
        """Return an angle in degrees as whole tenths, the form that `cosine_sine` takes."""
        return math.floor(degrees * 10 + 0.5)

    def any_angle(self) -> int:
        """Draw a direction, in tenths of a degree."""
        return self.integer(3600)

    def octets(self, rows: int, columns: int) -> UInt8[np.ndarray, "rows columns"]:
        """Draw a field of bytes."""
        drawn = np.frombuffer(self._generator.bytes(rows * columns), np.uint8)
        return drawn.reshape(rows, columns)

    def grain(
        self, side: int, channels: int, spread: float
    ) -> Float32[np.ndarray, "side side channels"]:
        """Draw nearly normal noise with mean 0: each value is a sum of four bytes."""
        drawn = np.frombuffer(self._generator.bytes(4 * side * side * channels), np.uint8)
        total = drawn.reshape(4, side, side, channels).sum(axis=0, dtype=np.int16)
        scale = np.float32(spread / GRAIN_SPREAD)
        noise: Float32[np.ndarray, "side side channels"] = (total - GRAIN_CENTRE) * scale
        return noise


@cache
def cosine_sine(tenths: int) -> tuple[float, float]:
    """Return cosine and sine of an angle in tenths of a degree, to six decimals.

      Six decimals hide the differences between libm versions; a test shows that no angle is at a
    border.

      >>> cosine_sine(600)
      (0.5, 0.866025)
    """
    angle = math.radians((tenths % 3600) / 10)
    return round(math.cos(angle), 6) + 0.0, round(math.sin(angle), 6) + 0.0
