import numpy as np
import pytest

from clipaudit.memorization.false_alarms import World, claims, made_claims, main, simulated

RUNS = 60
MOST = 0.05 + 3 * np.sqrt(0.05 * 0.95 / RUNS)  # 5 %, and three standard errors of this many runs


@pytest.mark.parametrize("change", [{}, {"ahead": 0.1}, {"one_cut": True}, {"seeds": 2}])
def test_without_memorization_each_claim_is_made_in_at_most_one_run_of_twenty(change):
    world = World(records=150, **change)

    found = made_claims(World(records=150, baseline=world, **change), RUNS)

    assert len(found) == 8
    for claim, share in found.items():
        assert share <= MOST or "not reported" in claim, claim


def test_a_single_direction_mistakes_a_better_model_for_memorization():
    found = made_claims(World(ahead=0.1), 20)

    assert found["one pair: A against B, unadjusted (not reported)"] > 0.5
    assert found["one pair: A against B, net of the hold-out"] <= 0.2


def test_memorization_is_found():
    found = made_claims(World(memorized=0.3, baseline=World()), 10)

    assert found["one pair: both directions"] == 1
    assert found["over seeds: both directions"] == 1
    assert found["over seeds: less the default's"] == 1


def test_the_random_seed_determines_the_draws():
    one, other = (simulated(np.random.default_rng(3), World(records=30)) for _ in range(2))

    assert claims(one, seed=0) == claims(other, seed=0)
    assert one.seeds[0].recalls_a == other.seeds[0].recalls_a


def test_the_program_writes_a_row_for_each_claim():
    lines = []

    main(1, lines.append)

    assert len(lines) == 2 + 8
    assert lines[0].startswith("| Claims made, % of 1 runs | nothing is memorized |")
