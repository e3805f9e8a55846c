import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.similarity.calibrated import near_duplicate_distance


def thresholds(*rows):
    threshold, chosen = zip(*rows, strict=True) if rows else ((), ())
    return pa.table(
        {"threshold": pa.array(threshold, pa.float64()), "chosen": pa.array(chosen, pa.bool_())}
    )


def test_a_given_distance_is_used():
    assert near_duplicate_distance(0.05, []) == 0.05


@given(st.floats(0.5, 1), st.floats(0.5, 1))
def test_distances_below_the_limit_match_similarities_at_or_above_the_threshold(
    threshold, similarity
):
    distance = near_duplicate_distance(None, [thresholds((threshold, True), (0.1, False))])

    assert (1 - similarity < distance) == (similarity >= threshold)


@pytest.mark.parametrize("tables", [[], [thresholds()], [thresholds((0.9, False))]])
def test_without_a_chosen_threshold_no_sample_is_near(tables):
    assert not 1 - np.float64(1.0) < near_duplicate_distance(None, tables)
