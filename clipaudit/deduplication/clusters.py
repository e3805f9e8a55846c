"""Assembles clusters, one at a time, from the parts of a corpus."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import merge
from itertools import groupby, pairwise
from operator import attrgetter

import numpy as np
import pyarrow as pa
from jaxtyping import Float16, Float64, Int64

from clipaudit.corpora.addresses import sample_addresses, shard_row
from clipaudit.corpora.vectors import embedding_array
from clipaudit.errors import InputError

JOINED_ROWS = 8_192  # rows of a block of a cluster's vectors: memory, never results

# Takes a range of clusters and returns one stream per part, in order, with their rows of CLUSTERED;
# rows of other clusters may be among them. A stream is opened when its first row is taken.
Read = Callable[[range], Sequence[Iterable[pa.Table | pa.RecordBatch]]]


@dataclass(frozen=True, eq=False)
class Cluster:
    """The samples of a cluster by rising address, `shard << 32 | row`; there is at least one.

    `blocks()` yields their vectors in this order, some rows at a time, whenever it is called.
    """

    number: int
    addresses: Int64[np.ndarray, " n"]
    centroid_similarity: Float64[np.ndarray, " n"]
    blocks: Callable[[], Iterable[Float16[np.ndarray, "_ d"]]]


@dataclass(frozen=True, eq=False)
class _Run:
    """Neighbouring rows of a stream that belong to one cluster."""

    cluster: int
    addresses: Int64[np.ndarray, " m"]
    centroid_similarity: Float64[np.ndarray, " m"]
    vectors: Float16[np.ndarray, "m d"]


def read_clusters(read: Read, clusters: range, *, held_rows: int) -> Iterator[Cluster]:
    """Yield the clusters of the range that have samples, by number, each whole.

    Every part is read once, in step with the others, and one batch of each is held. The vectors of
    a cluster with more than `held_rows` rows are not held: `blocks` reads them again. Raises an
    error for rows that are not sorted by (cluster, shard, row) over all parts. Without clusters,
    nothing is read.
    """
    parts = read(clusters) if clusters else []
    streams = merge(*(_runs(part, clusters) for part in parts), key=attrgetter("cluster"))
    for number, runs in groupby(streams, key=attrgetter("cluster")):
        yield _gather(number, runs, read, held_rows)


def _runs(part: Iterable[pa.Table | pa.RecordBatch], clusters: range) -> Iterator[_Run]:
    last = -1
    for batch in part:
        numbers = batch.column("cluster").to_numpy()
        fall = np.flatnonzero(np.diff(numbers, prepend=last) < 0)
        if len(fall):
            raise InputError(
                f"clustered samples of cluster {numbers[fall[0]]} come after those of a later one; "
                "assignment sorts them by (cluster, shard, row), so assign this part again"
            )
        last = numbers[-1] if len(numbers) else last
        addresses = sample_addresses(batch)
        similarities: np.ndarray = batch.column("centroid_similarity").to_numpy()
        vectors = embedding_array(batch, "clustered samples")
        first, stop = np.searchsorted(numbers, [clusters.start, clusters.stop])
        inner = np.flatnonzero(np.diff(numbers[first:stop])) + first + 1
        for edges in pairwise([first, *inner, stop] if stop > first else []):
            run = slice(*edges)
            yield _Run(int(numbers[run.start]), addresses[run], similarities[run], vectors[run])


def _gather(number: int, runs: Iterable[_Run], read: Read, held_rows: int) -> Cluster:
    addresses, similarities, held = [], [], 0
    vectors: list[np.ndarray] = []
    for run in runs:
        addresses.append(run.addresses)
        similarities.append(run.centroid_similarity)
        held += len(run.addresses)
        if held <= held_rows:
            vectors.append(run.vectors)
        else:
            vectors.clear()
    joined = np.concatenate(addresses)
    _check_order(number, joined)
    blocks = partial(_joined, vectors) if vectors else partial(_read_again, read, number)
    return Cluster(number, joined, np.concatenate(similarities), blocks)


def _check_order(number: int, addresses: Int64[np.ndarray, " n"]) -> None:
    wrong = np.flatnonzero(np.diff(addresses) <= 0)
    if len(wrong):
        before, after = (shard_row(int(each)) for each in addresses[wrong[0] : wrong[0] + 2])
        raise InputError(
            f"cluster {number}: sample (shard, row) {before} and then {after}; give the parts "
            "of one corpus in the order of their shards, each once, as they were assigned"
        )


def _read_again(read: Read, number: int) -> Iterator[Float16[np.ndarray, "_ d"]]:
    only = range(number, number + 1)
    return _joined(run.vectors for part in read(only) for run in _runs(part, only))


def _joined(
    blocks: Iterable[Float16[np.ndarray, "_ d"]],
) -> Iterator[Float16[np.ndarray, "_ d"]]:
    """Join neighbouring blocks up to JOINED_ROWS rows, as many parts give few rows each."""
    waiting: list[np.ndarray] = []
    held = 0
    for block in blocks:
        waiting.append(block)
        held += len(block)
        if held >= JOINED_ROWS:
            yield np.concatenate(waiting)
            waiting, held = [], 0
    if waiting:
        yield np.concatenate(waiting)
