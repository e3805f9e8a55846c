import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.copies.search_limits import Thresholds
from clipaudit.copies.thresholds import (
    ADVISED_DISTANCE,
    Curve,
    choose_threshold,
    default_rate,
    thresholds_table,
)


@st.composite
def thresholds(draw):
    """Thresholds that a calibration of some images gave."""
    counts = sorted(draw(st.lists(st.integers(0, 400), min_size=60, max_size=60)))
    false_positives = np.array(counts, np.int64)
    pairs = draw(st.integers(0, 3)) * 40_000 + 1_000
    curve = Curve(np.arange(60), false_positives, np.zeros_like(false_positives), pairs, 0)
    rate = default_rate(draw(st.integers(1, 100_000)))
    choice = choose_threshold(curve, per_million=rate, advised=ADVISED_DISTANCE)
    table = thresholds_table("hash", curve, choice, per_million=rate)
    return Thresholds(None, {}, table, by_images=True)


@given(thresholds(), st.lists(st.integers(1, 10**7), min_size=2, max_size=20))
def test_more_images_never_give_looser_limits(found, images):
    distances = [found.limits(count).distance for count in sorted(images)]

    known = [distance for distance in distances if distance is not None]
    assert distances[: len(known)] == known == sorted(known, reverse=True)


@given(thresholds(), st.integers(1, 3_000), st.integers(0, 3_000))
def test_each_number_of_images_is_in_one_run_with_its_limits(found, first, more):
    last = first + more
    runs = list(found.runs(first, last))

    assert [images for run, _ in runs for images in run] == list(range(first, last + 1))
    assert all(
        found.limits(images) == limits for run, limits in runs for images in (run[0], run[-1])
    )


@pytest.mark.parametrize("by_images", [True, False])
def test_given_limits_do_not_depend_on_the_number_of_images(by_images):
    given_ones = Thresholds(20, {"own": 0.9}, by_images=by_images)

    assert list(given_ones.runs(3, 10**9)) == [(range(3, 10**9 + 1), (20, {"own": 0.9}))]
