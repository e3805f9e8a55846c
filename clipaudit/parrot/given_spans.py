"""The spotter `given`: text spotted elsewhere, in Parquet or JSON files, joined to samples."""

import logging
from fractions import Fraction
from typing import Literal

import numpy as np
import pyarrow as pa

from clipaudit.corpora.addresses import sample_addresses
from clipaudit.corpora.drops import Drops
from clipaudit.errors import InputError
from clipaudit.parrot.spans import SPANS, pictures_without_text, span_array
from clipaudit.parrot.spans_inside import spans_inside
from clipaudit.plaintext import plain

NOT_GIVEN = "no spans given"  # a reason in drops

_log = logging.getLogger(__name__)


def take_spans(
    samples: pa.Table,
    given: pa.Table,
    *,
    absent: Literal["unread", "no text"],
    may_lack: float,
    drops: Drops,
) -> pa.Table:
    """Return the SPANS of `samples` from `given`, which may also have those of other samples.

    Samples ascend by (shard, row), and so does the result. A sample that `given` lacks shows no
    text if `absent` is "no text". Otherwise it is added to `drops`, as may be samples that fail the
    check by `spans_inside`, so that rows in `samples` = rows out + drops. Raises InputError if more
    than the share `may_lack` have no row, and what `spans_inside` raises.
    """
    wanted, addresses = sample_addresses(samples), sample_addresses(given)
    lacks = ~np.isin(wanted, addresses)
    places = pa.array(np.searchsorted(addresses, wanted[~lacks]))
    found = given.take(places).cast(SPANS)
    found = spans_inside(found, samples.filter(pa.array(~lacks)), drops=drops)
    lost = samples.filter(pa.array(lacks)).select(["shard", "row", "key"])
    if absent == "no text":
        columns = [lost["shard"], lost["row"], span_array([] for _ in range(len(lost)))]
        found = pa.concat_tables([found, pa.table(columns, schema=SPANS)])
        found = found.sort_by([("shard", "ascending"), ("row", "ascending")])
    else:
        _drop(lost, len(samples), may_lack, drops)
    log = "%d of %d images have no row in the given files, %d show no text"
    _log.info(log, len(lost), len(samples), pictures_without_text(found))
    return found


def _drop(lost: pa.Table, samples: int, may_lack: float, drops: Drops) -> None:
    rows = lost.to_pylist()
    if len(rows) > Fraction(repr(may_lack)) * samples:  # as the decimal number that was written
        first = rows[0]
        raise InputError(
            f"{len(rows)} of {samples} images have no row in the given spans, first shard "
            f"{first['shard']}, row {first['row']}, key {plain(str(first['key']))!r}. If images "
            "without a row show no text, write `absent: no text` in parrot.spotting.given; if they "
            "were not read, allow a share by `may_lack`, or give their rows."
        )
    for row in rows:
        drops.add(row["shard"], row["row"], row["key"], NOT_GIVEN)
