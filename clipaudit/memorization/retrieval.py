"""Retrieve the public images nearest to each caption, for the k-nearest-neighbour test.

Jayaraman et al., NeurIPS 2024: https://arxiv.org/abs/2402.02103 (Algorithm 1). Captions are the
queries of the exact engine, public images its train rows. The lower uid breaks ties, not the place
in a shard, so that shards in another order give the same images.
"""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Int64

from clipaudit.corpora.addresses import sample_addresses, shard_row, shards_and_rows
from clipaudit.corpora.vectors import embedding_array
from clipaudit.errors import InputError
from clipaudit.memorization.recall import RETRIEVED
from clipaudit.neighbors.backends import BLOCK_ROWS
from clipaudit.neighbors.interface import Queries, Search

# One row for each public image, by (shard, row).
PUBLIC_ORDER = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("place", pa.int64(), nullable=False),  # by uid, then (shard, row), from 0
    ]
)


def order_by_uid(samples: pa.Table) -> pa.Table:
    """Return the PUBLIC_ORDER of a SAMPLES table that is sorted by (shard, row).

    A uid's order is that of its 32 hex digits; equal ones come by (shard, row).
    """
    keys = [(name, "ascending") for name in ("uid", "shard", "row")]
    order = pc.sort_indices(samples, sort_keys=keys).to_numpy()
    place = np.empty(len(samples), dtype=np.int64)
    place[order] = np.arange(len(samples))
    columns = {"shard": samples["shard"], "row": samples["row"], "place": place}
    return pa.table(columns, schema=PUBLIC_ORDER)


def caption_queries(captions: pa.Table) -> Queries:
    """Return the EMBEDDINGS of captions, sorted by (shard, row), as the queries of a search."""
    addresses = sample_addresses(captions)
    return Queries(embedding_array(captions, "captions"), (0, len(addresses)), addresses)


def retrieve(
    engine: Search,
    queries: Queries,
    public: Iterable[pa.Table | pa.RecordBatch],
    order: pa.Table,
    *,
    block_rows: int = BLOCK_ROWS,
) -> pa.Table:
    """Return RETRIEVED: the public images nearest to each caption, by their EMBEDDINGS.

    `engine` has just been started to search for k neighbours of `queries`. Rows are by descending
    similarity, with ties by uid, through `order`; with fewer images than k all are listed. `public`
    is read once, a block at a time, in any order. Without captions or images there are no rows.
    Raises InputError for an image that `order` lacks.
    """
    known, places = sample_addresses(order), order["place"].to_numpy()
    for block in public:
        for start in range(0, len(block), block_rows):
            rows = block.slice(start, block_rows)
            engine.rows(_places(rows, known, places), embedding_array(rows, "public images"))
    top = engine.top()
    query, rank = np.nonzero(top.address >= 0)
    by_place = np.empty(len(known), dtype=np.int64)
    by_place[places] = known
    images, records = by_place[top.address[query, rank]], queries.addresses[query]
    shard, row = shards_and_rows(records)
    public_shard, public_row = shards_and_rows(images)
    columns = {
        "shard": shard,
        "row": row,
        "rank": rank.astype(np.int32),
        "similarity": top.similarity[query, rank],
        "public_shard": public_shard,
        "public_row": public_row,
    }
    return pa.table(columns, schema=RETRIEVED)


def _places(
    rows: pa.Table | pa.RecordBatch, known: Int64[np.ndarray, " n"], places: Int64[np.ndarray, " n"]
) -> Int64[np.ndarray, " m"]:
    """Return the places of images in the order by uid."""
    wanted = sample_addresses(rows)
    at = np.searchsorted(known, wanted)
    found = at < len(known)
    found[found] = known[at[found]] == wanted[found]
    if not found.all():
        shard, row = shard_row(int(wanted[found.argmin()]))
        raise InputError(
            f"public image (shard {shard}, row {row}) is not among the {len(known)} of the public "
            "set: embed the public set again, from the same samples as its order"
        )
    place: Int64[np.ndarray, " m"] = places[at]
    return place
