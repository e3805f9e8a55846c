from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import kstest

from clipaudit.memorization.ensemble_records import ENSEMBLE_RECORDS, ensemble_records
from clipaudit.memorization.false_alarms import TRUTHS, World, simulated


def records(part, *, seed=0):
    table = ensemble_records(lambda: [part], [part.source], neighbors=[10], seed=seed)
    assert table.schema == ENSEMBLE_RECORDS
    return table


def column(part, number, name):
    return np.stack([np.array(getattr(seed, name)[number]) for seed in part.seeds], axis=1)


def test_memorization_is_the_recall_of_models_trained_on_a_record_less_that_of_others():
    part = simulated(np.random.default_rng(0), World(records=60, seeds=3))

    for n, row in enumerate(records(part).to_pylist()):
        inside, outside = [], []
        for seed in part.seeds:
            for model, name in ((seed.recalls_a, "a"), (seed.recalls_b, "b")):
                own = seed.kept[name]["kept"][n].as_py()
                (inside if own else outside).append(model["correct"][n].as_py() / TRUTHS)
        assert row["trained_on_it"] == len(inside)
        if inside:
            assert row["memorization"] == pytest.approx(np.mean(inside) - np.mean(outside))
        else:
            assert row["memorization"] is None


def test_the_p_value_is_the_share_of_all_draws_of_the_sets_of_a_record():
    part = simulated(np.random.default_rng(1), World(records=60, seeds=3))

    for n, row in enumerate(records(part).to_pylist()[:20]):
        gains = [
            Fraction(
                seed.recalls_a["correct"][n].as_py() - seed.recalls_b["correct"][n].as_py(), TRUTHS
            )
            for seed in part.seeds
        ]
        own = [
            seed.kept["a"]["kept"][n].as_py() - seed.kept["b"]["kept"][n].as_py()
            for seed in part.seeds
        ]
        actual = sum(sign * gain for sign, gain in zip(own, gains, strict=True))
        drawn = [
            sum(sign * gain for sign, gain in zip(signs, gains, strict=True))
            for signs in product((1, -1, 0), repeat=3)
        ]
        assert row["p_value"] == pytest.approx(sum(each >= actual for each in drawn) / 27)


def test_random_draws_of_sets_approximate_the_p_value_of_all_draws(monkeypatch):
    part = simulated(np.random.default_rng(2), World(records=60, seeds=5, memorized=0.2))
    whole = np.array(records(part)["p_value"])

    monkeypatch.setattr("clipaudit.memorization.ensemble_records.ENUMERATED", 4)

    assert np.array(records(part)["p_value"]) == pytest.approx(whole, abs=0.02)


def test_without_memorization_p_values_match_chance_and_nothing_is_listed():
    part = simulated(np.random.default_rng(3), World(seeds=8, records=600, ahead=0.2))

    table = records(part)

    assert kstest(np.array(table["p_value"]), "uniform", alternative="greater").pvalue > 0.01
    assert np.count_nonzero(np.array(table["q_value"]) <= 0.05) == 0


def test_memorized_records_are_listed_at_their_false_discovery_rate():
    part = simulated(np.random.default_rng(4), World(seeds=8, records=300, memorized=0.7))

    table = records(part)

    assert np.count_nonzero(np.array(table["q_value"]) <= 0.05) > 200
    assert np.mean(np.array(table["memorization"].drop_null())) == pytest.approx(0.5, abs=0.1)
