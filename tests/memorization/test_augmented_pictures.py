import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import torch
from PIL import Image
from tinyclip import index, text_shards, write_shard

from clipaudit.corpora.drops import Drops
from clipaudit.corpora.images import open_picture
from clipaudit.corpora.shards import first_image, raw_samples
from clipaudit.embeddings.embedding import embed_arrays
from clipaudit.memorization.augmented import augmented_schema
from clipaudit.memorization.augmented_pictures import Crop, embed_augmented_pictures
from clipaudit.models.clip_features import ClipEmbedder
from clipaudit.models.pictures import Running

# one test uses more workers than cores, and torch warns of that
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")


@pytest.fixture
def embedded(clip):
    """A function: AUGMENTED of the images of shards, and the drops."""

    def build(shards, *, samples=None, versions=3, workers=0, size=4, seed=0):
        drops = Drops("embed augmented pictures")
        running = Running(size, workers, torch.device("cpu"))
        settings = {"encoder": "own", "versions": versions, "seed": seed, "drops": drops}
        samples = index(shards) if samples is None else samples
        batches = embed_augmented_pictures(shards, samples, clip, running, **settings)
        return pa.Table.from_batches(list(batches), augmented_schema("own", 16)), drops.rows

    return build


def pictures(path):
    """The images of a shard, in order."""
    return [open_picture(first_image(raw.members)).rgb for raw in raw_samples(path)]


def test_a_version_is_embedded_as_its_crop(embedded, clip, cpu, tmp_path):
    shards = text_shards(tmp_path, [4])
    table, drops = embedded(shards)

    own = table.filter(pc.equal(table["version"], 1))
    crops = [np.array(Crop.drawn(1, 0).of(each)) for each in pictures(shards[0][1])]
    plain = embed_arrays(crops, ClipEmbedder(clip, cpu), batch_size=4)
    assert own["embedding"].to_pylist() == [row.tobytes() for row in plain]
    assert own["row"].to_pylist() == [0, 1, 2, 3]
    assert drops == []


def test_workers_and_further_versions_change_no_row(embedded, tmp_path):
    shards = text_shards(tmp_path, [5, 1, 6])

    one, _ = embedded(shards, versions=2)
    more, _ = embedded(shards, versions=3, workers=2)

    assert one.equals(more.filter(pc.less(more["version"], 2)))


def test_an_image_that_cannot_be_read_is_dropped_once(embedded, tmp_path):
    shards = text_shards(tmp_path, [2])
    samples, path = index(shards), shards[0][1]
    whole = next(raw_samples(path)).members
    write_shard(path, [dict(whole), {"png": whole["png"][:60], "txt": b"cat"}])

    table, drops = embedded(shards, samples=samples)

    assert table["row"].to_pylist() == [0, 0, 0]
    assert [row for _, row, *_ in drops] == [1]


def test_crops_keep_half_to_nine_tenths_of_an_image_and_its_aspect_ratio():
    picture = Image.new("RGB", (400, 200))

    sizes = [Crop.drawn(version, seed).of(picture).size for version in range(9) for seed in (0, 1)]

    areas = [width * height / 80_000 for width, height in sizes]
    assert 0.49 < min(areas) < max(areas) < 0.91
    assert all(abs(width - 2 * height) <= 1 for width, height in sizes)
    assert len(set(sizes)) > 9  # versions and seeds differ


def test_every_other_version_is_mirrored():
    half = Image.fromarray(np.repeat(np.arange(100, dtype=np.uint8)[None], 100, 0))

    rising = [
        bool(np.diff(np.array(Crop.drawn(version, 0).of(half))[0].astype(int))[0] > 0)
        for version in range(4)
    ]

    assert rising == [True, False, True, False]


def test_the_crop_of_a_one_pixel_image_is_that_pixel():
    assert Crop.drawn(0, 0).of(Image.new("L", (1, 1))).size == (1, 1)
