"""Groups training images that repeat each other, and makes the manifests without copies."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clipaudit.copies.kinds import COPIES, LOOKALIKE
from clipaudit.corpora.addresses import sample_addresses, shards_and_rows
from clipaudit.corpora.manifests import prune_manifest

COPY_REASON, REPEAT_REASON = "copy of a test image", "repeats another image"

GROUPS = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        # the first image of the group, by address; its own address for that one
        pa.field("first_shard", pa.int32(), nullable=False),
        pa.field("first_row", pa.int32(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),  # images of the group
    ]
)


def only_copies(pairs: pa.Table) -> pa.Table:
    """Return PAIRS without lookalikes."""
    return pairs.filter(pc.not_equal(pairs["kind"], LOOKALIKE))


def group_repeats(pairs: Iterable[pa.Table]) -> pa.Table:
    """Return GROUPS of two images or more, from the PAIRS within one corpus, by address.

    Copies of copies are in one group, whether or not they are copies of each other.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    joined = pa.concat_tables([_edges(only_copies(table)) for table in pairs])
    ends = np.stack([joined["other"].to_numpy(), joined["own"].to_numpy()])
    addresses, places = np.unique(ends, return_inverse=True)
    size = (len(addresses), len(addresses))
    links = coo_array((np.ones(ends.shape[1], np.int8), tuple(places.reshape(ends.shape))), size)
    _, group = connected_components(links, directed=False)
    _, first, counts = np.unique(group, return_index=True, return_counts=True)
    shard, row = shards_and_rows(addresses)
    first_shard, first_row = shards_and_rows(addresses[first[group]])
    columns = [shard, row, first_shard, first_row, counts[group].astype(np.int64)]
    return pa.table(dict(zip(GROUPS.names, columns, strict=True)), schema=GROUPS)


def without_copies(base: pa.Table, pairs: pa.Table) -> pa.Table:
    """Return the MANIFEST `base` without the training images that copy a test image.

    `pairs` are the PAIRS of its part with all test sets, with a column `testset`. A removed row
    names the test image that it copies most closely: the lowest kind, then address.
    """
    copies = only_copies(pairs)
    rank = pc.index_in(copies["kind"], value_set=pa.array(COPIES))
    ordered = copies.append_column("rank", rank).sort_by(
        [(name, "ascending") for name in _REMOVAL_ORDER]
    )
    addresses = sample_addresses(ordered)
    _, first = np.unique(addresses, return_index=True)
    leaving = ordered.take(first)
    reasons = [f"{COPY_REASON}: {kind}" for kind in leaving["kind"].to_pylist()]
    columns = {
        "shard": leaving["shard"],
        "row": leaving["row"],
        "testset": leaving["testset"],
        "test_shard": leaving["other_shard"],
        "test_row": leaving["other_row"],
        "similarity": leaving["similarity"],
        "reason": pa.array(reasons, pa.string()),
    }
    return prune_manifest(base, pa.table(columns), embedded=base)


def without_repeats(base: pa.Table, groups: pa.Table) -> pa.Table:
    """Return the MANIFEST `base` without the images that GROUPS says repeat an earlier one.

    The first image of each group, by address, is kept.
    """
    first = sample_addresses(groups, "first_shard", "first_row")
    leaving = groups.filter(pa.array(sample_addresses(groups) != first))
    columns = {
        "shard": leaving["shard"],
        "row": leaving["row"],
        "duplicate_shard": leaving["first_shard"],
        "duplicate_row": leaving["first_row"],
        "reason": pa.repeat(pa.scalar(REPEAT_REASON), len(leaving)),
    }
    return prune_manifest(base, pa.table(columns), embedded=base)


_REMOVAL_ORDER = ("shard", "row", "rank", "testset", "other_shard", "other_row")


def _edges(pairs: pa.Table) -> pa.Table:
    other = sample_addresses(pairs, "other_shard", "other_row")
    return pa.table({"other": other, "own": sample_addresses(pairs)})
