"""Count the outcomes of two models' recalls of the same records.

All metrics over records depend only on the number of records with each outcome. There are few
distinct outcomes, so counts stay small for any number of records.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from fractions import Fraction

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Int, Int64

from clipaudit.corpora.addresses import sample_addresses, shard_row
from clipaudit.errors import InputError


@dataclass(frozen=True, eq=False)
class Pairs:
    """Two models' recalls of the same records: each distinct outcome once, ascending.

    An outcome is the number of the image's labels, and each model's numbers of correct and of all
    predicted labels; `records` counts the records with it.
    """

    truths: Int64[np.ndarray, " outcomes"]
    target_correct: Int64[np.ndarray, " outcomes"]
    target_predicted: Int64[np.ndarray, " outcomes"]
    reference_correct: Int64[np.ndarray, " outcomes"]
    reference_predicted: Int64[np.ndarray, " outcomes"]
    records: Int64[np.ndarray, " outcomes"]

    @property
    def size(self) -> int:
        """The number of records."""
        return int(self.records.sum())

    def evaluated(self) -> "Pairs":
        """Return the records whose image has a label."""
        kept = self.truths > 0
        return Pairs(**{name: column[kept] for name, column in vars(self).items()})

    @staticmethod
    def joined(pieces: Iterable["Pairs"]) -> "Pairs":
        """Return the records of all pieces, in any order."""
        tables = [pa.table(vars(piece)) for piece in pieces]
        empty = pa.schema([pa.field(name, pa.int64()) for name in _COLUMNS]).empty_table()
        return _counted(pa.concat_tables([empty, *tables]))


_COLUMNS = [field.name for field in fields(Pairs)]


def pair_up(target: pa.Table, reference: pa.Table, *, top: bool = False) -> Pairs:
    """Return two models' RECALLS of one k as pairs, in any order.

    `top` counts only the top labels. Raises InputError unless both are of the same records, once
    each, with the same k and truths.
    """
    return outcomes(*matched_recalls(target, reference), top=top)


def outcomes(target: pa.Table, reference: pa.Table, *, top: bool = False) -> Pairs:
    """Return the RECALLS of `matched_recalls` as pairs."""
    names = [f"top_{name}" if top else name for name in ("correct", "predicted")]
    both = [target["truths"], *(table[name] for table in (target, reference) for name in names)]
    columns = dict(zip(_COLUMNS, [*both, np.ones(len(target), dtype=np.int64)], strict=True))
    return _counted(pa.table(columns))


def one_by_one(target: pa.Table, reference: pa.Table) -> Pairs:
    """Return the RECALLS of `matched_recalls` with one outcome per record, in their order."""
    names = ("correct", "predicted")
    both = [target["truths"], *(table[name] for table in (target, reference) for name in names)]
    columns = [column.to_numpy().astype(np.int64) for column in both]
    columns.append(np.ones(len(target), dtype=np.int64))
    return Pairs(*columns)


def _counted(rows: pa.Table) -> Pairs:
    """Return pairs from a table with their columns, in which outcomes may repeat."""
    *outcome, records = _COLUMNS
    summed = rows.group_by(outcome, use_threads=False).aggregate([(records, "sum")])
    summed = summed.rename_columns([*outcome, records]).sort_by(
        [(each, "ascending") for each in outcome]
    )
    return Pairs(*(summed[name].to_numpy().astype(np.int64) for name in _COLUMNS))


def matched_recalls(target: pa.Table, reference: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Return two RECALLS tables by rising address, checked to be of the same records."""
    left, right = (
        table.take(pa.array(np.argsort(sample_addresses(table), kind="stable")))
        for table in (target, reference)
    )
    here, there = sample_addresses(left), sample_addresses(right)
    first = _first_difference(here, there)
    if first is not None:
        raise InputError(
            f"recalls of {len(here)} records by the target model and of {len(there)} by the "
            f"reference model: only one holds the record (shard, row) {shard_row(first)}, or "
            "holds it more often; test both models with the same records and one k"
        )
    repeated = np.flatnonzero(np.diff(here) == 0)
    if len(repeated):
        raise InputError(
            f"recalls hold the record (shard, row) {shard_row(int(here[repeated[0]]))} twice; "
            "give the rows of one k"
        )
    for name in ("k", "truths"):
        own, other = left[name].to_numpy(), right[name].to_numpy()
        if not np.array_equal(own, other):
            at = int(np.argmax(own != other))
            raise InputError(
                f"recalls of the record (shard, row) {shard_row(int(here[at]))}: {name} is "
                f"{own[at]} for the target model and {other[at]} for the reference model; test "
                "both with the same k and labels"
            )
    return left, right


def _first_difference(here: Int64[np.ndarray, " n"], there: Int64[np.ndarray, " m"]) -> int | None:
    """Return the lowest address that two sorted arrays do not hold equally often."""
    shared = min(len(here), len(there))
    differs: Bool[np.ndarray, " shared"] = here[:shared] != there[:shared]
    if differs.any():
        at = int(differs.argmax())
        return min(int(here[at]), int(there[at]))
    longer = here if len(here) > shared else there
    return int(longer[shared]) if len(longer) > shared else None


def mean_ratio(
    numerators: Int[np.ndarray, " n"],
    denominators: Int[np.ndarray, " n"],
    records: Int[np.ndarray, " n"],
) -> Fraction:
    """Return the exact mean of numerators / denominators, each of `records` records; 0 without any.

    >>> mean_ratio(np.array([1, 1, -1]), np.array([2, 3, 2]), np.array([2, 1, 1]))
    Fraction(5, 24)
    """
    distinct, place = np.unique(denominators, return_inverse=True)
    sums = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(sums, place, numerators * records)
    total = sum(
        (Fraction(*pair) for pair in zip(sums.tolist(), distinct.tolist(), strict=True)),
        Fraction(0),
    )
    return total / max(int(records.sum()), 1)
