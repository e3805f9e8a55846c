"""Recalls of models that were never trained, under several seeds, with known memorization."""

import numpy as np
import pyarrow as pa

from clipaudit.memorization.ensembles import EnsemblePart, SeedPart
from clipaudit.memorization.recall import RECALLS
from clipaudit.memorization.settings import RECORD_SETS

TRUTHS = 3


def recalls(correct, *, k=10):
    n = len(correct)
    columns = {
        "shard": np.arange(n) // 10,
        "row": np.arange(n) % 10,
        "k": np.full(n, k),
        "similarity": np.full(n, 0.5),
        "truths": np.full(n, TRUTHS),
        "predicted": correct + 2,
        "correct": correct,
        "top_predicted": correct + 2,
        "top_correct": correct,
    }
    return pa.table(columns).cast(RECALLS)


def kept(inside):
    n = len(inside)
    return pa.table(
        {
            "shard": pa.array(np.arange(n) // 10, pa.int32()),
            "row": pa.array(np.arange(n) % 10, pa.int32()),
            "kept": inside,
        }
    )


def simulated(rng, *, seeds=4, records=60, memorized=0.0, seed_noise=0.0, ahead=0.0, fixed=False):
    """One part: each record has its own difficulty, each model its own skill.

    `memorized` is what a model recalls more of records that it was trained on; `ahead` what A's
    models do of every record; `fixed`: every seed has the same cut.
    """
    easy = rng.uniform(0.2, 0.6, records)
    cut = rng.permutation(records) % 3
    parts = []
    for _ in range(seeds):
        sets = cut if fixed else rng.permutation(records) % 3
        tables = []
        for own, skill in ((0, ahead), (1, 0.0)):
            gain = memorized * (1 + rng.normal(0, seed_noise)) * (sets == own)
            chance = easy + skill + rng.normal(0, 0.05) + gain
            tables.append(recalls(rng.binomial(TRUTHS, chance.clip(0, 1))))
        parts.append(
            SeedPart(*tables, {name: kept(sets == n) for n, name in enumerate(RECORD_SETS)})
        )
    return EnsemblePart("web", parts)
