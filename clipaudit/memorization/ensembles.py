"""Recalls of each record by pairs of models under several seeds, each with its own cut."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float64, Int8, Int64

from clipaudit.corpora.addresses import sample_addresses
from clipaudit.memorization.fixed import RECORD_SETS
from clipaudit.memorization.gaps import TERMS
from clipaudit.memorization.pairs import matched_recalls, one_by_one


@dataclass(frozen=True)
class SeedPart:
    """The recalls of a seed's two models for the records of a part, and the records' sets."""

    recalls_a: pa.Table  # RECALLS
    recalls_b: pa.Table
    kept: Mapping[str, pa.Table]  # MANIFEST rows of the RECORD_SETS that the source has
    # RECALLS of the models of A and of B to compare with, of the same cut
    baseline: tuple[pa.Table, pa.Table] | None = None


@dataclass(frozen=True)
class EnsemblePart:
    """A part of a source under each seed: at least one."""

    source: str
    seeds: Sequence[SeedPart]


@dataclass(frozen=True)
class Block:
    """The records of a part whose image has a label, by ascending address.

    `differences` are A's model minus B's, by measure: ppg, prg, aucg; `changes` are the same minus
    the baseline's. `truths` counts the labels of the record's own image, `correct` those of them
    that A's models recall, then those that B's do. `sets` are places in RECORD_SETS, -1 for none.
    """

    addresses: Int64[np.ndarray, " n"]
    sets: Int8[np.ndarray, "n seeds"]
    differences: Mapping[str, Float64[np.ndarray, "n seeds"]]
    changes: Mapping[str, Float64[np.ndarray, "n seeds"]] | None
    truths: Int64[np.ndarray, " n"]
    correct: tuple[Int64[np.ndarray, "n seeds"], Int64[np.ndarray, "n seeds"]]


def blocks(part: EnsemblePart, neighbors: Sequence[int]) -> Iterator[tuple[int, Block]]:
    """Yield the records of a part at each number of neighbours.

    Raises InputError as `matched_recalls`, and if two seeds were tested with different records.
    """
    for k in neighbors:
        pairs = [_matched(seed.recalls_a, seed.recalls_b, k) for seed in part.seeds]
        first = pairs[0][0]
        for other, _ in pairs[1:]:
            matched_recalls(first, other)
        labelled = np.asarray(first["truths"]) > 0
        addresses = sample_addresses(first)[labelled]
        kept = [one_by_one(*pair).evaluated() for pair in pairs]
        differences = {
            name: np.stack([terms(each) for each in kept], axis=1) for name, terms in TERMS.items()
        }
        changes = None
        if all(seed.baseline for seed in part.seeds):
            bases = [
                one_by_one(*_matched(*seed.baseline, k)).evaluated()
                for seed in part.seeds
                if seed.baseline
            ]
            changes = {
                name: differences[name] - np.stack([terms(each) for each in bases], axis=1)
                for name, terms in TERMS.items()
            }
        correct = (
            np.stack([each.target_correct for each in kept], axis=1),
            np.stack([each.reference_correct for each in kept], axis=1),
        )
        sets = np.stack([_sets(addresses, seed.kept) for seed in part.seeds], axis=1)
        yield k, Block(addresses, sets, differences, changes, kept[0].truths, correct)


def _matched(a: pa.Table, b: pa.Table, k: int) -> tuple[pa.Table, pa.Table]:
    return matched_recalls(*(table.filter(pc.equal(table["k"], k)) for table in (a, b)))


def _sets(
    addresses: Int64[np.ndarray, " n"], kept: Mapping[str, pa.Table]
) -> Int8[np.ndarray, " n"]:
    """Return the set of each record."""
    sets = np.full(len(addresses), -1, dtype=np.int8)
    for place, name in enumerate(RECORD_SETS):
        if name in kept:
            inside = kept[name].filter(kept[name]["kept"])
            sets[np.isin(addresses, sample_addresses(inside))] = place
    return sets
