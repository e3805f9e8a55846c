"""Distances of made copies, beside the candidates of a run."""

import copiesdrawings as made
import numpy as np
import pytest
from drawnimages import drawing, png
from test_odd_images import searched

from clipaudit.copies.candidates import find_candidates
from clipaudit.copies.hash_distances import hash_distances, hashed, nearest_view
from clipaudit.copies.views import test_views as all_views
from clipaudit.copies.views import train_views

COPIES = {
    "as it is": lambda rgb: rgb,
    "mirrored": lambda rgb: np.ascontiguousarray(rgb[:, ::-1]),
    "framed": lambda rgb: made.framed(rgb, 30),
    "cropped": lambda rgb: made.cropped(rgb, 0.8),
    "captioned": made.captioned,
}


@pytest.mark.parametrize("how", COPIES)
def test_the_nearest_view_is_that_of_the_candidate(tmp_path, how):
    original = drawing(3, (160, 120))
    copy = COPIES[how](original)
    one, _, _ = searched(tmp_path, "tests", [png(original)], all_views)
    two, _, _ = searched(tmp_path, "train", [png(copy)], train_views)

    [row] = find_candidates(one, two, distance=31).to_pylist()

    sides = hashed(train_views(copy)), hashed(all_views(original))
    assert hash_distances([sides[0]], [sides[1]]).item() == row["distance"]
    assert nearest_view(*sides, within=row["distance"]) == row["view"]
    assert nearest_view(*sides, within=row["distance"] - 1) is None
