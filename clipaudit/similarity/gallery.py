"""Picks the images of a gallery: some test samples, and the nearest train samples of each.

Mayilvahanan et al., ICLR 2024: https://arxiv.org/abs/2310.09562 (Figures 1, 2 and 15 to 26,
Appendix G). Near duplicates among the neighbours of a test sample are left out, so that a row does
not repeat one image.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float16, Float64, Int64

from clipaudit.corpora.addresses import sample_addresses, shard_row, shards_and_rows
from clipaudit.corpora.places import places
from clipaudit.corpora.vectors import embedding_array
from clipaudit.errors import InputError
from clipaudit.neighbors.cosines import cosines
from clipaudit.plaindata import Row
from clipaudit.reports.gallery_options import NeighborOptions

# One row per neighbour shown, by (block, set_position, place).
GALLERY = pa.schema(
    [
        pa.field("block", pa.int32(), nullable=False),  # the test sample's place in the gallery
        pa.field("testset", pa.string(), nullable=False),
        pa.field("test_shard", pa.int32(), nullable=False),
        pa.field("test_row", pa.int32(), nullable=False),
        pa.field("set_position", pa.int32(), nullable=False),
        pa.field("set", pa.string(), nullable=False),  # the title of the searched set
        pa.field("corpus", pa.string(), nullable=False),
        pa.field("place", pa.int32(), nullable=False),  # 0: the most similar that is shown
        pa.field("rank", pa.int32(), nullable=False),  # among all neighbours
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("similarity", pa.float64(), nullable=False),
        # near duplicates of shown images, omitted between the previous image and this one
        pa.field("omitted_before", pa.int32(), nullable=False),
    ]
)


class Query(NamedTuple):
    """A test sample: its set, and its address as `sample_addresses` writes it."""

    testset: str
    address: int


@dataclass(frozen=True, eq=False)
class SearchedSet:
    """A set that was searched: its title, its corpus, and its NEIGHBORS of the test samples."""

    title: str
    corpus: str
    neighbors: pa.Table


# --- test samples --------------------------------------------------------------------------------


def pick_queries(
    first: pa.Table, testset: str, *, count: int, seed: int, nearer_than: pa.Table | None = None
) -> list[Query]:
    """Return `count` random test samples, or all of them if there are fewer.

    Candidates have a neighbour in `first`, NEIGHBORS. With `nearer_than`, also NEIGHBORS, they have
    neighbours in both and are strictly more similar to the nearest in `first` (Table 7's
    condition). The order is that of `places`, so a new candidate only displaces others.
    """
    addresses, similarities = _nearest(first, testset)
    if nearer_than is not None:
        others, limits = _nearest(nearer_than, testset)
        addresses, own, other = np.intersect1d(
            addresses, others, assume_unique=True, return_indices=True
        )
        addresses = addresses[similarities[own] > limits[other]]
    shard, row = shards_and_rows(addresses)
    order = np.argsort(places(shard, row, seed=seed))[:count]
    return [Query(testset, int(address)) for address in addresses[order]]


def pick_ladder(neighbors: pa.Table, testset: str, *, count: int) -> list[Query]:
    """Return `count` test samples from the least to the most similar to its nearest neighbour.

    They are the closest to evenly spaced similarities from the lowest to the highest, both
    included, each once; the lowest address wins a tie. If there are fewer, all are returned. The
    order is by similarity, then address.
    """
    addresses, similarities = _nearest(neighbors, testset)
    if len(addresses) == 0:
        return []
    free = np.ones(len(addresses), dtype=np.bool_)
    for step in np.linspace(similarities.min(), similarities.max(), min(count, len(addresses))):
        distance = np.where(free, np.abs(similarities - step), np.inf)
        free[distance.argmin()] = False  # argmin takes the first of equals
    chosen = np.flatnonzero(~free)
    order = chosen[np.lexsort((addresses[chosen], similarities[chosen]))]
    return [Query(testset, int(address)) for address in addresses[order]]


def queries_of(sets: Sequence[SearchedSet], options: NeighborOptions) -> list[Query]:
    """Return the test samples of a gallery, `count` of each test set in their order.

    A ladder takes `pick_ladder`'s in the first set, other galleries `pick_queries`'.
    """
    first, other = options.nearer or (0, None)
    near = sets[first].neighbors
    far = None if other is None else sets[other].neighbors
    count, seed = options.count, options.seed
    picked = [
        pick_ladder(near, each.corpus, count=count)
        if options.form == "ladder"
        else pick_queries(near, each.corpus, count=count, seed=seed, nearer_than=far)
        for each in options.testsets
    ]
    return [query for queries in picked for query in queries]


# --- neighbours ----------------------------------------------------------------------------------


def candidates(neighbors: pa.Table, queries: Iterable[Query]) -> list[pa.Table]:
    """Return the NEIGHBORS of each query, by rank; an empty table for a query without any."""
    tables = {}
    found = []
    for query in queries:
        if query.testset not in tables:
            tables[query.testset] = neighbors.filter(pc.equal(neighbors["testset"], query.testset))
        own = tables[query.testset]
        mine = sample_addresses(own, "test_shard", "test_row") == query.address
        found.append(own.filter(pa.array(mine)).sort_by("rank"))
    return found


def pick_vectors(
    batches: Iterable[pa.Table | pa.RecordBatch], addresses: Iterable[int]
) -> dict[int, Float16[np.ndarray, " d"]]:
    """Return the embeddings of some samples by address; raise InputError if one is missing.

    `batches` of EMBEDDINGS are read once and never held together.
    """
    wanted = np.unique(np.fromiter(addresses, dtype=np.int64))
    found = {}
    for batch in batches:
        given = sample_addresses(batch)
        (rows,) = np.nonzero(np.isin(given, wanted))
        if len(rows):
            vectors = embedding_array(batch, "embeddings of a gallery")
            found.update({int(given[row]): vectors[row].copy() for row in rows})
    missing = np.setdiff1d(wanted, np.fromiter(found, dtype=np.int64))
    if len(missing):
        raise InputError(
            f"gallery: {len(missing)} of {len(wanted)} neighbours have no embedding, the first is "
            f"(shard, row) {shard_row(int(missing[0]))}; the neighbours come from other "
            "embeddings, so run the search again"
        )
    return found


def pick_neighbors(
    neighbors: pa.Table,
    vectors: Mapping[int, Float16[np.ndarray, " d"]],
    *,
    columns: int,
    near_duplicate_distance: float,
) -> list[Row]:
    """Return up to `columns` neighbours of one test sample, the most similar first.

    `neighbors` are its NEIGHBORS by rank; the result has rows of it, with their `place` and
    `omitted_before` as in GALLERY. A neighbour is left out if 1 - its similarity to a shown one is
    below `near_duplicate_distance`; similarities are those of `vectors`, by address.
    """
    shown: list[Row] = []
    kept: list[Float16[np.ndarray, " d"]] = []
    omitted = 0
    addresses = sample_addresses(neighbors).tolist()
    for row, address in zip(neighbors.to_pylist(), addresses, strict=True):
        if len(shown) == columns:
            break
        vector = vectors[address]
        if kept and (1 - cosines(vector[None], np.array(kept)) < near_duplicate_distance).any():
            omitted += 1
            continue
        shown.append({**row, "place": len(shown), "omitted_before": omitted})
        kept.append(vector)
        omitted = 0
    return shown


# --- the gallery ---------------------------------------------------------------------------------


def neighbor_addresses(
    sets: Sequence[SearchedSet], queries: Sequence[Query]
) -> dict[str, set[int]]:
    """Return the addresses of all neighbours of the queries, by corpus."""
    found: dict[str, set[int]] = {each.corpus: set() for each in sets}
    for each in sets:
        for table in candidates(each.neighbors, queries):
            found[each.corpus].update(sample_addresses(table).tolist())
    return found


def gallery(
    queries: Sequence[Query],
    sets: Sequence[SearchedSet],
    vectors: Mapping[str, Mapping[int, Float16[np.ndarray, " d"]]],
    options: NeighborOptions,
    near_duplicate_distance: float,
) -> pa.Table:
    """Return GALLERY: up to `columns` neighbours of each query in each set, as `pick_neighbors`.

    `vectors` are the embeddings of `neighbor_addresses`, by corpus. A query without neighbours in
    a set has no rows there.
    """
    rows = [
        {**row, "block": block, "set_position": position, "set": each.title, "corpus": each.corpus}
        for position, each in enumerate(sets)
        for block, own in enumerate(candidates(each.neighbors, queries))
        for row in pick_neighbors(
            own,
            vectors[each.corpus],
            columns=options.columns,
            near_duplicate_distance=near_duplicate_distance,
        )
    ]
    rows.sort(key=itemgetter("block", "set_position", "place"))
    return pa.Table.from_pylist(rows, GALLERY)


def gallery_addresses(table: pa.Table) -> dict[str, set[int]]:
    """Return the addresses of all images of a GALLERY, by test set and corpus."""
    found: dict[str, set[int]] = {}
    for name, shard, row in (("testset", "test_shard", "test_row"), ("corpus", "shard", "row")):
        addresses = sample_addresses(table, shard, row).tolist()
        for corpus, address in zip(table[name].to_pylist(), addresses, strict=True):
            found.setdefault(corpus, set()).add(address)
    return found


def _nearest(
    neighbors: pa.Table, testset: str
) -> tuple[Int64[np.ndarray, " n"], Float64[np.ndarray, " n"]]:
    """Return the test samples of a set that have a neighbour, ascending, and their similarities."""
    best = neighbors.filter(
        pc.and_(pc.equal(neighbors["testset"], testset), pc.equal(neighbors["rank"], 0))
    )
    addresses = sample_addresses(best, "test_shard", "test_row")
    order = np.argsort(addresses)
    return addresses[order], best["similarity"].to_numpy()[order]
