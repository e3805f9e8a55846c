"""Combine one-model tests over seeds, so that results hold beyond one training run and cut."""

from collections.abc import Sequence
from statistics import fmean

import numpy as np
import pyarrow as pa

from clipaudit.evaluation.student import DECIMALS, mean_over_seeds
from clipaudit.memorization.one_model import AGREEMENTS
from clipaudit.plaindata import Row

# One row per (k, reference, measure, part), as in ONE_MODEL.
ONE_MODEL_OVER_SEEDS = pa.schema(
    [
        pa.field("k", pa.int32(), nullable=False),
        pa.field("reference", pa.string(), nullable=False),
        pa.field("measure", pa.string(), nullable=False),
        pa.field("part", pa.string(), nullable=False),
        pa.field("seeds", pa.int32(), nullable=False),
        pa.field("records", pa.int64(), nullable=False),  # of the first seed
        pa.field("value", pa.float64()),  # the mean over seeds; null: unknown for some seed
        pa.field("low", pa.float64()),  # 95 %, over records and seeds; null if a seed has none
        pa.field("high", pa.float64()),
    ]
)
_ROW = ("k", "reference", "measure", "part")


def one_model_over_seeds(seeds: Sequence[pa.Table]) -> pa.Table:
    """Return the ONE_MODEL_OVER_SEEDS of the ONE_MODEL of each seed's model.

    All have the same rows; there is at least one seed. Intervals are those of `mean_over_seeds`;
    those of agreements, which are correlations, stay within -1 and 1.
    """
    by_row = zip(*(table.to_pylist() for table in seeds), strict=True)
    return pa.Table.from_pylist([_over_seeds(tests) for tests in by_row], ONE_MODEL_OVER_SEEDS)


def _over_seeds(tests: Sequence[Row]) -> dict[str, object]:
    """Return the mean of each seed's row of one kind."""
    (kind,) = {tuple(test[name] for name in _ROW) for test in tests}
    found: dict[str, object] = dict(zip(_ROW, kind, strict=True))
    found |= {"seeds": len(tests), "records": tests[0]["records"]}
    by_name = {name: [test[name] for test in tests] for name in ("value", "low", "high")}
    if None in by_name["value"]:
        return found
    found["value"] = round(fmean(by_name["value"]), DECIMALS)
    if None in by_name["low"]:
        return found
    given = (np.array(each, np.float64)[:, None] for each in by_name.values())
    bounds = mean_over_seeds(*given)[1:]
    if found["part"] in AGREEMENTS:
        bounds = max(bounds[0], -1.0), min(bounds[1], 1.0)
    return {**found, "low": bounds[0], "high": bounds[1]}
