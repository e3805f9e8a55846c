"""Checks that training batches are mixed: about as many different targets as in an even draw.

Shards that were written class by class give batches of few classes, and training on them silently
learns little. The first batch is compared with an even draw of the manifest, which is estimated
from samples of some shards.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Shaped

from clipaudit.corpora.places import places
from clipaudit.corpora.sealed import Sealed
from clipaudit.corpora.shards import raw_samples
from clipaudit.errors import InputError
from clipaudit.training.data import Maker, kept_rows, kept_sample
from clipaudit.training.order import draw

SHARDS, SAMPLES = 32, 1_024  # read for the even draw: fewer shards make it less strict
CERTAIN = 4  # standard deviations
FAR = 0.5  # of the targets of an even draw: with at most this many, a batch is not mixed

Targets = Shaped[torch.Tensor, "_ ..."]  # two of a function may differ in length


def drawn_targets(sealed: Sealed, paths: Mapping[int, Path], maker: Maker, *, seed: int) -> Targets:
    """Return the targets of SAMPLES kept samples, or of all, evenly from SHARDS random shards.

    `sealed` keeps one or more, and `paths` has the tar of each shard that keeps any. Raises
    InputError for a sample that cannot be used.
    """
    chosen = sorted(paths, key=lambda number: draw(seed, "mixing", number))[:SHARDS]
    each = -(-SAMPLES // len(chosen))
    found = []
    for number in chosen:
        shard, path = sealed.shard(number), paths[number]
        rows = kept_rows(shard)
        order = places(np.full_like(rows, number), rows, seed=draw(seed, "mixing"))
        some = set(rows[np.argsort(order)[:each]].tolist())
        for raw in raw_samples(path, some.__contains__):
            found.append(maker.target(kept_sample(path, shard, raw, maker.learns), 0))
            some.remove(raw.row)
            if not some:
                break
    return torch.stack(found)


def even_distinct(pool: Targets, size: int) -> tuple[float, float]:
    """Return how many different targets `size` samples drawn from the pool have on average.

    The second number is a bound of the standard deviation, as if targets occurred independently.

    >>> even_distinct(torch.tensor([0, 0, 1, 1]), 2)
    (1.5, 0.6123724356957945)
    """
    _, counts = torch.unique(pool, dim=0, return_counts=True)
    shares = counts.double() / len(pool)
    occurs = 1 - (1 - shares) ** size
    return float(occurs.sum()), float((occurs * (1 - occurs)).sum().sqrt())


def refuse_unmixed(batch: Targets, pool: Targets) -> tuple[int, float]:
    """Return how many different targets a batch has, and an even draw of its size.

    Raises InputError if the batch has half as many or fewer, and chance does not explain it: with
    few frequent targets, a draw has one or none of many rare ones.
    """
    found = len(torch.unique(batch, dim=0))
    even, deviation = even_distinct(pool, len(batch))
    if found <= FAR * even and even - found > CERTAIN * deviation:
        raise InputError(
            f"a batch of {len(batch)} samples has {found} different captions or labels, but an "
            f"even draw has {even:.0f}: the shards are ordered by content. Set "
            "`shuffle: samples` in the recipe, or write the shards in a random order."
        )
    return found, even
