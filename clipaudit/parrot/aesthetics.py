"""Aesthetics scores that the JSON of samples states: one number a picture, made elsewhere.

Lin et al., 2023, Sec. 8: https://arxiv.org/abs/2312.14232, keep what LAION's predictor gives more
than 4.5 (so its README; the paper prints 0.45).
"""

import json
import math

import pyarrow as pa

AESTHETICS = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("aesthetics", pa.float64()),  # null: the sample states no finite number
    ]
)


def stated_aesthetics(samples: pa.Table, field: str) -> pa.Table:
    """Return the AESTHETICS of SAMPLES: the number under `field` in each one's JSON, in order.

    What is no finite number is null: such a sample is left out, with that reason.
    """
    scores = [_number(text, field) for text in samples["metadata"].to_pylist()]
    columns = {"shard": samples["shard"], "row": samples["row"], "aesthetics": scores}
    return pa.table(columns, schema=AESTHETICS)


def _number(text: str | None, field: str) -> float | None:
    """Return the number under a field of a JSON text, which the index has checked.

    >>> _number('{"aesthetic": 5}', "aesthetic"), _number('{"aesthetic": true}', "aesthetic")
    (5.0, None)
    """
    value = json.loads(text).get(field) if text else None
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if math.isfinite(value) else None
