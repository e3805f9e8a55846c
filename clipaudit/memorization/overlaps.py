"""Find overlaps, samples that duplicate an attacked record, over all pairs.

Jayaraman et al., 2024 (App. C): https://arxiv.org/abs/2402.02103: a sample in both A and B, or also
in the public set, spoils the comparison of the models. Two records that duplicate each other are
both removed, in any sets: so A, B and the hold-out lose the same kinds of records, and membership
may be redrawn by lot among the rest. A public sample that duplicates a record is removed. So one
check of all pairs finds all samples to remove, and a second one finds none.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Int64

from clipaudit.corpora.addresses import sample_addresses, shards_and_rows
from clipaudit.corpora.vectors import embedding_array, in_blocks
from clipaudit.memorization.allotment import SETS
from clipaudit.memorization.fixed import RECORD_SETS
from clipaudit.neighbors.backends import BLOCK_ROWS
from clipaudit.neighbors.interface import Queries, Search

HOWS = ("uid", "caption", "near duplicate")

# At most one row for each sample and `how`, by (shard, row), then in the order of HOWS.
OVERLAPS = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("set", pa.string(), nullable=False),  # one of SETS
        pa.field("how", pa.string(), nullable=False),  # one of HOWS
        # the record that it duplicates, in one of RECORD_SETS
        pa.field("other_corpus", pa.string(), nullable=False),
        pa.field("other_shard", pa.int32(), nullable=False),
        pa.field("other_row", pa.int32(), nullable=False),
        pa.field("other_set", pa.string(), nullable=False),
        pa.field("similarity", pa.float64()),  # of a near duplicate; null for the others
    ]
)


def shared_keys(own: pa.Table, others: Iterable[tuple[str, pa.Table]], *, corpus: str) -> pa.Table:
    """Return the OVERLAPS of the samples `own` of a corpus by uid and by caption.

    `own` and the tables of `others`, each with its corpus's name, have the columns shard, row, set,
    uid and caption; a null caption matches nothing. The record that a row names is the lowest by
    set, then corpus name, then (shard, row), and never the sample itself. Rows and tables may be in
    any order, `own` may be among the others, and tables are held one at a time; without tables
    there are no rows.
    """
    own = _by_address(own)
    addresses = sample_addresses(own)
    firsts = {how: _Witnesses(len(own), ("set", "corpus", "address")) for how in HOWS[:2]}
    for other, table in others:
        records = table.filter(pc.is_in(table["set"], pa.array(RECORD_SETS)))
        for how, first in firsts.items():
            _offer_keys(
                first, own[how], addresses if other == corpus else None, other, records, how
            )
    found = []
    for how, first in firsts.items():
        shared = np.flatnonzero(first.held["address"] >= 0)
        found.append(_overlaps(own, shared, how, first))
    return _in_order(found)


def near_duplicates(
    own: pa.Table,
    others: Iterable[tuple[str, str, Iterable[pa.Table | pa.RecordBatch]]],
    *,
    corpus: str,
    distance: float,
    start: Callable[[Queries], Search],
    block_rows: int = BLOCK_ROWS,
) -> pa.Table:
    """Return the OVERLAPS of the samples `own` of a corpus by similarity.

    Near means 1 - similarity < `distance`. `own` are EMBEDDINGS with a column `set`. Each entry of
    `others` is a corpus's name, one of RECORD_SETS, and the EMBEDDINGS of that corpus's records in
    the set, in blocks. Few entries of many rows are faster than many of few. A row names the most
    similar record, except the sample itself; in a tie the lowest by (shard, row), set and corpus
    name. `start` starts a search for the two nearest to each query. Results do not depend on the
    order of rows, blocks and entries, or on how the search runs. Without samples or others there
    are no rows.
    """
    own = _by_address(own)
    addresses = sample_addresses(own)
    vectors = embedding_array(own, "members of sets")
    nearest = _Witnesses(len(own), ("falling", "address", "set", "corpus"))
    slots = np.arange(len(own))
    for other, name, blocks in others:
        if not len(own):
            break
        engine = start(Queries(vectors, (0, len(own)), addresses))
        for block in in_blocks(blocks, block_rows):
            engine.rows(sample_addresses(block), embedding_array(block, f"{other}, set {name}"))
        top = engine.top()
        itself = (top.address[:, 0] == addresses) if other == corpus else np.zeros(len(own), bool)
        place = itself.astype(np.int64)
        offer: dict[str, np.ndarray | int] = {
            "falling": -top.similarity[slots, place],
            "address": top.address[slots, place],
            "set": SETS.index(name),
        }
        nearest.offer(slots, other, offer)
    near = np.flatnonzero(1 + nearest.held["falling"] < distance)
    return _in_order([_overlaps(own, near, HOWS[2], nearest)])


class _Witnesses:
    """The first offered sample of each of n slots, by the columns that `order` names."""

    def __init__(self, n: int, order: Sequence[str]) -> None:
        self._order = order
        self.corpora: list[str] = []
        self.held: dict[str, np.ndarray] = {
            "set": np.full(n, len(SETS)),  # after all sets: no sample yet
            "corpus": np.zeros(n, dtype=np.int64),  # place in `corpora`
            "address": np.full(n, -1, dtype=np.int64),
            "falling": np.full(n, np.inf),  # minus the similarity
        }

    def offer(
        self, slots: Int64[np.ndarray, " m"], corpus: str, columns: Mapping[str, np.ndarray | int]
    ) -> None:
        """Let one sample of a corpus compete for each slot; no slot comes twice."""
        if corpus not in self.corpora:
            self.corpora.append(corpus)
        offered = dict(columns) | {"corpus": self.corpora.index(corpus)}
        ranks = np.argsort(np.argsort(np.array(self.corpora)))  # of the names
        first = np.zeros(len(slots), dtype=bool)
        equal = np.ones(len(slots), dtype=bool)
        for name in self._order:
            new, old = offered[name], self.held[name][slots]
            if name == "corpus":
                new, old = ranks[new], ranks[old]
            first |= equal & (new < old)
            equal &= new == old
        for name, values in offered.items():
            self.held[name][slots[first]] = np.broadcast_to(values, len(slots))[first]


def _offer_keys(
    first: _Witnesses,
    keys: pa.ChunkedArray,
    own: Int64[np.ndarray, " n"] | None,
    corpus: str,
    records: pa.Table,
    how: str,
) -> None:
    """Offer each key's lowest record of a table, by set, then by address.

    `own` are the addresses of the keys' samples if the table is of their corpus.
    """
    known = records[how].unique().drop_null()
    code = pc.index_in(records[how], value_set=known).combine_chunks()
    records = records.filter(code.is_valid())
    codes = code.drop_null().to_numpy().astype(np.int64)
    sets, addresses = _set_numbers(records), sample_addresses(records)
    order = np.lexsort((addresses, sets, codes))
    codes, sets, addresses = codes[order], sets[order], addresses[order]
    wanted = pc.index_in(keys, value_set=known).combine_chunks()
    slots = np.flatnonzero(wanted.is_valid().to_numpy(False))
    asked = wanted.drop_null().to_numpy().astype(np.int64)
    place = np.searchsorted(codes, asked)  # each key that is asked for has a record
    if own is not None:
        place += addresses[place] == own[slots]  # the next one, if that is the sample itself
    there = place < len(codes)
    there[there] = codes[place[there]] == asked[there]
    slots, place = slots[there], place[there]
    first.offer(slots, corpus, {"set": sets[place], "address": addresses[place]})


def _overlaps(
    own: pa.Table, rows: Int64[np.ndarray, " m"], how: str, witnesses: _Witnesses
) -> pa.Table:
    """Return the OVERLAPS of some rows of `own`, whose witnesses are in the same slots."""
    held = {name: values[rows] for name, values in witnesses.held.items()}
    leaving = own.select(["shard", "row", "set"]).take(rows)
    similarity = -held["falling"]
    shard, row = shards_and_rows(held["address"])
    columns = {
        **{name: leaving[name] for name in leaving.column_names},
        "how": pa.repeat(how, len(rows)),
        "other_corpus": pa.array(witnesses.corpora, pa.string()).take(pa.array(held["corpus"])),
        "other_shard": shard,
        "other_row": row,
        "other_set": pa.array(SETS).take(pa.array(held["set"])),
        "similarity": pa.array(similarity, mask=np.isinf(similarity)),
    }
    return pa.table(columns, schema=OVERLAPS)


def _in_order(found: Sequence[pa.Table]) -> pa.Table:
    joined = pa.concat_tables(found)
    return joined.take(np.argsort(sample_addresses(joined), kind="stable"))


def _by_address(own: pa.Table) -> pa.Table:
    return own.take(np.argsort(sample_addresses(own)))


def _set_numbers(table: pa.Table) -> Int64[np.ndarray, " n"]:
    numbers = pc.index_in(table["set"], value_set=pa.array(SETS))
    assert numbers.null_count == 0, "a set that is none of SETS"
    sets: np.ndarray = numbers.to_numpy().astype(np.int64)
    return sets
