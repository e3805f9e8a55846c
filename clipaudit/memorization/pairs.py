"""Two models' recalls of the same records, side by side."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Int, Int64

from clipaudit.corpora.addresses import sample_addresses, shard_row
from clipaudit.errors import InputError


@dataclass(frozen=True, eq=False)
class Pairs:
    """What two models recalled of the same records: numbers of labels, in one order of records."""

    truths: Int64[np.ndarray, " n"]
    target_correct: Int64[np.ndarray, " n"]
    target_predicted: Int64[np.ndarray, " n"]
    reference_correct: Int64[np.ndarray, " n"]
    reference_predicted: Int64[np.ndarray, " n"]

    def evaluated(self) -> "Pairs":
        """Return the records whose picture has a label."""
        kept = self.truths > 0
        return Pairs(*(column[kept] for column in vars(self).values()))


def pair_up(target: pa.Table, reference: pa.Table) -> Pairs:
    """Return two models' RECALLS of one k as pairs, by (shard, row), whatever their orders.

    Raise InputError unless both are of the same records, once each, with the same k and truths.
    """
    left, right = matched_recalls(target, reference)
    both = [left["truths"]]
    both += [table[name] for table in (left, right) for name in ("correct", "predicted")]
    return Pairs(*(column.to_numpy().astype(np.int64) for column in both))


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


def mean_ratio(numerators: Int[np.ndarray, " n"], denominators: Int[np.ndarray, " n"]) -> Fraction:
    """Return the exact mean of numerators / denominators, 0 of none.

    >>> mean_ratio(np.array([1, 1, -1]), np.array([2, 3, 2]))
    Fraction(1, 9)
    """
    distinct, place = np.unique(denominators, return_inverse=True)
    sums = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(sums, place, numerators)
    total = sum(
        (Fraction(*pair) for pair in zip(sums.tolist(), distinct.tolist(), strict=True)),
        Fraction(0),
    )
    return total / max(len(numerators), 1)
