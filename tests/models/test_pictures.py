import numpy as np
import pytest
from open_clip.transform import PreprocessCfg
from tinyclip import index, text_shards, without, write_shard

from clipaudit.errors import InputError
from clipaudit.models.pictures import PictureSource
from clipaudit.models.transforms import evaluation_preparation
from clipaudit.models.workers import Workers

# some tests use more workers than cores, and torch warns of that
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")


@pytest.fixture
def shards(tmp_path):
    return text_shards(tmp_path, [5, 1, 7])


def batches(shards, samples, workers=0, size=3):
    preparation = evaluation_preparation(PreprocessCfg(size=16))
    source = PictureSource(shards, samples, preparation, batch_size=size)
    return source, list(Workers(source.batches, workers=workers))


@pytest.mark.parametrize("workers", [0, 1, 2, 3])
def test_batches_are_formed_per_shard_and_in_order(shards, workers):
    source, found = batches(shards, index(shards), workers)

    rows = [(batch.shard, batch.rows) for batch in found]
    assert rows == [(0, [0, 1, 2]), (0, [3, 4]), (1, [0]), (2, [0, 1, 2]), (2, [3, 4, 5]), (2, [6])]
    assert source.total == 13


@pytest.mark.parametrize("workers", [1, 3])
def test_pixels_do_not_depend_on_workers(shards, workers):
    plain, other = batches(shards, index(shards))[1], batches(shards, index(shards), workers)[1]

    for one, two in zip(plain, other, strict=True):
        np.testing.assert_array_equal(one.pixels, two.pixels)


def test_batches_are_always_full_with_black_images_after_the_last_row(shards):
    for batch in batches(shards, index(shards))[1]:
        assert batch.pixels.shape == (3, 16, 16, 3)
        assert not batch.pixels[len(batch.rows) :].any()
        assert batch.pixels[: len(batch.rows)].any()


def test_only_rows_of_the_samples_are_read(shards):
    samples = without(index(shards), (0, 1), (1, 0), (2, 6))

    found = batches(shards, samples, workers=2)[1]

    assert [(b.shard, b.rows) for b in found] == [
        (0, [0, 2, 3]),
        (0, [4]),
        (2, [0, 1, 2]),
        (2, [3, 4, 5]),
    ]


def test_no_samples_give_no_batches(shards):
    assert batches(shards, index(shards).slice(0, 0))[1] == []


def test_a_shard_with_fewer_rows_than_indexed_is_refused(shards, tmp_path):
    samples = index(shards)
    text_shards(tmp_path, [5, 1, 4])

    with pytest.raises(InputError, match=r"00002\.tar: the index has 7 of its samples, .* has 4"):
        batches(shards, samples)


def test_unusable_images_are_named(shards):
    samples = index(shards)
    write_shard(shards[1][1], [{"png": b"broken", "txt": b"a cat"}])

    batch = batches(shards, samples)[1][2]

    assert batch.rows == []
    assert [(fault.row, fault.key, fault.reason) for fault in batch.faults] == [
        (0, "00000", "corrupt image")
    ]
