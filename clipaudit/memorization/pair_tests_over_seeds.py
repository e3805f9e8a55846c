"""Combine pair tests over seeds, so that results hold beyond one training run and cut."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from clipaudit.evaluation.student import mean_over_seeds
from clipaudit.plaindata import Row

# One row per (score, measure), as in PAIR_TESTS.
PAIR_TESTS_OVER_SEEDS = pa.schema(
    [
        pa.field("score", pa.string(), nullable=False),
        pa.field("measure", pa.string(), nullable=False),
        pa.field("seeds", pa.int32(), nullable=False),
        pa.field("members", pa.int64(), nullable=False),  # of the first seed's first model
        pa.field("holdout_records", pa.int64(), nullable=False),  # likewise
        # null: some model has too few records for it
        pa.field("value", pa.float64()),  # the mean over seeds of the mean over each one's models
        pa.field("low", pa.float64()),  # 95 %, over records and seeds
        pa.field("high", pa.float64()),
    ]
)


def pair_tests_over_seeds(seeds: Sequence[Sequence[pa.Table]]) -> pa.Table:
    """Return the PAIR_TESTS_OVER_SEEDS of the PAIR_TESTS of the models of each seed.

    All have the same rows; there are at least one seed and one model. Intervals are those of
    `mean_over_seeds`, within 0 and 1.
    """
    by_row = zip(*(table.to_pylist() for models in seeds for table in models), strict=True)
    rows = [_over_seeds(tests, len(seeds)) for tests in by_row]
    return pa.Table.from_pylist(rows, PAIR_TESTS_OVER_SEEDS)


def _over_seeds(tests: Sequence[Row], seeds: int) -> dict[str, object]:
    """Return the mean of one score and measure over all models, which come seed by seed."""
    first = tests[0]
    (kind,) = {(test["score"], test["measure"]) for test in tests}
    found: dict[str, object] = dict(zip(("score", "measure"), kind, strict=True))
    found |= {"seeds": seeds, **{name: first[name] for name in ("members", "holdout_records")}}
    if any(test["value"] is None for test in tests):
        return found
    value, low, high = mean_over_seeds(
        *(
            np.array([test[name] for test in tests], np.float64).reshape(seeds, -1)
            for name in ("value", "low", "high")
        )
    )
    return {**found, "value": value, "low": max(low, 0.0), "high": min(high, 1.0)}
