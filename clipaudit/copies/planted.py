"""Compares what the audit found in a synthetic world with the copies that were planted there."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Int64

from clipaudit.copies.groups import only_copies
from clipaudit.copies.kinds import IDENTICAL_BYTES, IDENTICAL_PIXELS, REENCODED
from clipaudit.corpora.addresses import sample_address, sample_addresses
from clipaudit.corpora.drops import table_of_rows

# One row per searched set: a test set, or the training corpus itself.
PLANTED = pa.schema(
    [
        pa.field("searched", pa.string(), nullable=False),
        pa.field("planted", pa.int64(), nullable=False),  # training images that copy one of it
        pa.field("candidates", pa.int64(), nullable=False),  # of these, candidates with it
        pa.field("verified", pa.int64(), nullable=False),  # of these, called copies
        pa.field("named", pa.int64(), nullable=False),  # of these, by the kind that was planted
        # candidate pairs that are not copies, and those of them that are called copies
        pa.field("candidates_besides", pa.int64(), nullable=False),
        pa.field("verified_besides", pa.int64(), nullable=False),
    ]
)
_UNEDITED = [IDENTICAL_BYTES, IDENTICAL_PIXELS, REENCODED]  # worlds plant noise, no edits

Node = tuple[str, int]  # a corpus, and an address


def compare_planted(truth: pa.Table, found: Mapping[str, pa.Table], train: str) -> pa.Table:
    """Return PLANTED of a synthetic world, in the order of `found`: PAIRS by searched set.

    `truth` are the TRUTH tables of the training corpus (`clipaudit.demo.shard_writer`). An image
    that repeats a repeat is a copy of both images. Within the training corpus, each image is
    expected in one pair: with some earlier image that it copies.
    """
    group = _groups(truth, train)
    rows = [_row(searched, pairs, group, train) for searched, pairs in found.items()]
    return table_of_rows(rows, PLANTED)


def _row(
    searched: str, pairs: pa.Table, group: Mapping[Node, int], train: str
) -> tuple[object, ...]:
    planted = _planted(searched, group, train)
    copies = only_copies(pairs)
    named = copies.filter(pc.is_in(copies["kind"], value_set=pa.array(_UNEDITED)))
    hits = [_copied(table, searched, group, train) for table in (pairs, copies, named)]
    counts = [len(planted & set(each[each >= 0].tolist())) for each in hits]
    besides = [int((each < 0).sum()) for each in hits[:2]]
    return searched, len(planted), *counts, *besides


def _copied(
    pairs: pa.Table, searched: str, group: Mapping[Node, int], train: str
) -> Int64[np.ndarray, " n"]:
    """Return the address of each pair's training image, or -1 if it copies nothing there."""
    others = sample_addresses(pairs, "other_shard", "other_row").tolist()
    own = sample_addresses(pairs).tolist()
    return np.array(
        [
            mine if _together(group, (searched, other), (train, mine)) else -1
            for other, mine in zip(others, own, strict=True)
        ],
        np.int64,
    )


def _together(group: Mapping[Node, int], left: Node, right: Node) -> bool:
    return left in group and group[left] == group.get(right)


def _planted(searched: str, group: Mapping[Node, int], train: str) -> set[int]:
    """Return the training images that copy an image of the searched set, an earlier one of it."""
    if searched != train:
        wanted = {number for (corpus, _), number in group.items() if corpus == searched}
        return {
            at for (corpus, at), number in group.items() if corpus == train and number in wanted
        }
    first: dict[int, int] = {}
    for (corpus, at), number in group.items():
        if corpus == train:
            first[number] = min(at, first.get(number, at))
    return {at for (corpus, at), number in group.items() if corpus == train and at != first[number]}


def _groups(truth: pa.Table, train: str) -> dict[Node, int]:
    """Return a number for each image that copies or is copied: equal for copies of one image."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    edges = list(_edges(truth, train))
    nodes = sorted({node for edge in edges for node in edge})
    place = {node: number for number, node in enumerate(nodes)}
    ends = np.array([[place[left], place[right]] for left, right in edges], np.int64).reshape(-1, 2)
    size = (len(nodes), len(nodes))
    links = coo_array((np.ones(len(ends), np.int8), tuple(ends.T)), size)
    _, numbers = connected_components(links, directed=False)
    return {node: int(numbers[number]) for node, number in place.items()}


def _edges(truth: pa.Table, train: str) -> list[tuple[Node, Node]]:
    found: list[tuple[Node, Node]] = []
    for row in truth.to_pylist():
        own = train, sample_address(row["shard"], row["row"])
        if row["duplicate_of_corpus"] is not None:
            address = sample_address(row["duplicate_of_shard"], row["duplicate_of_row"])
            found.append(((row["duplicate_of_corpus"], address), own))
        if row["copy_of_row"] is not None:
            found.append(((train, sample_address(row["shard"], row["copy_of_row"])), own))
    return found
