"""The spotter `given`: text spotted elsewhere, in Parquet or JSON files, joined to samples."""

import logging
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Float32

from clipaudit.corpora.addresses import sample_addresses
from clipaudit.corpora.drops import Drops
from clipaudit.errors import InputError
from clipaudit.parrot.spans import SPANS, pictures_without_text, span_array
from clipaudit.plaindata import Row
from clipaudit.plaintext import plain

Corners = Float32[np.ndarray, "n 2"]

NOT_GIVEN, OUTSIDE = "no spans given", "span outside the image"  # reasons in drops
MAY_BE_OUTSIDE = 0.01  # of images with text; more are spans of another size, not strays

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
    text if `absent` is "no text". Otherwise it is added to `drops`, as is one with a span entirely
    outside its image, so that rows in `samples` = rows out + drops. Raises InputError if more than
    the share `may_lack` have no row, or if more than MAY_BE_OUTSIDE have a span outside.
    """
    wanted, addresses = sample_addresses(samples), sample_addresses(given)
    lacks = ~np.isin(wanted, addresses)
    places = pa.array(np.searchsorted(addresses, wanted[~lacks]))
    found = given.take(places).cast(SPANS)
    outside = _outside(found, samples.filter(pa.array(~lacks)), drops)
    found = found.filter(pa.array(~outside))
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
    if len(rows) > may_lack * samples:
        first = rows[0]
        raise InputError(
            f"{len(rows)} of {samples} images have no row in the given spans, first shard "
            f"{first['shard']}, row {first['row']}, key {plain(str(first['key']))!r}. If images "
            "without a row show no text, write `absent: no text` in parrot.spotting.given; if they "
            "were not read, allow a share by `may_lack`, or give their rows."
        )
    for row in rows:
        drops.add(row["shard"], row["row"], row["key"], NOT_GIVEN)


def _outside(found: pa.Table, samples: pa.Table, drops: Drops) -> Bool[np.ndarray, " n"]:
    """Return whether each image has a span entirely outside it; add those to `drops`."""
    spans = found["spans"].combine_chunks()
    sizes = np.column_stack([samples[side].to_numpy() for side in ("width", "height")])
    owners = pc.list_parent_indices(spans).to_numpy()
    low, high = _bounds(spans.flatten().field("polygon"))
    beyond = ((high < 0) | (low > sizes[owners])).any(axis=1)
    outside = np.zeros(len(found), bool)
    outside[owners[beyond]] = True
    if outside.sum() > MAY_BE_OUTSIDE * len(np.unique(owners)):
        at = int(np.argmax(beyond))
        raise InputError(
            f"{outside.sum()} of {len(np.unique(owners))} images with text have spans outside the "
            f"image, first {_shown(spans.flatten()[at].as_py(), samples, int(owners[at]))}. Give "
            "places in pixels of the stored image (docs/imports.md), or remove these spans."
        )
    for row in samples.filter(pa.array(outside)).select(["shard", "row", "key"]).to_pylist():
        drops.add(row["shard"], row["row"], row["key"], OUTSIDE)
    return outside


def _bounds(polygons: pa.Array) -> tuple[Corners, Corners]:
    """Return the least and the greatest x and y of each polygon."""
    corners = polygons.flatten().to_numpy(zero_copy_only=False).reshape(-1, 2)
    numbers = pc.list_value_length(polygons).to_numpy(zero_copy_only=False) // 2
    starts = (np.cumsum(numbers) - numbers).astype(np.int64)
    return np.minimum.reduceat(corners, starts), np.maximum.reduceat(corners, starts)


def _shown(span: Row, samples: pa.Table, at: int) -> str:
    row = samples.slice(at, 1).to_pylist()[0]
    return (
        f"shard {row['shard']}, row {row['row']}, key {plain(str(row['key']))!r}: "
        f"{plain(span['text'])!r:.60} at {span['polygon']} in an image of {row['width']} x "
        f"{row['height']} pixels"
    )
