import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from drawnimages import described, drawing, flat, png, write_shard
from longtexts import long_texts
from PIL import Image

from clipaudit.copies import hashing
from clipaudit.copies.hashing import (
    LOW_QUALITY,
    hash_array,
    hash_images,
    image_hashes,
    open_images,
    pixels_digest,
    thumbnail_array,
)
from clipaudit.copies.views import HALVES, train_views
from clipaudit.errors import InputError


def bits(left, right):
    left, right = image_hashes([left, right]).codes
    return int(np.bitwise_count(left ^ right).sum())


@pytest.mark.parametrize("seed", range(5))
def test_a_hash_survives_resizing_and_darkening(seed):
    image = drawing(seed, (240, 200))
    half = np.asarray(Image.fromarray(image).resize((120, 100), Image.Resampling.BICUBIC))

    assert bits(image, half) <= 16
    assert bits(image, (image * 0.6).astype(np.uint8)) <= 8


def test_different_images_have_distant_hashes():
    assert min(bits(drawing(0), drawing(seed)) for seed in range(1, 30)) > 64


def test_a_flat_image_has_a_hash_of_low_quality():
    poor, good = image_hashes([flat(200), drawing(0)]).qualities

    assert poor < LOW_QUALITY <= good


def test_equal_pixels_require_equal_shapes():
    image = drawing(0, (40, 10))

    assert pixels_digest(image) == pixels_digest(image.copy())
    assert pixels_digest(image) != pixels_digest(image.reshape(40, 10, 3))


def test_every_image_has_a_row_and_every_view_has_one():
    framed = np.pad(drawing(1), ((20, 20), (20, 20), (0, 0)), constant_values=0)

    images, hashes = described([drawing(0), framed])

    assert images["row"].to_pylist() == [0, 1]
    named = list(zip(hashes["row"].to_pylist(), hashes["view"].to_pylist(), strict=True))
    assert named == [
        *((0, name) for name in ("whole", *HALVES)),
        *((1, name) for name in ("whole", "trimmed", *HALVES)),
    ]
    assert images["quality"].to_pylist() == [hashes["quality"][at].as_py() for at in (0, 5)]
    assert hash_array(hashes.slice(1)).shape == (10, 32)
    assert thumbnail_array(images).max() <= 127


def test_images_are_hashed_beside_more_text_than_an_array_holds(tmp_path):
    samples = write_shard(tmp_path / "0.tar", [png(drawing(seed)) for seed in range(3)])
    samples = samples.append_column("metadata", long_texts(3))

    images, _ = hash_images([(0, tmp_path / "0.tar")], samples, train_views)

    assert images["row"].to_pylist() == [0, 1, 2]


def test_few_images_are_held_as_objects_while_a_part_is_hashed(tmp_path, monkeypatch):
    monkeypatch.setattr(hashing, "HELD_IMAGES", 2)
    drawn = [drawing(seed) for seed in range(5)]
    samples = write_shard(tmp_path / "0.tar", [png(each) for each in drawn])
    lengths, tables_of = [], hashing._tables

    def tables(images):
        lengths.append(len(images))
        return tables_of(images)

    monkeypatch.setattr(hashing, "_tables", tables)
    images, hashes = hash_images([(0, tmp_path / "0.tar")], samples, train_views)

    assert lengths == [2, 2, 1]
    assert images["row"].to_pylist() == [0, 1, 2, 3, 4]
    assert pc.unique(hashes["row"]).to_pylist() == [0, 1, 2, 3, 4]


def test_no_images_give_empty_tables():
    images, hashes = described([])

    assert hash_array(hashes).shape == (0, 32)
    assert thumbnail_array(images).shape == (0, 192)


def test_images_are_read_from_a_shard(tmp_path):
    drawn = [drawing(seed) for seed in range(3)]
    samples = write_shard(tmp_path / "0.tar", [png(each) for each in drawn])

    opened = list(open_images([(0, tmp_path / "0.tar")], samples.slice(1)))

    assert [each.row for each in opened] == [1, 2]
    assert np.array_equal(opened[1].rgb, drawn[2])


@pytest.mark.parametrize("content", [b"no image", None])
def test_a_shard_changed_after_indexing_is_refused(tmp_path, content):
    files = [png(drawing(0)), *([content] if content else [])]
    samples = write_shard(tmp_path / "0.tar", files)
    more = pa.table({"shard": pa.array([0], pa.int32()), "row": pa.array([1], pa.int32())})
    samples = pa.concat_tables([samples.slice(0, 1), more])

    with pytest.raises(InputError, match=r"0\.tar: row 1: .*changed after indexing"):
        list(open_images([(0, tmp_path / "0.tar")], samples))
