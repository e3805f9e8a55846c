import numpy as np
import pytest

from clipaudit.reports.rendering import to_markdown
from clipaudit.reports.tables import report_table

THRESHOLDS = [0.5, 0.875, 0.9]


@pytest.fixture
def deduplication(view):
    return lambda similarities: report_table(
        "similarity_deduplication",
        {"duplicates": view("duplicates", [(0, 0, n, s) for n, s in enumerate(similarities)])},
        {"thresholds": THRESHOLDS, "chosen": 0.875},
    )


def test_four_rows_match_a_hand_calculation(deduplication):
    table = deduplication([None, 0.4, 0.9, 0.875])

    assert [tuple(row.values()) for row in table.to_pylist()] == [
        (0, 0.5, False, 4, 2, 2, 0.5),
        (1, 0.875, True, 4, 3, 1, 0.25),  # at the threshold is not above it
        (2, 0.9, False, 4, 4, 0, 0.0),
    ]


def test_no_samples_give_no_kept_samples(deduplication):
    table = deduplication([])

    assert table["samples"].to_pylist() == table["kept"].to_pylist() == [0, 0, 0]
    assert table["removed_share"].to_pylist() == [None] * 3
    assert "0.875, chosen" in to_markdown("similarity_deduplication", table)


@pytest.mark.parametrize("seed", range(3))
def test_a_sample_is_removed_at_every_threshold_below_its_similarity(deduplication, seed):
    random = np.random.default_rng(seed)
    similarities = random.choice([None, -1.0, 0.25, 0.5, 0.875, 0.9, 1.0], size=100).tolist()

    table = deduplication(similarities).to_pylist()

    known = np.array([value for value in similarities if value is not None])
    assert [row["removed"] for row in table] == [(known > t).sum() for t in THRESHOLDS]
    assert {row["kept"] + row["removed"] for row in table} == {100}
