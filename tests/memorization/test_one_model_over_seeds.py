import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from clipaudit.memorization.one_model import ONE_MODEL, one_model
from clipaudit.memorization.one_model_over_seeds import (
    ONE_MODEL_OVER_SEEDS,
    one_model_over_seeds,
)
from clipaudit.memorization.recall import RECALLS


def model(value, *, low=None, high=None, part="net"):
    """ONE_MODEL of one seed with one row."""
    row = (10, "words", "aucg", part, 170, value, low, high)
    return pa.Table.from_pylist([dict(zip(ONE_MODEL.names, row, strict=True))], ONE_MODEL)


def mean_of(*seeds):
    (found,) = one_model_over_seeds(seeds).to_pylist()
    return found


def test_the_mean_and_its_bounds_equal_the_definition_of_students_interval():
    nets, halves = [0.1, 0.3, 0.2], [0.05, 0.07, 0.06]

    found = mean_of(*(model(v, low=v - h, high=v + h) for v, h in zip(nets, halves, strict=True)))

    of_seeds = np.var(nets, ddof=1) / 3
    of_records = (np.mean(halves) / stats.norm.ppf(0.975)) ** 2
    degrees = 2 * ((of_seeds + of_records) / of_seeds) ** 2
    both = stats.t.ppf(0.975, degrees) * np.sqrt(of_seeds + of_records)
    half = max(both, stats.t.ppf(0.975, 2) * np.sqrt(of_seeds))
    assert (found["value"], found["seeds"], found["records"]) == (0.2, 3, 170)
    assert (found["low"], found["high"]) == pytest.approx((0.2 - half, 0.2 + half))


def test_agreeing_seeds_give_the_interval_over_records():
    seed = model(0.2, low=0.1, high=0.25)

    found = mean_of(seed, seed)

    assert (found["low"], found["high"]) == pytest.approx((0.1, 0.25))


def test_a_part_missing_for_one_seed_is_null():
    table = one_model_over_seeds([model(0.5, low=0.4, high=0.6), model(None)])

    assert table.schema == ONE_MODEL_OVER_SEEDS
    assert table["value"].to_pylist() == [None]


def test_a_mean_has_no_interval_if_one_seed_has_none():
    found = mean_of(model(0.5, low=0.4, high=0.6), model(0.0))

    assert (found["value"], found["low"], found["high"]) == (0.25, None, None)


def test_the_bounds_of_a_correlation_stay_within_1():
    agreement = "agreement_members"
    seeds = [model(value, low=value - 0.1, high=0.99, part=agreement) for value in (0.9, 0.98)]

    assert mean_of(*seeds)["high"] == 1.0


def recalls(correct):
    """RECALLS of rows 0, 1, ...; 4 labels predicted of images of 4."""
    n = len(correct)
    same = ("truths", "predicted", "top_predicted")
    columns = {"shard": [0] * n, "row": range(n), "k": [10] * n, "similarity": [None] * n}
    columns |= {name: [4] * n for name in same} | {"correct": correct, "top_correct": correct}
    return pa.table({name: columns[name] for name in RECALLS.names}, schema=RECALLS)


def records(rows):
    rows = np.sort(rows).astype(np.int32)
    return pa.table({"shard": np.zeros(len(rows), np.int32), "row": rows})


def simulated(memory, *, runs, seeds=3, n=120):
    """The mean rows, by part, of models whose seeds and records vary, against words.

    All seeds share the ease of a record. A training run recalls members better, by `memory` on
    average.
    """
    generator = np.random.default_rng(0)
    for _ in range(runs):
        ease = generator.uniform(0.2, 0.5, 2 * n)
        words = generator.binomial(4, 0.3, 2 * n)
        tests = []
        for _ in range(seeds):
            order = generator.permutation(2 * n)
            members, holdout = order[:n], order[n:]
            chance = ease.copy()
            chance[members] += memory + generator.normal(0, 0.03)
            target = recalls(generator.binomial(4, chance.clip(0, 1)))
            other = recalls(generator.binomial(4, ease))
            references = {"words": recalls(words), "model": other}
            sets = records(members), records(holdout)
            tests.append(one_model(target, references, *sets, neighbors=[10]))
        rows = one_model_over_seeds(tests).to_pylist()
        yield {
            row["part"]: row
            for row in rows
            if (row["reference"], row["measure"]) == ("words", "aucg")
        }


def test_intervals_over_seeds_cover_the_value_over_training_runs_and_splits():
    runs = list(simulated(0.1, runs=60))

    for part, truth in (("net", 0.1), ("less_model", 0.0)):
        missed = sum(not run[part]["low"] <= truth <= run[part]["high"] for run in runs)
        assert missed <= 8  # binomial of 60 at 5 %: 99.7 % of the time


def test_memorization_shared_by_all_seeds_is_found():
    assert all(run["net"]["low"] > 0 for run in simulated(0.25, runs=10, seeds=5))
