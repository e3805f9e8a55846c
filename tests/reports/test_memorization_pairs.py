import pyarrow as pa
import pytest

from clipaudit.memorization.pair_tests import PAIR_TESTS
from clipaudit.memorization.pair_tests_over_seeds import PAIR_TESTS_OVER_SEEDS
from clipaudit.memorization.reports.pair_tables import SCORES
from clipaudit.reports.rendering import to_markdown
from clipaudit.reports.specification import numbered, titled
from clipaudit.reports.tables import report_table

LABELS = [("encoder", "m"), ("source", "web"), ("holdout", "web")]
MEASURES = [
    {"measure": "auc", "title": "AUC", "needed": 1},
    {"measure": "tpr_01", "title": "TPR", "needed": 1000},
]


@pytest.fixture
def pairs():
    """A function: the table of one test, from rows of PAIR_TESTS."""

    def build(*rows, over_seeds=()):
        table = pa.Table.from_pylist(
            [dict(zip(PAIR_TESTS.names, row, strict=True)) for row in rows], PAIR_TESTS
        )
        for name, value in LABELS:
            table = table.append_column(name, pa.array([value] * len(table)))
        means = pa.Table.from_pylist(
            [dict(zip(PAIR_TESTS_OVER_SEEDS.names, row, strict=True)) for row in over_seeds],
            PAIR_TESTS_OVER_SEEDS,
        )
        for name, value in LABELS[1:]:
            means = means.append_column(name, pa.array([value] * len(means), pa.string()))
        views = {
            "tests": pa.Table.from_pylist(
                numbered(
                    [
                        {**dict(LABELS), "encoder": "", "title": "web, mean over 3 seeds"},
                        {**dict(LABELS), "title": "web, model m"},
                    ]
                )
            ),
            "scores": pa.Table.from_pylist(titled("score", SCORES.items())),
            "measures": pa.Table.from_pylist(numbered(MEASURES)),
            "pair_tests": table,
            "pair_tests_over_seeds": means,
        }
        return report_table("memorization_pairs", views, {})

    return build


TARGET = ("target", "auc", 90, 80, 0.9, 0.85, 0.94)
TOO_FEW = ("target", "tpr_01", 90, 80, None, None, None)


def test_four_rows_match_a_hand_calculation(pairs):
    table = pairs(
        ("reference", "auc", 90, 80, 0.52, 0.45, 0.59),
        TOO_FEW,
        TARGET,
        ("difference", "auc", 90, 80, 1.0, 0.99, 1.0),
    )

    told = [(row["test"], row["measure"], row["value"]) for row in table.to_pylist()]
    assert told == [
        ("web, model m: cosine", "auc", 0.9),
        ("web, model m: cosine", "tpr_01", None),
        ("cosine minus the reference's", "auc", 1.0),
        ("control: the reference's cosine", "auc", 0.52),
    ]
    assert table["position"].to_pylist() == [0, 0, 1, 2]
    assert set(table["control_fails"].to_pylist()) == {False}
    assert set(table["by_lot"].to_pylist()) == {True}


def test_the_mean_over_seeds_comes_first_and_has_no_model(pairs):
    table = pairs(TARGET, over_seeds=[("target", "auc", 3, 90, 80, 0.8, 0.6, 0.95)])

    told = [(row["test"], row["encoder"], row["value"]) for row in table.to_pylist()]
    assert told == [
        ("web, mean over 3 seeds: cosine", "", 0.8),
        ("web, model m: cosine", "m", 0.9),
    ]


def test_a_rate_for_which_the_holdout_is_too_small_states_the_required_size(pairs):
    text = to_markdown("memorization_pairs", pairs(TARGET, TOO_FEW))

    assert "needs 1\N{NARROW NO-BREAK SPACE}000 hold-out records" in text
    assert "0.900" in text


def test_a_score_that_no_member_has_needs_members_not_hold_out_records(pairs):
    text = to_markdown("memorization_pairs", pairs(("recall_gap", "auc", 0, 80, None, None, None)))

    assert "needs members" in text
    assert "hold-out records" not in text.partition("| Test")[2]


@pytest.mark.parametrize(("low", "high"), [(0.51, 0.7), (0.3, 0.49)])
def test_a_control_that_excludes_a_half_is_reported_as_failed(pairs, low, high):
    table = pairs(TARGET, ("reference", "auc", 90, 80, 0.5, low, high))

    assert table["control_fails"].to_pylist() == [False, True]
    assert to_markdown("memorization_pairs", table).count("not 0.5: the sets differ") == 1
