from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import kstest

from clipaudit.memorization.ensemble_records import ENSEMBLE_RECORDS, _tails, ensemble_records
from clipaudit.memorization.ensembles import EnsemblePart
from clipaudit.memorization.false_alarms import TRUTHS, World, simulated


def records(*parts):
    table = ensemble_records(lambda: parts, [part.source for part in parts], neighbors=[10])
    assert table.schema == ENSEMBLE_RECORDS
    return table


def held_out(seed):
    kept = seed.kept["holdout"]
    return kept.set_column(2, "kept", pa.array([True] * len(kept)))


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


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.25), (0.25, 0.25), (1.0, 0.0)])
@given(gains=arrays(np.int64, (3, 5), elements=st.integers(-4, 4)))
def test_the_chance_of_a_sum_equals_its_definition(a, b, gains):
    share = np.array([a, b, 1 - a - b])
    draws = list(product(range(3), repeat=5))
    signs, chances = np.array([1, -1, 0])[draws], share[draws].prod(axis=1)
    actual = gains[:, :2].sum(axis=1)

    tails = _tails(gains, actual, share)

    assert tails == pytest.approx((gains @ signs.T >= actual[:, None]) @ chances)


def test_more_seeds_find_a_record_that_eight_do_not():
    def found(seeds):
        generator = np.random.default_rng(1)
        plain = simulated(generator, World(records=4000, seeds=seeds))
        strong = simulated(generator, World(records=5, seeds=seeds, memorized=1.0))
        q = np.array(records(plain, replace(strong, source="strong"))["q_value"])
        return np.count_nonzero(q[4000:] <= 0.05)

    assert (found(8), found(30)) == (0, 5)


def test_records_of_a_source_that_no_model_was_trained_on_are_not_tested():
    part = simulated(np.random.default_rng(4), World(seeds=8, records=300, memorized=0.7))
    seeds = [replace(seed, kept={"holdout": held_out(seed)}) for seed in part.seeds]

    table = records(part, EnsemblePart("held out", seeds))

    assert table.equals(records(part))


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
