"""Computes the place of each sample in a random order, from its address and a seed alone."""

import numpy as np
from jaxtyping import Int32, UInt64


def places(
    shard: Int32[np.ndarray, " n"], row: Int32[np.ndarray, " n"], *, seed: int
) -> UInt64[np.ndarray, " n"]:
    """Return each sample's place in the random order of `seed`; no two samples share one.

    This is SplitMix64's finaliser, a bijection of 64-bit numbers, over the address and the seed, so
    adding shards changes no sample's place.

    >>> places(np.zeros(2, np.int32), np.arange(2, dtype=np.int32), seed=0).tolist()
    [16294208416658607535, 10451216379200822465]
    """
    address = (shard.astype(np.uint64) << np.uint64(32)) | row.astype(np.uint64)
    with np.errstate(over="ignore"):  # arithmetic modulo 2^64 is intended
        mixed = address + np.uint64(0x9E3779B97F4A7C15) * np.uint64(seed + 1)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
