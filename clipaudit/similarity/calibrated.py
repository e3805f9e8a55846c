"""Reads the distance of near duplicates, which a calibration of the encoder may choose."""

import math
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def near_duplicate_distance(given: float | None, thresholds: Iterable[pa.Table]) -> float:
    """Return the distance below which images are near duplicates: `given`, or the calibration's.

    `thresholds` are tables of similarity thresholds, in which `chosen` marks the one to use: a near
    duplicate is at least that similar. The distance is the next one above, which is the same to the
    last bit for similarities of 0.5 or more. It is -inf, below any distance, if none was chosen,
    and the highest if several were.

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
