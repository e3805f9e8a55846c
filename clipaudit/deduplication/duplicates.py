"""Finds semantic duplicates: the earlier sample in its cluster that each sample duplicates.

Abbas et al., 2023 (SemDeDup): https://arxiv.org/abs/2303.09540, as Mayilvahanan et al., ICLR 2024,
use it for LAION-200M (https://arxiv.org/abs/2310.09562, Sec. 3). Text and codes differ in which
samples they remove at a threshold; each is a rule here, under its name:

* `semdedup`, SemDeDup's code: a cluster's samples are ordered by similarity to the centroid, the
  farthest first; a sample is removed iff any earlier one, itself dropped or not, is more similar to
  it than the threshold. In a chain a-b-c, whose ends are not duplicates, only a is kept if they
  come in this order, a and c if b comes last.
* `clip-ood`, the second paper's code: the same in file order, (shard, row).
* `paper`, SemDeDup's text: in each group that pairs above the threshold connect, one sample is
  kept, the farthest from the centroid: always one of the chain.

Differences from all: similarities are exact, a pair at the threshold is not above it, ties in the
order go to the lowest (shard, row), and one result serves every threshold.
"""

import logging
from typing import Literal, Unpack

import numpy as np
import pyarrow as pa
from jaxtyping import Int64

from clipaudit.corpora.addresses import shards_and_rows
from clipaudit.deduplication.clusters import Cluster, Read, read_clusters
from clipaudit.deduplication.earlier import BLOCK_ROWS, NearestEarlier
from clipaudit.deduplication.pairs import Comparison, Engine, Removals, compare
from clipaudit.deduplication.spanning import SpanningForest
from clipaudit.progress import Progress

HELD_ROWS = 262_144  # rows of a cluster held at once: 320 MB at 640 dimensions, never results

Rule = Literal["semdedup", "clip-ood", "paper"]

# One row per sample of a group of clusters, by (shard, row): a range of shards is then a range of
# rows in every group.
DUPLICATES = pa.schema(
    [
        pa.field("cluster", pa.int32(), nullable=False),
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        # the removal similarity: the sample is removed at every threshold below it, and at no
        # other; null if it is never removed
        pa.field("similarity", pa.float64()),
        # the sample that it then duplicates: the most similar earlier one in its cluster, the
        # earliest in a tie; under `paper` the kept one of its group
        pa.field("duplicate_shard", pa.int32()),
        pa.field("duplicate_row", pa.int32()),
    ]
)

_log = logging.getLogger(__name__)


def find_duplicates(
    read: Read,
    clusters: range,
    *,
    rule: Rule = "semdedup",
    floor: float | None = None,
    block_rows: int = BLOCK_ROWS,
    held_rows: int = HELD_ROWS,
    **engine: Unpack[Engine],
) -> pa.Table:
    """Return the DUPLICATES of a range of clusters, whose CLUSTERED rows `read` gives by part.

    Under `paper`, only pairs above `floor` (None: all) count. Give the lowest threshold needed,
    since all pairs of a cluster are many. A sample that only pairs at or below it would remove is
    never removed. The other rules ignore it.

    The engine, both sizes and the split into parts do not affect the result. Memory: a batch of
    each part, `held_rows` vectors a few times over, and some tens of bytes for each sample of the
    range. Clusters without samples have no rows.
    """
    progress = Progress(_log, "comparing within clusters", total=len(clusters), unit="clusters")
    tables = []
    for cluster in read_clusters(read, clusters, held_rows=held_rows):
        n = len(cluster.addresses)
        comparison: Comparison = (
            SpanningForest(n, floor=-np.inf if floor is None else floor, **engine)
            if rule == "paper"
            else NearestEarlier(n, block_rows=block_rows, **engine)
        )
        order = np.arange(n)  # in file order, or the farthest from the centroid first
        if rule != "clip-ood":
            order = np.lexsort((cluster.addresses, cluster.centroid_similarity))
        ranks = np.empty_like(order)
        ranks[order] = np.arange(n)
        compare(cluster, ranks, comparison, held_rows=held_rows)
        tables.append(_table(cluster, order, comparison.removals()))
        progress.note(cluster.number - clusters.start + 1)
    joined = pa.concat_tables([DUPLICATES.empty_table(), *tables])
    return joined.sort_by([("shard", "ascending"), ("row", "ascending")])


def _table(cluster: Cluster, order: Int64[np.ndarray, " n"], removals: Removals) -> pa.Table:
    """Return DUPLICATES of a cluster, by rank; `order` gives the sample at each rank."""
    addresses = cluster.addresses[order]
    stays = removals.earlier < 0
    shard, row = shards_and_rows(addresses)
    duplicate_shard, duplicate_row = shards_and_rows(addresses[removals.earlier])
    columns = {
        "cluster": np.full(len(order), cluster.number, dtype=np.int32),
        "shard": shard,
        "row": row,
        "similarity": pa.array(removals.similarity, mask=stays),
        "duplicate_shard": pa.array(duplicate_shard, mask=stays),
        "duplicate_row": pa.array(duplicate_row, mask=stays),
    }
    return pa.table(columns, schema=DUPLICATES)
