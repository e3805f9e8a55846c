"""All metrics of two models, one trained on A and one on B, over the records of all sources.

A model's own training set is attacked with the other model as the reference. The published code
attacks A alone; here B is attacked as well, and the hold-out, which neither model was trained on:
there nothing is to be found.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clipaudit.corpora.splits import select_rows
from clipaudit.memorization.gaps import GAPS, SURVIVAL, population_gaps, survival
from clipaudit.memorization.pairs import pair_up
from clipaudit.memorization.sample_gaps import SAMPLE_GAPS, sample_gaps

CONTROL = "control"  # the hold-out, attacked as if it were A
_K = pa.field("k", pa.int32(), nullable=False)  # neighbours of a caption
_ATTACK = pa.field("attack", pa.string(), nullable=False)  # a, b or control, as `target` in GAPS

GAPS_BY_K = pa.schema([_K, *GAPS])
SURVIVAL_BY_K = pa.schema([_K, _ATTACK, *SURVIVAL])
SAMPLE_GAPS_BY_K = pa.schema([_K, _ATTACK, *SAMPLE_GAPS])

# a table of rows with (shard, row), by the name of the source that they are of
BySource = Iterable[tuple[str, pa.Table]]


@dataclass(frozen=True)
class Measures:
    """The tables of one point: GAPS_BY_K, SURVIVAL_BY_K, SAMPLE_GAPS_BY_K."""

    gaps: pa.Table
    survival: pa.Table
    sample_gaps: pa.Table


def measure(
    recalls: Mapping[str, pa.Table],
    kept: Mapping[str, pa.Table],
    samples: pa.Table,
    *,
    neighbors: Sequence[int],
    seed: int,
) -> Measures:
    """Return the metrics at each number of neighbours, in the order given.

    `recalls` are the RECALLS of the models `a` and `b` over all records, `kept` the MANIFEST rows
    of the records of `a`, `b` and, if there is one, of the `holdout`; `samples` has every record's
    uid. All name samples across sources: see `in_one_corpus`.
    """
    attacks = {"a": ("a", "b"), "b": ("b", "a")}  # the target model, the reference model
    if len(kept.get("holdout", ())):
        attacks[CONTROL] = ("a", "b")
    gaps, curves, exposed = [], [], []
    for k in neighbors:
        of_k = {model: table.filter(pc.equal(table["k"], k)) for model, table in recalls.items()}
        both = {
            name: (
                select_rows(of_k[target], _records(kept, name)),
                select_rows(of_k[reference], _records(kept, name)),
            )
            for name, (target, reference) in attacks.items()
        }
        pairs = {name: pair_up(*tables) for name, tables in both.items()}
        gaps.append(_with(population_gaps(pairs, seed=seed), GAPS_BY_K, k=k))
        for name in pairs:
            curves.append(_with(survival(pairs[name]), SURVIVAL_BY_K, k=k, attack=name))
            target, reference = both[name]
            found = sample_gaps(target, reference, samples)
            exposed.append(_with(found, SAMPLE_GAPS_BY_K, k=k, attack=name))
    return Measures(*(pa.concat_tables(tables) for tables in (gaps, curves, exposed)))


def in_one_corpus(tables: BySource, shards: Mapping[str, int]) -> pa.Table:
    """Return the rows of several sources as those of one corpus: their shards counted on.

    `shards` says how many each source has, in their order; the order of the tables stays.

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


def _records(kept: Mapping[str, pa.Table], attack: str) -> pa.Table:
    manifest = kept["holdout" if attack == CONTROL else attack]
    return manifest.filter(manifest["kept"])


def _with(table: pa.Table, schema: pa.Schema, **columns: int | str) -> pa.Table:
    """Return the table with constant columns, in the schema's order."""
    for name, value in columns.items():
        constant = pa.repeat(pa.scalar(value, schema.field(name).type), len(table))
        table = table.append_column(schema.field(name), constant)
    return table.select(schema.names).cast(schema)
