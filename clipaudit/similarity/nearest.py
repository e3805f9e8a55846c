"""Finds each train sample's nearest test sample and each test sample's nearest train samples.

Mayilvahanan et al., ICLR 2024: https://arxiv.org/abs/2310.09562 (Sections 3 and 4.4, Appendix F).
Differences: similarity is the cosine of the stored float16 embeddings, the same number on every
machine, and every pair is tested against the gap; the published code tests only the nearest
thousands of each query.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float64, Int, Int64

from clipaudit.corpora.addresses import sample_addresses, shard_row, shards_and_rows
from clipaudit.corpora.vectors import embedding_array, in_blocks
from clipaudit.errors import InputError
from clipaudit.neighbors.backends import BLOCK_ROWS
from clipaudit.neighbors.interface import Queries, RowBest, Search

_TESTSET = pa.dictionary(pa.int32(), pa.string())

# One row per (train sample, test set), by (shard, row), then in the order of the test sets.
SIMILARITIES = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("testset", _TESTSET, nullable=False),
        # to the most similar test sample of the set, the lowest (test_shard, test_row) in a tie
        pa.field("similarity", pa.float64(), nullable=False),
        pa.field("test_shard", pa.int32(), nullable=False),
        pa.field("test_row", pa.int32(), nullable=False),
        # to the test sample t with the largest similarity - gap among those with similarity > gap,
        # or > gap + margin if a margin below 0 was given; null if there is none, or no gaps were
        # given
        pa.field("gap_similarity", pa.float64()),
        pa.field("gap", pa.float64()),
        pa.field("gap_test_shard", pa.int32()),
        pa.field("gap_test_row", pa.int32()),
    ]
)

# One row per (test sample, rank): its k most similar train samples, or all when there are fewer.
NEIGHBORS = pa.schema(
    [
        pa.field("testset", _TESTSET, nullable=False),
        pa.field("test_shard", pa.int32(), nullable=False),
        pa.field("test_row", pa.int32(), nullable=False),
        pa.field("rank", pa.int32(), nullable=False),  # 0: the most similar
        pa.field("similarity", pa.float64(), nullable=False),
        pa.field("shard", pa.int32(), nullable=False),  # the lowest (shard, row) in a tie
        pa.field("row", pa.int32(), nullable=False),
    ]
)


@dataclass(frozen=True, eq=False)
class QuerySets:
    """The names of the test sets, in the order of the configuration, and all their samples."""

    names: tuple[str, ...]
    queries: Queries
    gaps: Float64[np.ndarray, " q"] | None = None  # of the queries, without a margin


def query_sets(
    embeddings: Mapping[str, pa.Table], gaps: pa.Table | None = None, *, margin: float = 0.0
) -> QuerySets:
    """Return the EMBEDDINGS of all test sets side by side, in the order of the mapping.

    `gaps` is a NEIGHBORS table of these test sets against the small train set: a test sample's gap
    is its similarity at rank 0, and -inf if it has no neighbour. Other ranks and other test sets
    are not read. Raises InputError for a gap of a test sample that is not among the embeddings.

    With a `margin`, a multiple of 2^-40 from -0.25 to 0, pairs cross from gap + margin on, so that
    more are found. The pairs beyond the gap itself are the same as without a margin, since nothing
    is rounded if similarity and gap are 0.25 or more; below, equal pairs may differ by a last bit.
    """
    if not embeddings:
        raise InputError("nearest: no test set was given; name one or more in the configuration")
    vectors = [embedding_array(table, f"test set {name}") for name, table in embeddings.items()]
    if len({part.shape[1] for part in vectors}) > 1:
        found = {name: part.shape[1] for name, part in zip(embeddings, vectors, strict=True)}
        raise InputError(f"test sets of different dimensions {found}: use one encoder for all")
    addresses = [sample_addresses(table) for table in embeddings.values()]
    starts = (0, *(int(end) for end in np.cumsum([len(part) for part in addresses])))
    joined = None
    if gaps is not None:
        nearest = _plain(gaps.filter(pc.equal(gaps["rank"], 0)))
        pairs = zip(embeddings, addresses, strict=True)
        joined = np.concatenate([_align_gaps(name, part, nearest) for name, part in pairs])
    shifted = None if joined is None else _shifted(joined, margin)
    queries = Queries(np.concatenate(vectors), starts, np.concatenate(addresses), shifted)
    return QuerySets(tuple(embeddings), queries, joined)


class PartSearch:
    """One pass over a part of a train corpus: SIMILARITIES while it runs, NEIGHBORS at its end."""

    def __init__(self, sets: QuerySets, engine: Search, *, block_rows: int = BLOCK_ROWS) -> None:
        """Start before the first sample: `engine` searches for the queries of `sets`.

        Only its number k of neighbours affects the tables; `block_rows` does not.
        """
        self._sets = sets
        self._block_rows = block_rows
        self._last = -1  # the highest address so far
        self._search = engine

    def similarities(self, blocks: Iterable[pa.Table | pa.RecordBatch]) -> Iterator[pa.Table]:
        """Yield the SIMILARITIES of EMBEDDINGS in blocks, sorted by (shard, row).

        The joined tables do not depend on how the rows are split into blocks. A test set without
        samples has no rows. Empty blocks are allowed; samples out of order raise InputError.
        """
        for block in in_blocks(blocks, self._block_rows):
            addresses = sample_addresses(block)
            self._check_order(addresses)
            best = self._search.rows(addresses, embedding_array(block, "train block"))
            yield _similarities(self._sets, addresses, best)

    def remember(self, blocks: Iterable[pa.Table | pa.RecordBatch]) -> None:
        """Search EMBEDDINGS, given as for `similarities`, for NEIGHBORS only."""
        for _ in self.similarities(blocks):
            pass

    def neighbors(self) -> pa.Table:
        """Return the NEIGHBORS among all samples so far, by test set, test sample and rank."""
        top = self._search.top()
        sets = np.repeat(np.arange(len(self._sets.names)), np.diff(self._sets.queries.starts))
        query, rank = np.nonzero(top.address >= 0)
        return _neighbors(
            self._sets.names,
            sets[query],
            self._sets.queries.addresses[query],
            rank,
            top.similarity[query, rank],
            top.address[query, rank],
        )

    def _check_order(self, addresses: Int64[np.ndarray, " n"]) -> None:
        wrong = np.flatnonzero(np.diff(addresses, prepend=self._last) <= 0)
        if len(wrong):
            place = int(wrong[0])
            before = addresses[place - 1] if place else self._last
            raise InputError(
                f"train samples (shard, row) {shard_row(int(before))} and then "
                f"{shard_row(int(addresses[place]))}: embeddings must be sorted by (shard, row) "
                "without repetition"
            )
        self._last = int(addresses[-1]) if len(addresses) else self._last


def merge_neighbors(tables: Iterable[pa.Table], k: int, testsets: Sequence[str]) -> pa.Table:
    """Return the NEIGHBORS of several parts as one, k for each test sample.

    Merging is associative and independent of the tables' order, if each was searched with at least
    k and no train sample is in two of them; ties go to the lowest (shard, row). `testsets` gives
    the order of the test sets in the result and must name all that occur. Tables are read once.
    Memory holds the merged table, one table, and at most as many waiting rows as both have. Without
    tables there are no rows.
    """
    names = tuple(testsets)
    merged, waiting, held = NEIGHBORS.empty_table(), list[pa.Table](), 0
    for table in tables:
        waiting.append(_that_may_count(_plain(table), merged, k, names))
        held += len(waiting[-1])
        if held > len(merged):  # sorting is slow, and most rows of later tables do not count
            merged = _best(pa.concat_tables([_plain(merged), *waiting]), k, names)
            waiting, held = [], 0
    return _best(pa.concat_tables([_plain(merged), *waiting]), k, names)


def _align_gaps(
    name: str, addresses: Int64[np.ndarray, " n"], nearest: pa.Table
) -> Float64[np.ndarray, " n"]:
    """Return one set's gaps in the order of its samples, -inf if a sample has none."""
    own = nearest.filter(pc.equal(nearest["testset"], name))
    given = sample_addresses(own, "test_shard", "test_row")
    strange = np.setdiff1d(given, addresses)
    if len(strange) or len(np.unique(given)) < len(given):
        what = (
            f"sample {shard_row(int(strange[0]))}, not embedded"
            if len(strange)
            else "a sample twice"
        )
        raise InputError(
            f"gaps of test set {name}: they name {what}; {len(given)} gaps for {len(addresses)} "
            "embeddings, so compute the gaps again from these embeddings"
        )
    gaps = np.full(len(addresses), -np.inf)
    order = np.argsort(addresses)
    gaps[order[np.searchsorted(addresses, given, sorter=order)]] = own["similarity"].to_numpy()
    return gaps


def _shifted(gaps: Float64[np.ndarray, " q"], margin: float) -> Float64[np.ndarray, " q"]:
    lowest = gaps.min(initial=np.inf, where=np.isfinite(gaps))
    if lowest + margin < -1:
        raise InputError(
            f"the lowest gap is {lowest:.4g}: with the margin {margin:.4g} it is below -1, the "
            f"lowest similarity. Give similarity.dose_response margins of {-1 - lowest:.4g} or up."
        )
    return gaps + margin


def _similarities(sets: QuerySets, addresses: Int64[np.ndarray, " n"], best: RowBest) -> pa.Table:
    filled = np.flatnonzero(np.diff(sets.queries.starts))  # sets with samples
    query = best.query[:, filled].ravel()
    similarity = best.similarity[:, filled].ravel()
    crossed = best.excess_query[:, filled].ravel()
    gaps = sets.gaps
    if gaps is None:
        gaps = np.full(len(sets.queries.addresses), np.nan)  # compares as no gap
    none = crossed < 0
    shard, row = shards_and_rows(np.repeat(addresses, len(filled)))
    test_shard, test_row = shards_and_rows(sets.queries.addresses[query])
    gap_shard, gap_row = shards_and_rows(sets.queries.addresses[crossed])
    columns = {
        "shard": shard,
        "row": row,
        "testset": _testset_column(sets.names, np.tile(filled, len(addresses))),
        "similarity": similarity,
        "test_shard": test_shard,
        "test_row": test_row,
        "gap_similarity": pa.array(best.excess_similarity[:, filled].ravel(), mask=none),
        "gap": pa.array(gaps[crossed], mask=none),
        "gap_test_shard": pa.array(gap_shard, mask=none),
        "gap_test_row": pa.array(gap_row, mask=none),
    }
    return pa.table(columns, schema=SIMILARITIES)


def _plain(neighbors: pa.Table) -> pa.Table:
    """Return the columns that merging reads, names as strings, as their dictionaries may differ."""
    names = ["testset", "test_shard", "test_row", "similarity", "shard", "row"]
    table = neighbors.select(names).replace_schema_metadata(None)
    return table.set_column(0, "testset", table["testset"].cast(pa.string()))


def _that_may_count(
    candidates: pa.Table, merged: pa.Table, k: int, names: tuple[str, ...]
) -> pa.Table:
    """Return the candidates except those that k samples of `merged` come before."""
    last = merged.filter(pc.equal(merged["rank"], k - 1))
    bounds = np.full(len(candidates), -np.inf)
    own = pc.index_in(candidates["testset"], pa.array(names, pa.string())).fill_null(-1).to_numpy()
    test = sample_addresses(candidates, "test_shard", "test_row")
    for number, name in enumerate(names):
        known = last.filter(pc.equal(last["testset"], name))
        if len(known):
            tests = sample_addresses(known, "test_shard", "test_row")  # ascending
            rows = np.flatnonzero(own == number)
            at = np.minimum(np.searchsorted(tests, test[rows]), len(tests) - 1)
            found = known["similarity"].to_numpy()[at]
            bounds[rows] = np.where(tests[at] == test[rows], found, -np.inf)
    return candidates.filter(pa.array(candidates["similarity"].to_numpy() >= bounds))


def _best(candidates: pa.Table, k: int, names: tuple[str, ...]) -> pa.Table:
    """Return the k best rows of each test sample, ranked again."""
    sets = pc.index_in(candidates["testset"], pa.array(names, pa.string()))
    if sets.null_count:
        strange = candidates.filter(pc.is_null(sets))["testset"][0].as_py()
        raise InputError(
            f"neighbors of test set {strange}: only {', '.join(names)} are in the configuration; "
            "merge tables of one configuration"
        )
    group = sets.to_numpy()
    test = sample_addresses(candidates, "test_shard", "test_row")
    similarity = candidates["similarity"].to_numpy()
    train = sample_addresses(candidates)
    order = np.lexsort((train, -similarity, test, group))
    group, test, similarity, train = group[order], test[order], similarity[order], train[order]
    first = np.append(True, (np.diff(group) != 0) | (np.diff(test) != 0))[: len(test)]
    index = np.arange(len(test))
    rank = index - np.maximum.accumulate(np.where(first, index, 0))
    kept = rank < k
    return _neighbors(names, group[kept], test[kept], rank[kept], similarity[kept], train[kept])


def _neighbors(
    names: tuple[str, ...],
    sets: Int[np.ndarray, " m"],
    test: Int64[np.ndarray, " m"],
    rank: Int64[np.ndarray, " m"],
    similarity: Float64[np.ndarray, " m"],
    train: Int64[np.ndarray, " m"],
) -> pa.Table:
    test_shard, test_row = shards_and_rows(test)
    shard, row = shards_and_rows(train)
    columns = {
        "testset": _testset_column(names, sets),
        "test_shard": test_shard,
        "test_row": test_row,
        "rank": rank.astype(np.int32),
        "similarity": similarity,
        "shard": shard,
        "row": row,
    }
    return pa.table(columns, schema=NEIGHBORS)


def _testset_column(names: tuple[str, ...], indices: Int[np.ndarray, " m"]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(
        pa.array(indices.astype(np.int32)), pa.array(names, pa.string())
    )
