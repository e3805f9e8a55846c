import numpy as np
import pyarrow as pa
import pytest
from drawnimages import drawing, flat

from clipaudit.copies.calibrating import (
    calibrate_encoder,
    calibrate_hashes,
    pick_originals,
    plan_copies,
)
from clipaudit.copies.thresholds import ADVISED_DISTANCE, chosen_threshold, default_rate
from clipaudit.copies.transformations import WAYS


def shares(calibrated, column):
    """The share of copies that are found or verified, by transformation: its last strength."""
    rows = calibrated.calibration.to_pylist()
    last = {row["transformation"]: row["position"] for row in rows}
    return {
        name: np.mean([row[column] for row in rows if row["position"] == at])
        for name, at in last.items()
    }


@pytest.fixture(scope="module")
def calibrated():
    return calibrate_hashes([drawing(1), drawing(3)], per_million=1.0, distance=ADVISED_DISTANCE)


def test_every_original_gets_every_edit_and_is_pasted_on_another():
    plan = plan_copies(2)

    assert len(plan.original) == 2 * len(WAYS)
    assert set(plan.background[plan.background >= 0]) == {0, 1}
    assert all(plan.background != plan.original)


def test_copies_are_found_exactly_where_the_hash_survives_the_edit(calibrated):
    found = shares(calibrated, "found")

    assert found["mirror"] == found["grey"] == found["border"] == 1
    assert found["on another image"] == 0


def test_the_verified_share_never_exceeds_the_found_share(calibrated):
    found, verified = (shares(calibrated, column) for column in ("found", "verified"))

    assert all(verified[name] <= share for name, share in found.items())
    assert verified["grey"] == 1


def test_a_given_distance_selects_its_row(calibrated):
    assert chosen_threshold(calibrated.thresholds) == ADVISED_DISTANCE


def test_too_few_pairs_limit_the_distance_to_the_advised_one():
    found = calibrate_hashes([drawing(1)], per_million=1.0, distance=None).thresholds

    assert chosen_threshold(found) == ADVISED_DISTANCE
    (note,) = [note for note in found["note"].to_pylist() if note]
    assert "0 pairs of different images are too few to show" in note


def test_thumbnails_find_images_too_flat_for_a_hash():
    found = calibrate_hashes([flat(200), flat(20)], per_million=1.0, distance=31)

    assert shares(found, "found")["jpeg"] == 1


def test_the_recall_of_the_chosen_distance_counts_copies_found_by_thumbnails():
    found = calibrate_hashes([flat(200), flat(20)], per_million=1.0, distance=31)

    (row,) = [row for row in found.thresholds.to_pylist() if row["chosen"]]
    assert row["recall"] == np.mean(np.array(found.calibration["found"])) > 0


@pytest.fixture(scope="module")
def by_colour():
    """An encoder of mean colours, calibrated at a given similarity."""

    def embed(images):
        means = np.array([image.mean(axis=(0, 1)) for image in images])
        return (means / np.linalg.norm(means, axis=1, keepdims=True)).astype(np.float16)

    red, blue = np.array([[[250, 10, 10]]]), np.array([[[10, 10, 250]]])
    pair = [np.broadcast_to(c, (40, 40, 3)).astype(np.uint8) for c in (red, blue)]
    return calibrate_encoder("mean", pair, embed, per_million=1.0, similarity=0.999)


def test_an_encoder_is_calibrated_on_its_own_similarities(by_colour):
    assert shares(by_colour, "found")["jpeg"] == 1
    assert shares(by_colour, "found")["channels swapped"] == 0


def test_the_row_of_a_given_similarity_is_that_similarity_itself(by_colour):
    (row,) = [row for row in by_colour.thresholds.to_pylist() if row["chosen"]]

    assert row["threshold"] == 0.999
    assert row["recall"] == np.mean(np.array(by_colour.calibration["found"]))


def test_originals_are_the_first_in_a_seeded_order_over_all_corpora():
    def samples(rows):
        return pa.table({"shard": np.zeros(rows, np.int32), "row": np.arange(rows, dtype="i4")})

    few, more = (
        pick_originals({"a": samples(50), "b": samples(30)}, count=count, seed=0)
        for count in (10, 20)
    )

    assert sum(map(len, few.values())) == 10
    assert all(set(few[name]) <= set(more[name]) for name in few)


def test_the_default_rate_falls_as_more_images_are_searched():
    assert default_rate(30_000) == pytest.approx(1)
    assert default_rate(0) == pytest.approx(30_000)
