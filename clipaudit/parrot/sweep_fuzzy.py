"""Compute the share of repeated caption words at several thresholds of the fuzzy match.

The paper states no threshold; this shows which ones fit its numbers.
"""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from clipaudit.parrot.matching import match
from clipaudit.parrot.tokens import TOKENIZATIONS

_SUM = pa.decimal128(38, 15)  # summed exactly, so no mean depends on how a corpus is cut into parts

FUZZY_SWEEP = pa.schema(
    [
        pa.field("threshold", pa.float64(), nullable=False),
        pa.field("tokenization", pa.string(), nullable=False),  # words or plain
        pa.field("has_text", pa.bool_(), nullable=False),  # whether the images have text
        pa.field("captions", pa.int64(), nullable=False),  # with words
        pa.field("rates", _SUM, nullable=False),  # the sum of their fuzzy rates
    ]
)


def sweep_fuzzy(samples: pa.Table, spans: pa.Table, thresholds: Sequence[float]) -> pa.Table:
    """Return FUZZY_SWEEP: a row for each threshold and tokenization, with and without text.

    Rates are those of `clipaudit.parrot.matching.match` at each threshold, with its errors; rows
    are in the order of `thresholds`. Without images, rows have 0 captions.
    """
    rows = []
    for threshold in thresholds:
        matches = match(samples, spans, fuzzy_threshold=threshold)
        has_text = pc.greater(matches["spans"], 0)
        for tokenization in TOKENIZATIONS:
            rates = matches[f"{tokenization}_fuzzy_rate"]
            for wanted in (False, True):
                own = rates.filter(pc.equal(has_text, wanted)).drop_null()
                total = pc.sum(own.cast(pa.decimal128(18, 15)).cast(_SUM), min_count=0)
                rows.append((threshold, tokenization, wanted, len(own), total.as_py()))
    columns = zip(*rows, strict=True) if rows else ((),) * len(FUZZY_SWEEP)
    return pa.table(dict(zip(FUZZY_SWEEP.names, columns, strict=True)), schema=FUZZY_SWEEP)
