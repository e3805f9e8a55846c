"""Measure how often the audit claims memorization that does not exist, by simulated models.

Run as `python -m clipaudit.memorization.false_alarms [RUNS]`. Recalls of models of several seeds
are drawn at random: each record has a difficulty, each model a skill, and a model may recall more
of its training records. Every claim is a 95 % interval or a rate of 5 %, so it may be wrong in one
of twenty runs.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from jaxtyping import Int64

from clipaudit.corpora.addresses import shards_and_rows
from clipaudit.memorization.ensemble_gaps import ensemble_gaps
from clipaudit.memorization.ensemble_records import ensemble_records
from clipaudit.memorization.ensembles import EnsemblePart, SeedPart
from clipaudit.memorization.fixed import RECORD_SETS
from clipaudit.memorization.gaps import CONTROL, population_gaps
from clipaudit.memorization.pairs import pair_up
from clipaudit.memorization.recall import RECALLS
from clipaudit.plaindata import Row

TRUTHS = 3  # objects of an image
K = 10
_SOURCE = "simulated"


@dataclass(frozen=True)
class World:
    """The parameters of the simulated models."""

    seeds: int = 4
    records: int = 300
    memorized: float = 0.0  # recalled more of records that a model was trained on
    ahead: float = 0.0  # recalled more of every record by A's models
    one_cut: bool = False  # the same sets under all seeds
    baseline: "World | None" = field(default=None, repr=False)  # to compare with, on the same cuts


def simulated(generator: np.random.Generator, world: World) -> EnsemblePart:
    """Return the recalls of each seed's models for one source's records, split into three sets."""
    easy = generator.uniform(0.2, 0.6, world.records)
    first = generator.permutation(world.records) % len(RECORD_SETS)
    parts = []
    for _ in range(world.seeds):
        sets = first if world.one_cut else generator.permutation(world.records) % len(RECORD_SETS)
        kept = {name: _kept(sets == place) for place, name in enumerate(RECORD_SETS)}
        models = _models(generator, world, easy, sets)
        base = _models(generator, world.baseline, easy, sets) if world.baseline else None
        parts.append(SeedPart(*models, kept, base))
    return EnsemblePart(_SOURCE, parts)


def _models(
    generator: np.random.Generator, world: World, easy: np.ndarray, sets: Int64[np.ndarray, " n"]
) -> tuple[pa.Table, pa.Table]:
    """Return the RECALLS of a model of A and of a model of B."""
    tables = []
    for own, skill in ((0, world.ahead), (1, 0.0)):
        chance = easy + skill + generator.normal(0, 0.05) + world.memorized * (sets == own)
        tables.append(recalls(generator.binomial(TRUTHS, chance.clip(0, 1))))
    return tables[0], tables[1]


def recalls(correct: Int64[np.ndarray, " n"]) -> pa.Table:
    """Return the RECALLS of a model that finds these numbers of labels, and two wrong ones."""
    n = len(correct)
    shard, row = shards_and_rows(np.arange(n))
    columns = {
        "shard": shard,
        "row": row,
        "k": np.full(n, K),
        "similarity": np.full(n, 0.5),
        "truths": np.full(n, TRUTHS),
        "predicted": correct + 2,
        "correct": correct,
        "top_predicted": correct + 2,
        "top_correct": correct,
    }
    return pa.table(columns).cast(RECALLS)


def _kept(inside: np.ndarray) -> pa.Table:
    shard, row = shards_and_rows(np.arange(len(inside)))
    return pa.table({"shard": shard, "row": row, "kept": inside})


def claims(part: EnsemblePart, *, seed: int) -> dict[str, bool]:
    """Return, for each claim of a report, whether it is made about these models."""
    (first, *_) = part.seeds
    attacks = {}
    for attack, (own, other), name in (
        ("a", (first.recalls_a, first.recalls_b), "a"),
        ("b", (first.recalls_b, first.recalls_a), "b"),
        (CONTROL, (first.recalls_a, first.recalls_b), "holdout"),
    ):
        inside = first.kept[name]["kept"]
        attacks[attack] = {_SOURCE: pair_up(own.filter(inside), other.filter(inside))}
    alone = population_gaps(attacks, seed=seed).to_pylist()
    raw = population_gaps({CONTROL: attacks["a"]}, seed=seed).to_pylist()
    over = ensemble_gaps([part], [_SOURCE], neighbors=[K]).to_pylist()
    listed = ensemble_records(lambda: [part], [_SOURCE], neighbors=[K])
    made = {
        "one pair: A against B, unadjusted (not reported)": _excludes(raw, CONTROL),
        "one pair: A against B, net of the hold-out": _excludes(alone, "a", "net_low", "net_high"),
        "one pair: both directions": _excludes(alone, "mean"),
        "one pair: p below 0.05": _prg(alone, "mean")["p_value"] < 0.05,
        "over seeds: A against B, net of the hold-out": _excludes(over, "a"),
        "over seeds: both directions": _excludes(over, "mean"),
        "a record at a false-discovery rate of 5 %": bool(np.min(listed["q_value"]) <= 0.05),
    }
    if first.baseline:
        made["over seeds: less the default's"] = _excludes(
            over, "mean", "change_low", "change_high"
        )
    return made


def _prg(rows: Sequence[Row], target: str) -> Row:
    return next(row for row in rows if row["target"] == target and row["measure"] == "prg")


def _excludes(rows: Sequence[Row], target: str, low: str = "low", high: str = "high") -> bool:
    """Return whether the interval of a gap of recall excludes 0."""
    row = _prg(rows, target)
    return bool(row[low] > 0 or row[high] < 0)


def made_claims(world: World, runs: int) -> dict[str, float]:
    """Return the share of simulated runs in which each claim is made."""
    found: dict[str, int] = {}
    for run in range(runs):
        part = simulated(np.random.default_rng(run), world)
        for claim, is_made in claims(part, seed=run).items():
            found[claim] = found.get(claim, 0) + is_made
    return {claim: count / runs for claim, count in found.items()}


WORLDS: Mapping[str, World] = {
    "nothing is memorized": World(baseline=World()),
    "and A's models find more of everything": World(ahead=0.1, baseline=World(ahead=0.1)),
    "and every seed has one cut": World(one_cut=True, baseline=World(one_cut=True)),
    "memorized: 0.2 of the objects": World(memorized=0.2, baseline=World()),
}


def main(runs: int, write: Callable[[str], object]) -> None:
    """Write a Markdown table of the rate of each claim in each of WORLDS."""
    found = {name: made_claims(world, runs) for name, world in WORLDS.items()}
    write(f"| Claims made, % of {runs} runs | {' | '.join(found)} |\n")
    write(f"| :-- |{' --: |' * len(found)}\n")
    for claim in next(iter(found.values())):
        cells = " | ".join(f"{100 * each[claim]:.1f}" for each in found.values())
        write(f"| {claim} | {cells} |\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400, sys.stdout.write)
