"""The k-nearest-neighbour test: find an image's objects in public images by its caption.

Jayaraman et al., NeurIPS 2024, Algorithm 1: https://arxiv.org/abs/2402.02103. The labels of the k
public images nearest to a record's caption predict the labels of its image. A label counts once for
each image, even if repeated. The paper keeps 10 labels of a sample-level prediction without saying
which: here the `top` labels that the most neighbours have. The published code keeps all.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Int32, Int64

from clipaudit.corpora.addresses import sample_addresses, shard_row, shards_and_rows
from clipaudit.errors import ConfigError, StoreError
from clipaudit.memorization.fixed import MOST_NEIGHBORS
from clipaudit.memorization.labelled import LabelledImages, places_among

BLOCK_RECORDS = 4096  # records held at once: affects only memory

# One row per (record, rank), by (shard, row, rank); a record may have none.
RETRIEVED = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("rank", pa.int32(), nullable=False),  # 0: the nearest
        pa.field("similarity", pa.float64(), nullable=False),  # caption to public image
        pa.field("public_shard", pa.int32(), nullable=False),  # the lowest uid in a tie
        pa.field("public_row", pa.int32(), nullable=False),
    ]
)

# One row per (record, k), by (shard, row), then k. Labels are counted once each.
RECALLS = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("k", pa.int32(), nullable=False),
        # to the nearest public image; null: there is none
        pa.field("similarity", pa.float64()),
        # labels of the record's own image; 0: the metrics leave the record out
        pa.field("truths", pa.int32(), nullable=False),
        pa.field("predicted", pa.int32(), nullable=False),  # labels of its k nearest images
        pa.field("correct", pa.int32(), nullable=False),  # labels that are both
        # the same of only the top labels: those that the most of the k images show
        pa.field("top_predicted", pa.int32(), nullable=False),
        pa.field("top_correct", pa.int32(), nullable=False),
    ]
)

# One row per (record, label), by (shard, row), neighbors descending, label.
SAMPLE_LABELS = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("label", pa.int32(), nullable=False),
        # how many of the k nearest images show it; 0: a true label that was missed
        pa.field("neighbors", pa.int32(), nullable=False),
        pa.field("is_true", pa.bool_(), nullable=False),  # whether the record's image shows it
    ]
)


def recall_test(
    retrieved: pa.Table,
    truths: pa.Table,
    public: pa.Table,
    *,
    ks: Sequence[int],
    top: int = 10,
) -> pa.Table:
    """Return the RECALLS of every record of `truths`, with each of `ks`.

    `retrieved` is a RETRIEVED table. `truths` and `public` have the columns shard, row and
    `labels`, a list of int32 in which labels may repeat, sorted by (shard, row). In a tie of
    neighbours, the lower label ids enter the top. A record with fewer than k neighbours predicts
    from these; without any it predicts nothing.

    Memory: about 60 bytes for each row of `retrieved`, and for each of the images in `public` 30
    bytes and 8 for each of its labels; `retrieved_images` keeps only those that are needed.

    Raises StoreError for a record that `truths` lacks and for a public image that `public` lacks.
    """
    ks = _checked(ks)
    images, records = LabelledImages.of(public, "public"), LabelledImages.of(truths, "truths")
    tables = [
        _recalls(block, records, ks, top) for block in _blocks(retrieved, records, images, ks[-1])
    ]
    return pa.concat_tables([RECALLS.empty_table(), *tables])


def retrieved_images(public: Iterable[pa.Table], retrieved: pa.Table) -> pa.Table:
    """Return the rows of public images that RETRIEVED names, in the order of `public`.

    `public` is read once, one table at a time, each with the columns shard and row; at least one is
    needed. So `recall_test` holds only the images near a part's records, not the public set.
    """
    wanted = np.unique(sample_addresses(retrieved, "public_shard", "public_row"))
    ended = np.append(wanted, np.iinfo(np.int64).max)  # above every address
    found = []
    for table in public:
        own = sample_addresses(table)
        found.append(table.filter(pa.array(ended[np.searchsorted(wanted, own)] == own)))
    return pa.concat_tables(found)


def sample_labels(
    retrieved: pa.Table, truths: pa.Table, public: pa.Table, records: pa.Table, *, k: int
) -> pa.Table:
    """Return the SAMPLE_LABELS of a few `records`, a table with the columns shard and row.

    They are every label of a record's k nearest images, and every true label; a repeated record
    counts once. The other tables, and the errors for these records, are those of `recall_test`.
    Raises StoreError for a record that `truths` lacks.
    """
    ks = _checked([k])
    wanted = np.unique(sample_addresses(records))
    places_among(sample_addresses(truths), wanted, "record to be listed", "truths")
    truths = truths.filter(pa.array(np.isin(sample_addresses(truths), wanted)))
    retrieved = retrieved.filter(pa.array(np.isin(sample_addresses(retrieved), wanted)))
    images, own = LabelledImages.of(public, "public"), LabelledImages.of(truths, "truths")
    tables = [_listed(block, own, k) for block in _blocks(retrieved, own, images, ks[-1])]
    return pa.concat_tables([SAMPLE_LABELS.empty_table(), *tables])


@dataclass(frozen=True, eq=False)
class _Block:
    """Records first, ..., last - 1, and the labels that their neighbours hold.

    Candidates are the distinct (record, label), ascending; record counts from `first`. The votes of
    candidate i are `ranks[starts[i]:starts[i + 1]]`: the neighbours that hold the label.
    """

    first: int
    last: int
    similarity: pa.Array  # of each record's nearest neighbour
    record: Int64[np.ndarray, " candidates"]
    label: Int64[np.ndarray, " candidates"]
    starts: Int64[np.ndarray, " candidates"]
    ranks: Int64[np.ndarray, " votes"]

    def neighbors(self, k: int) -> Int64[np.ndarray, " candidates"]:
        """Return the number of a record's k nearest images that have each label."""
        votes: np.ndarray = np.add.reduceat(self.ranks < k, self.starts, dtype=np.int64)
        return votes

    def per_record(self, chosen: Bool[np.ndarray, " candidates"]) -> Int32[np.ndarray, " records"]:
        """Return the number of chosen candidates of each record."""
        counts = np.bincount(self.record[chosen], minlength=self.last - self.first)
        return counts.astype(np.int32)


def _checked(ks: Sequence[int]) -> list[int]:
    """Return the numbers of neighbours, ascending, each once."""
    if not ks or min(ks) < 1 or max(ks) > MOST_NEIGHBORS:
        raise ConfigError(
            f"numbers of neighbours {list(ks)}: give one or more, each from 1 to {MOST_NEIGHBORS}"
        )
    return sorted(set(ks))


def _blocks(
    retrieved: pa.Table, records: LabelledImages, images: LabelledImages, k: int
) -> Iterator[_Block]:
    """Yield the records in blocks of BLOCK_RECORDS, with the votes of their k nearest images."""
    record = places_among(records.addresses, sample_addresses(retrieved), "record", "truths")
    rank = retrieved["rank"].to_numpy()
    wrong = np.flatnonzero((np.diff(record) < 0) | ((np.diff(record) == 0) & (np.diff(rank) <= 0)))
    if len(wrong):
        shard, row = shard_row(int(records.addresses[record[wrong[0] + 1]]))
        raise StoreError(
            f"neighbours: rank {rank[wrong[0] + 1]} of record (shard, row) ({shard}, {row}) is out "
            "of order; they must be sorted by (shard, row, rank), so search again"
        )
    for first in range(0, len(records.addresses), BLOCK_RECORDS):
        last = min(first + BLOCK_RECORDS, len(records.addresses))
        start, end = np.searchsorted(record, [first, last])
        part = retrieved.slice(start, end - start)
        yield _block(part, record[start:end] - first, images, first, last, k)


def _block(
    part: pa.Table,
    record: Int64[np.ndarray, " m"],
    images: LabelledImages,
    first: int,
    last: int,
    k: int,
) -> _Block:
    public = sample_addresses(part, "public_shard", "public_row")
    image = places_among(images.addresses, public, "retrieved public image", "public")
    rank = part["rank"].to_numpy().astype(np.int64)
    near = np.flatnonzero(rank < k)
    holder, label = images.labels(image[near])
    holder = near[holder]
    votes = _packed(record[holder], label) << 19 | rank[holder]
    votes.sort()  # not np.unique, which is several times slower
    votes = votes[np.diff(votes, prepend=-1) != 0]  # a label repeated in an image is one vote
    starts = np.flatnonzero(np.diff(votes >> 19, prepend=-1))
    candidates = votes[starts] >> 19
    return _Block(
        first,
        last,
        _nearest(record, part, last - first),
        candidates >> 32,
        (candidates & 0xFFFFFFFF) - (1 << 31),
        starts,
        votes & (1 << 19) - 1,
    )


def _nearest(record: Int64[np.ndarray, " m"], part: pa.Table, records: int) -> pa.Array:
    """Return the similarity in each record's first row, null if it has none."""
    holds, row = np.unique(record, return_index=True)
    similarity = np.zeros(records)
    similarity[holds] = part["similarity"].to_numpy()[row]
    missing = np.ones(records, dtype=np.bool_)
    missing[holds] = False
    return pa.array(similarity, mask=missing)


def _true_labels(block: _Block, records: LabelledImages) -> Int64[np.ndarray, " truths"]:
    """Return the distinct (record, label) of the block's own images, packed, ascending."""
    own = np.arange(block.first, block.last)
    return np.unique(_packed(*records.labels(own)))


def _recalls(block: _Block, records: LabelledImages, ks: Sequence[int], top: int) -> pa.Table:
    true = _true_labels(block, records)
    is_true = np.isin(_packed(block.record, block.label), true)
    columns = {
        "truths": np.bincount(true >> 32, minlength=block.last - block.first).astype(np.int32)
    }
    addresses = records.addresses[block.first : block.last]
    tables = []
    for k in ks:
        neighbors = block.neighbors(k)
        held = neighbors > 0
        best = held & _among_top(block.record, neighbors, top)
        columns["predicted"] = block.per_record(held)
        columns["correct"] = block.per_record(held & is_true)
        columns["top_predicted"] = block.per_record(best)
        columns["top_correct"] = block.per_record(best & is_true)
        head = {
            **dict(zip(("shard", "row"), shards_and_rows(addresses), strict=True)),
            "k": np.full(len(addresses), k, dtype=np.int32),
            "similarity": block.similarity,
        }
        tables.append(pa.table({**head, **columns}, schema=RECALLS))
    joined = pa.concat_tables(tables)  # by k, then record
    order = np.arange(len(joined)).reshape(len(ks), -1).T.ravel()
    return joined.take(pa.array(order)).combine_chunks()


def _among_top(
    record: Int64[np.ndarray, " candidates"], neighbors: Int64[np.ndarray, " candidates"], top: int
) -> Bool[np.ndarray, " candidates"]:
    """Return which candidates are among the `top` of their record, the lower label in a tie."""
    # The sort is stable and candidates come by label.
    order = np.argsort(record << 20 | MOST_NEIGHBORS - neighbors, kind="stable")
    counts = np.bincount(record)
    first = (np.cumsum(counts) - counts)[record]  # candidate of the same record
    chosen = np.zeros(len(record), dtype=np.bool_)
    # The sort keeps each record's candidates together, so places count from its first one.
    chosen[order] = np.arange(len(record)) - first < top
    return chosen


def _listed(block: _Block, records: LabelledImages, k: int) -> pa.Table:
    true = _true_labels(block, records)
    voted = _packed(block.record, block.label)
    packed = np.union1d(voted, true)
    neighbors = np.zeros(len(packed), dtype=np.int32)
    neighbors[np.searchsorted(packed, voted)] = block.neighbors(k)
    order = np.lexsort((packed, -neighbors, packed >> 32))
    packed, neighbors = packed[order], neighbors[order]
    shard, row = shards_and_rows(records.addresses[block.first + (packed >> 32)])
    columns = {
        "shard": shard,
        "row": row,
        "label": ((packed & 0xFFFFFFFF) - (1 << 31)).astype(np.int32),
        "neighbors": neighbors,
        "is_true": np.isin(packed, true),
    }
    return pa.table(columns, schema=SAMPLE_LABELS)


def _packed(
    record: Int64[np.ndarray, " m"], label: Int64[np.ndarray, " m"]
) -> Int64[np.ndarray, " m"]:
    """Return (record, label) as one number in the order of both, labels below 0 included."""
    packed: np.ndarray = record << 32 | label + (1 << 31)
    return packed
