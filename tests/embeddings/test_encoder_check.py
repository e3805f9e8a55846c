import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tinyclip import index, text_shards

from clipaudit.corpora.drops import Drops
from clipaudit.embeddings.embedding import embed_images, embeddings_schema
from clipaudit.embeddings.encoder_check import (
    COLLAPSED_DISTANCE,
    ENCODER_CHECK,
    check_encoder,
    effective_rank,
)
from clipaudit.models.clip_features import ClipEmbedder
from clipaudit.models.pictures import Running


def unit(rows):
    rows = np.asarray(rows, np.float64)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype("<f2")


def embeddings(rows, batch=7):
    """EMBEDDINGS of a shard, `batch` rows at a time."""
    halves = unit(rows)
    schema = embeddings_schema("own", halves.shape[1])
    for start in range(0, len(halves), batch):
        data = [row.tobytes() for row in halves[start : start + batch]]
        number = np.arange(start, start + len(data), dtype=np.int32)
        columns = [np.zeros(len(data), np.int32), number, pa.array(data, schema.types[2])]
        yield pa.record_batch(columns, schema=schema)


def samples(count, labels=None, digests=None):
    return pa.table(
        {
            "shard": np.zeros(count, np.int32),
            "row": np.arange(count, dtype=np.int32),
            "label": pa.array([None] * count if labels is None else list(labels), pa.int32()),
            "image_sha256": [str(row) for row in range(count)] if digests is None else digests,
        }
    )


def checked(rows, labels=None, digests=None, **options):
    table = samples(len(rows), labels, digests)
    (found,) = check_encoder(embeddings(rows), [table], **options).to_pylist()
    return found


def gaussian(count=200, dimension=64, seed=0):
    return np.random.default_rng(seed).normal(size=(count, dimension))


def test_well_spread_vectors_have_not_collapsed():
    found = checked(gaussian())

    assert not found["collapsed"]
    assert abs(found["random_mean"]) < 0.01
    assert found["effective_rank"] > 50


def test_a_narrow_cone_as_in_trained_encoders_has_not_collapsed():
    classes = np.arange(200) % 10
    rows = gaussian(10)[classes] + 0.3 * gaussian() + 2  # most of their length is shared

    found = checked(rows, classes)

    assert found["random_q50"] > 0.75
    assert found["same_class_mean"] > found["random_q99"] - 0.05
    assert not found["collapsed"]


def test_a_clip_model_with_random_weights_has_collapsed(tmp_path, clip, cpu):
    shards = text_shards(tmp_path, [24])
    table = index(shards)
    model, running = ClipEmbedder(clip, cpu), Running(8, 0, cpu)
    batches = embed_images(shards, table, model, running, encoder="own", drops=Drops("e"))

    (found,) = check_encoder(batches, [table]).to_pylist()

    assert found["collapsed"]
    assert 1 - found["random_q50"] < COLLAPSED_DISTANCE
    assert (found["samples"], found["dimension"]) == (24, 16)


def test_a_constant_encoder_has_collapsed_only_on_different_images():
    rows = np.ones((20, 8))

    different, equal = checked(rows), checked(rows, digests=["same"] * 20)

    assert different["collapsed"]
    assert (different["identical"], different["nearest_mean"]) == (19, None)
    assert not equal["collapsed"]
    assert (equal["samples"], equal["repeated"]) == (1, 19)


def test_vectors_along_one_line_have_collapsed():
    line = np.outer(np.linspace(-1, 1, 40), gaussian(1)[0])

    assert checked(line)["collapsed"]
    assert checked(line)["effective_rank"] < 1.1


def test_few_images_support_no_claim():
    assert not checked(np.ones((9, 4)))["collapsed"]
    assert checked(np.ones((10, 4)))["collapsed"]


def test_the_nearest_sample_is_never_an_identical_one():
    found = checked([[1, 0], [1, 0], [0.6, 0.8], [-1, 0]])

    assert found["identical"] == 1
    assert found["nearest_mean"] == pytest.approx((0.6 + 0.6 + 0.6 - 0.6) / 4, abs=1e-3)


@pytest.mark.parametrize("count", [0, 1])
def test_without_a_pair_there_are_only_counts(count):
    found = checked(np.ones((count, 4)))

    numbers = ("samples", "repeated", "identical", "collapsed", "dimension")
    assert [found.pop(name) for name in numbers] == [count, 0, 0, False, 4 if count else None]
    assert set(found.values()) == {None}


@given(seed=st.integers(0, 99), count=st.integers(2, 12), classes=st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_the_check_equals_loops_over_pairs(seed, count, classes):
    rng = np.random.default_rng(seed)
    rows, labels = rng.normal(size=(count, 5)), rng.integers(0, classes, count)
    halves = unit(rows).astype(np.float64)
    cosines = {
        (a, b): halves[a] @ halves[b] / np.linalg.norm(halves[a]) / np.linalg.norm(halves[b])
        for a in range(count)
        for b in range(count)
        if a != b
    }
    nearest = [max(cosines[a, b] for b in range(count) if b != a) for a in range(count)]
    same = [value for (a, b), value in cosines.items() if labels[a] == labels[b]]

    found = checked(rows, labels)

    assert found["random_mean"] == pytest.approx(np.mean(list(cosines.values())))
    assert found["nearest_mean"] == pytest.approx(np.mean(nearest))
    assert found["same_class_mean"] == (pytest.approx(np.mean(same)) if same else None)


def test_batches_and_their_order_do_not_matter():
    rows, table = gaussian(100), samples(100)
    first, *others = embeddings(rows, batch=9)

    whole = check_encoder(embeddings(rows, batch=100), [table], count=30)
    parts = check_encoder([*others[::-1], first], [table.slice(50), table.slice(0, 50)], count=30)

    assert whole.equals(parts)
    assert whole.schema == ENCODER_CHECK
    assert whole["samples"].to_pylist() == [30]


def test_the_effective_rank_of_an_isotropic_set_is_its_dimension():
    axes = np.concatenate([np.eye(6), -np.eye(6)])

    assert effective_rank(axes) == pytest.approx(6)
    assert effective_rank(axes[:1]) == 0
