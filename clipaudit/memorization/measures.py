"""Compute all metrics of two models, one trained on A and one on B, over all sources' records.

A model's own training set is attacked with the other model as the reference. The published code
attacks only A; here B is attacked too, and as a control the hold-out, which neither model was
trained on.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clipaudit.corpora.splits import select_rows
from clipaudit.memorization.gaps import CONTROL, GAPS, SURVIVAL, population_gaps, survival
from clipaudit.memorization.pairs import Pairs, pair_up
from clipaudit.memorization.sample_gaps import MOST_LISTED, SAMPLE_GAPS, FirstRecords
from clipaudit.store.actions import LabelledFile

# by attack: the target model, the reference model, and the set whose records are attacked
ATTACKS = {"a": ("a", "b", "a"), "b": ("b", "a", "b"), CONTROL: ("a", "b", "holdout")}
_K = pa.field("k", pa.int32(), nullable=False)  # neighbours of a caption
_ATTACK = pa.field("attack", pa.string(), nullable=False)  # a, b or control, as `target` in GAPS

GAPS_BY_K = pa.schema([_K, *GAPS])
SURVIVAL_BY_K = pa.schema([_K, _ATTACK, *SURVIVAL])
SAMPLE_GAPS_BY_K = pa.schema([_K, _ATTACK, *SAMPLE_GAPS])

# tables of rows with (shard, row), each with the name of its source
BySource = Iterable[tuple[str, pa.Table]]


@dataclass(frozen=True)
class AttackedPart:
    """The tables about the records of a part of a source; further records are ignored."""

    source: str
    recalls: Mapping[str, pa.Table]  # RECALLS of the models `a` and `b`
    kept: Mapping[str, pa.Table]  # MANIFEST rows of the sets a, b, holdout that the source has
    samples: pa.Table  # shard, row, uid


@dataclass(frozen=True)
class Measures:
    """The tables of one point: GAPS_BY_K, SURVIVAL_BY_K, SAMPLE_GAPS_BY_K."""

    gaps: pa.Table
    survival: pa.Table
    sample_gaps: pa.Table


def measure(
    parts: Iterable[AttackedPart],
    *,
    neighbors: Sequence[int],
    shards: Mapping[str, int],
    seed: int,
    listed: int = MOST_LISTED,
) -> Measures:
    """Return the metrics at each number of neighbours, in the order given.

    `shards` has the number of shards of each source, in order; this order breaks ties between
    records of several sources. Parts may be in any order and are held one at a time, with twice the
    `listed` first records of each attack, so memory grows only with the distinct outcomes. A set
    without records is not attacked.
    """
    found: dict[tuple[int, str], dict[str, Pairs]] = {}
    first: dict[tuple[int, str], FirstRecords] = {}
    for part in parts:
        samples = _of_source(part.source, shards, part.samples)
        for k in neighbors:
            for attack, (target, reference) in _attacks(part, k):
                pairs = found.setdefault((k, attack), {})
                own = pairs.get(part.source, Pairs.joined([]))
                pairs[part.source] = Pairs.joined([own, pair_up(target, reference)])
                place = partial(_of_source, part.source, shards)
                records = first.setdefault((k, attack), FirstRecords(listed))
                records.add(place(target), place(reference), samples)
    gaps, curves, exposed = [], [], []
    for k in neighbors:
        attacks = {name: found[k, name] for name in ATTACKS if (k, name) in found}
        ordered = {
            name: {source: pairs[source] for source in shards if source in pairs}
            for name, pairs in attacks.items()
        }
        gaps.append(_with(population_gaps(ordered, seed=seed), GAPS_BY_K, k=k))
        for name, pairs in ordered.items():
            curve = survival(Pairs.joined(pairs.values()))
            curves.append(_with(curve, SURVIVAL_BY_K, k=k, attack=name))
            exposed.append(_with(first[k, name].gaps(), SAMPLE_GAPS_BY_K, k=k, attack=name))
    return Measures(*(pa.concat_tables(tables) for tables in (gaps, curves, exposed)))


def _attacks(part: AttackedPart, k: int) -> Iterator[tuple[str, tuple[pa.Table, pa.Table]]]:
    """Yield the attacks on records of a part, each with the RECALLS of target and reference."""
    of_k = {model: table.filter(pc.equal(table["k"], k)) for model, table in part.recalls.items()}
    for attack, (target, reference, attacked) in ATTACKS.items():
        if attacked in part.kept:
            records = part.kept[attacked].filter(part.kept[attacked]["kept"])
            yield (
                attack,
                (select_rows(of_k[target], records), select_rows(of_k[reference], records)),
            )


def in_one_corpus(tables: BySource, shards: Mapping[str, int]) -> pa.Table:
    """Return the rows of several sources as those of one corpus, with shards numbered across them.

    `shards` has the number of shards of each source, in order; the tables keep their order.

    >>> rows = pa.table({"shard": pa.array([0], pa.int32()), "row": pa.array([7], pa.int32())})
    >>> in_one_corpus([("web", rows), ("coco", rows)], {"web": 5, "coco": 1})["shard"].to_pylist()
    [0, 5]
    """
    starts = dict(zip(shards, np.cumsum([0, *shards.values()]).tolist(), strict=False))
    moved = []
    for source, table in tables:
        place = table.column_names.index("shard")
        shard = pc.add(table["shard"], pa.scalar(starts[source], pa.int32()))
        moved.append(table.set_column(place, table.schema.field("shard"), shard))
    return pa.concat_tables(moved)


def read_in_one_corpus(files: Iterable[LabelledFile], shards: Mapping[str, int]) -> pa.Table:
    """Return the rows of files that have the label `source`, see `in_one_corpus`."""
    return in_one_corpus(((file.labels["source"], file.table()) for file in files), shards)


def kept_in_one_corpus(manifests: Iterable[LabelledFile], shards: Mapping[str, int]) -> pa.Table:
    """Return the rows that manifests keep, in their order, see `in_one_corpus`."""
    rows = in_one_corpus(((file.labels["corpus"], file.table()) for file in manifests), shards)
    return rows.filter(rows["kept"])


def _of_source(source: str, shards: Mapping[str, int], table: pa.Table) -> pa.Table:
    return in_one_corpus([(source, table)], shards)


def _with(table: pa.Table, schema: pa.Schema, **columns: int | str) -> pa.Table:
    """Return the table with constant columns, in the schema's order."""
    for name, value in columns.items():
        constant = pa.repeat(pa.scalar(value, schema.field(name).type), len(table))
        table = table.append_column(schema.field(name), constant)
    return table.select(schema.names).cast(schema)
