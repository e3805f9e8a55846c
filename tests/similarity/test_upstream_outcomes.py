"""Gap pruning removes what the published code's rule removes, which is written here in plain NumPy.

That code divides every vector by its length, takes each test image's highest similarity to the
small set as its gap, and removes the large set's samples that are more similar to it.
"""

import numpy as np
import pyarrow as pa
import pytest

from clipaudit.corpora.manifests import keep_all
from clipaudit.neighbors.backends import quicker_backend, search
from clipaudit.similarity.gap import prune_to_gap
from clipaudit.similarity.nearest import SIMILARITIES, PartSearch, query_sets

NAMES = ("val", "sketch")
TEST = [2048, 2048, 2048, 2048]
LONG = [1812, 2450, 1446, 2326]
SHORT = [2682, 1894, 1634, 1822]


def normalized(vectors, dtype):
    wide = vectors.astype(dtype)
    return wide / np.linalg.norm(wide, axis=1, keepdims=True)


def upstream(world, name, dtype=np.float64, scaled=normalized):
    """Return the rows of the large set removed for one test set."""
    large, small, tests = (scaled(world[part], dtype) for part in ("large", "small", name))
    leaving = set()
    for image in tests:
        gap = (small @ image).max()
        leaving |= set(np.flatnonzero(large @ image > gap).tolist())
    return leaving


def embeddings(vectors):
    return pa.table(
        {
            "shard": np.zeros(len(vectors), np.int32),
            "row": np.arange(len(vectors), dtype=np.int32),
            "embedding": pa.array([row.tobytes() for row in vectors], pa.binary(vectors[0].nbytes)),
        }
    )


def run(sets, corpus):
    backend = quicker_backend(len(corpus), *sets.queries.vectors.shape)
    part = PartSearch(sets, search(sets.queries, k=1, backend=backend))
    blocks = part.similarities(corpus.to_batches(max_chunksize=1_000))
    similarities = pa.concat_tables([SIMILARITIES.empty_table(), *blocks])
    return similarities, part.neighbors()


def pruned(world, *names):
    """Return the rows of the large set that pruning to the gaps of these test sets removes."""
    large, small = embeddings(world["large"]), embeddings(world["small"])
    tests = {name: embeddings(world[name]) for name in NAMES if name in world}
    _, gaps = run(query_sets(tests), small)
    similarities, _ = run(query_sets(tests, gaps), large)
    manifest = prune_to_gap(keep_all(large.select(["shard", "row"])), similarities, names)
    return set(np.flatnonzero(~manifest["kept"].to_numpy()).tolist())


def degrees(*angles):
    """Return unit vectors in the plane, at these angles, in float16."""
    turns = np.radians(angles)
    return np.stack([np.cos(turns), np.sin(turns)], axis=1).astype(np.float16)


@pytest.fixture(scope="module")
def world():
    """Samples of 400 concepts, spread by different amounts, so that some are near duplicates.

    One component is large in all, as in CLIP's embeddings: rounding it changes the lengths. No
    similarity is within 1e-5 of its gap, so float32 decides as float64 does.
    """
    rng = np.random.default_rng(2)
    concepts = rng.normal(size=(400, 32))
    sizes = {"large": 4_000, "small": 500, "val": 150, "sketch": 150}
    found = {}
    for name, size in sizes.items():
        spread = rng.uniform(0, 0.6, (size, 1))
        vectors = concepts[rng.integers(400, size=size)] + spread * rng.normal(size=(size, 32))
        vectors[:, 0] += 8
        found[name] = normalized(vectors, np.float64).astype(np.float16)
    return found


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("names", [["val"], ["sketch"], ["val", "sketch"]])
def test_the_same_samples_are_removed_as_upstream(world, names, dtype):
    leaving = set().union(*(upstream(world, name, dtype) for name in names))

    assert pruned(world, *names) == leaving
    assert 200 < len(leaving) < 3_000


def test_the_combined_set_omits_samples_removed_by_either_test_set(world):
    val, sketch = pruned(world, "val"), pruned(world, "sketch")

    assert pruned(world, "val", "sketch") == val | sketch
    assert val - sketch
    assert sketch - val


def test_dot_products_of_stored_vectors_would_remove_other_samples(world):
    by_dots = upstream(world, "val", scaled=lambda vectors, dtype: vectors.astype(dtype))

    assert pruned(world, "val") != by_dots


def test_a_handmade_case_of_two_test_sets_is_pruned_as_expected():
    """The small set has one vector, at 20 degrees. Samples nearer to a test image are removed.

    val, at 0: 10 is nearer than 20 and removed; -20 is as near, a tie, and stays; 30 stays.
    sketch, at 90: the small set is 70 away; 30 is 60 away and removed; 10 and -20 stay.
    """
    handmade = {"large": degrees(10, -20, 30), "small": degrees(20)}
    handmade |= {"val": degrees(0), "sketch": degrees(90)}

    found = [pruned(handmade, *names) for names in (["val"], ["sketch"], NAMES)]

    assert found == [{0}, {2}, {0, 2}]


@pytest.mark.parametrize(("large", "small", "leaving"), [(LONG, SHORT, set()), (SHORT, LONG, {0})])
def test_a_vector_made_longer_by_rounding_is_not_nearer(large, small, leaving):
    """In steps of 1/4096, float16 rounds the length of LONG to 1.00029, of SHORT to 0.99978.

    Their products with TEST, of length 1, are 0.98071 and 0.98047, their cosines 0.98043 and
    0.98068: LONG is nearer by products, SHORT by cosines.
    """
    parts = {"large": large, "small": small, "val": TEST}
    handmade = {name: np.array([each], np.float16) / 4096 for name, each in parts.items()}

    assert pruned(handmade, "val") == upstream(handmade, "val") == leaving


def test_a_copy_of_the_nearest_small_sample_is_kept_even_at_half_its_length():
    """All similarities to the test image at 0 are the cosine of 20 degrees: ties."""
    small = degrees(20)
    handmade = {"large": np.concatenate([small, small / 2]), "small": small, "val": degrees(0)}

    assert pruned(handmade, "val") == upstream(handmade, "val") == set()
