"""The distance of near duplicates, where a calibration of the encoder chose it."""

import math
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def near_duplicate_distance(given: float | None, thresholds: Iterable[pa.Table]) -> float:
    """Return the distance that near duplicates are nearer than: `given`, or the calibration's.

    `thresholds` are tables of thresholds of similarities, in which `chosen` marks the one to take:
    a near duplicate is as similar, or more. The distance is the next one above, which for
    similarities of 0.5 or more is the same to the last bit. -inf, below any distance, where none
    was chosen; the highest where several were.

    >>> table = pa.table({"threshold": [0.75, 0.5], "chosen": [True, False]})
    >>> distance = near_duplicate_distance(None, [table])
    >>> 1 - 0.75 < distance, 1 - np.nextafter(0.75, 0) < distance
    (True, np.False_)
    """
    if given is not None:
        return given
    chosen = [table.filter(table["chosen"])["threshold"] for table in thresholds]
    most = max((pc.max(each).as_py() for each in chosen if len(each)), default=math.inf)
    return float(np.nextafter(1 - most, math.inf)) if most < math.inf else -math.inf
