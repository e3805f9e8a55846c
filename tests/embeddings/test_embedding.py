import dataclasses
import logging

import numpy as np
import pyarrow as pa
import pytest
import torch
from tinyclip import index, text_shards, without, write_shard

from clipaudit.corpora.drops import Drops
from clipaudit.embeddings.embedding import (
    embed_images,
    embeddings_schema,
    unit_halves,
)
from clipaudit.models.clip_features import ClipEmbedder
from clipaudit.models.pictures import Running

# some tests use more workers than cores, and torch warns of that
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")


@pytest.fixture
def shards(tmp_path):
    return text_shards(tmp_path, [5, 1, 9, 6])


def embedded(shards, samples, clip, workers=0, size=4):
    drops = Drops("embed")
    cpu = torch.device("cpu")
    model, running = ClipEmbedder(clip, cpu), Running(size, workers, cpu)
    batches = embed_images(shards, samples, model, running, encoder="own", drops=drops)
    return pa.Table.from_batches(list(batches), embeddings_schema("own", 16)), drops.table()


def vectors(table):
    data = b"".join(table["embedding"].to_pylist())
    return np.frombuffer(data, "<f2").reshape(len(table), -1)


def test_each_sample_has_one_unit_row_in_order(shards, clip):
    samples = index(shards)

    table, drops = embedded(shards, samples, clip)

    assert table.select(["shard", "row"]) == samples.select(["shard", "row"]).cast(
        table.select(["shard", "row"]).schema
    )
    lengths = np.linalg.norm(vectors(table).astype(np.float64), axis=1)
    np.testing.assert_allclose(lengths, 1, atol=2e-3)  # float16 has eleven bits
    assert len(drops) == 0


def test_metadata_names_the_encoder(shards, clip):
    table, _ = embedded(shards, index(shards), clip)

    assert table.schema.metadata == {b"encoder": b"own", b"dimension": b"16", b"dtype": b"float16"}
    assert table.schema.field("embedding").type == pa.binary(32)


def test_values_equal_those_of_the_model(shards, clip):
    table, _ = embedded(shards, index(shards), clip, size=9)
    from open_clip.transform import image_transform_v2

    from clipaudit.corpora.images import open_picture
    from clipaudit.corpora.shards import first_image, raw_samples

    transform = image_transform_v2(clip.preprocessing, is_train=False)
    images = [
        transform(open_picture(first_image(raw.members)).rgb) for raw in raw_samples(shards[2][1])
    ]
    with torch.inference_mode():
        features = clip.model.encode_image(torch.stack(images), normalize=True).numpy()

    found = vectors(table)[np.array(table["shard"]) == 2]
    np.testing.assert_allclose(found, features, atol=1e-3)  # rounding to float16


def test_bfloat16_changes_the_values_slightly(shards, clip):
    samples = index(shards)
    exact, rough = (
        vectors(embedded(shards, samples, dataclasses.replace(clip, precision=each))[0])
        for each in ("fp32", "amp_bf16")
    )

    assert not np.array_equal(exact, rough)
    similar = (exact.astype(np.float64) * rough).sum(axis=1)
    np.testing.assert_allclose(similar, 1, atol=5e-3)


@pytest.mark.parametrize("workers", [1, 3])
def test_the_number_of_workers_does_not_matter(shards, clip, workers):
    samples = index(shards)

    assert embedded(shards, samples, clip)[0] == embedded(shards, samples, clip, workers)[0]


def test_parts_of_one_or_four_shards_give_the_same_rows(shards, clip):
    samples = index(shards)

    whole = embedded(shards, samples, clip)[0]
    parts = [
        embedded([each], samples.filter(pa.compute.equal(samples["shard"], each[0])), clip)[0]
        for each in shards
    ]

    assert pa.concat_tables(parts).combine_chunks() == whole.combine_chunks()


def test_only_rows_of_the_samples_are_embedded(shards, clip):
    samples = without(index(shards), (0, 2), (3, 0))

    table, _ = embedded(shards, samples, clip)

    assert table["row"].to_pylist() == samples["row"].to_pylist()


def test_rows_are_embedded_or_dropped(shards, clip):
    samples = index(shards)
    write_shard(shards[1][1], [{"png": b"broken", "txt": b"a cat"}])

    table, drops = embedded(shards, samples, clip)

    assert len(table) + len(drops) == len(samples)
    assert drops.to_pylist() == [
        {
            "shard": 1,
            "row": 0,
            "key": "00000",
            "stage": "embed",
            "reason": "corrupt image",
            "detail": "6 bytes in no known format",
        }
    ]


def test_non_finite_embeddings_are_dropped(shards, clip):
    samples = index(shards)
    with torch.no_grad():
        clip.model.visual.conv1.weight.fill_(torch.nan)

    table, drops = embedded(shards, samples, clip)

    assert len(table) == 0
    assert drops["reason"].to_pylist() == ["embedding not finite"] * len(samples)


def test_no_samples_give_no_rows(shards, clip):
    table, drops = embedded(shards, index(shards).slice(0, 0), clip)

    assert len(table) == len(drops) == 0


def test_the_final_row_count_is_logged(shards, clip, caplog):
    caplog.set_level(logging.INFO, "clipaudit")

    embedded(shards, index(shards), clip)

    assert "embedding with own: 21 of 21 rows" in caplog.text


@pytest.mark.parametrize("row", [[0, 0], [np.inf, 1], [np.nan, 1]])
def test_unusable_rows_are_reported(row):
    _, usable, reasons = unit_halves(np.array([[1, 1], row], np.float32))

    assert usable.tolist() == [True, False]
    assert reasons == ["", "embedding not finite"]
