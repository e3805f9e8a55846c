"""Which pairs are aligned directly, and for which another alignment is searched."""

import io

import copiesdrawings as made
import pyarrow as pa
import pytest
from PIL import Image

from clipaudit.copies.candidates import CANDIDATES
from clipaudit.copies.verified import verify_candidates

ALONG = {"other_shard": 0, "other_row": 0, "shard": 0, "row": 0}


def kind(image, copy, **found_by):
    """Return the kind of a pair that was found in this way."""
    row = ALONG | {"same_bytes": False, "same_pixels": False} | found_by
    candidates = pa.Table.from_pylist([row], schema=CANDIDATES)
    files = []
    for rgb in (image, copy):
        file = io.BytesIO()
        Image.fromarray(rgb).save(file, "PNG")
        files.append(file.getvalue())
    [table] = verify_candidates(candidates, lambda _: {0: files[0]}, lambda _: {0: files[1]})
    return table["kind"][0].as_py()


@pytest.mark.parametrize("view", ["whole", "trimmed", None])
def test_pairs_found_by_whole_images_are_aligned_without_a_search(view):
    image = made.texture(3)

    assert kind(image, made.framed(image, 30), view=view) == "edited"
    assert kind(image, made.turned(image, 10), view=view) == "lookalike"


@pytest.mark.parametrize("found_by", [{"view": "96% centre"}, {"view": "whole", "encoder": "own"}])
def test_other_pairs_are_also_aligned_by_features(found_by):
    image = made.texture(3)

    assert kind(image, made.turned(image, 10), **found_by) == "edited"
