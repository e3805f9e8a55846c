import logging

import numpy as np
import pyarrow as pa
import pytest
import torch
from longtexts import long_texts
from tinyclip import index, tiny, write_shard
from tinydrawings import drawing

from clipaudit.config.training import Encoder
from clipaudit.corpora.drops import Drops
from clipaudit.embeddings.embedding import embed_images, embedding_rows, embeddings_schema
from clipaudit.embeddings.given_check import GivenPair, check_given, checked, drawn_samples
from clipaudit.errors import InputError
from clipaudit.models.clip import build, weights_bytes
from clipaudit.models.clip_features import ClipEmbedder
from clipaudit.models.encoders import ModelSettings
from clipaudit.models.pictures import Running

PAIR = GivenPair("web", "b32")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Shards of drawings, their samples, an encoder's settings, and all embeddings by it."""
    folder = tmp_path_factory.mktemp("given")
    rng = np.random.default_rng(0)
    shards = [
        (number, write_shard(folder / f"{number}.tar", [drawing(rng) for _ in range(20)]))
        for number in range(2)
    ]
    architecture = tiny(folder)
    clip = build(architecture, seed=0)
    (folder / "own.safetensors").write_bytes(weights_bytes(clip.model))
    encoder = Encoder(architecture="tiny", pretrained=str(folder / "own.safetensors"))
    return shards, index(shards), ModelSettings(encoder, architecture), embedded(shards, clip)


def embedded(shards, clip):
    cpu, drops = torch.device("cpu"), Drops("embed")
    model, running = ClipEmbedder(clip, cpu), Running(20, 0, cpu)
    batches = embed_images(shards, index(shards), model, running, encoder="b32", drops=drops)
    return pa.Table.from_batches(batches)


def table_of(vectors):
    schema = embeddings_schema("b32", vectors.shape[1])
    names = [""] * len(vectors)
    batch = embedding_rows(0, range(len(vectors)), names, vectors, schema, Drops("embed"))
    return pa.Table.from_batches([batch])


@pytest.fixture
def rows():
    """Rows of an encoder that gives different images a similarity of about a half."""
    rows = 1 + np.random.default_rng(0).normal(size=(40, 32))
    return rows.astype(np.float32)


def compared(rows, given):
    """Return the tables for computed `rows` and embeddings `given`."""
    whole = table_of(given.astype(np.float32))
    tables = [whole.slice(0, 20), whole.slice(20)]
    return pa.concat_tables(checked(tables, table_of(rows), PAIR, rows.shape[1]))


def moved(rows, by):
    """Rows moved in random directions by a share of what makes them differ."""
    return rows + by * np.random.default_rng(1).normal(size=rows.shape)


def check(world, given):
    """Return the result for two tables of given embeddings."""
    shards, samples, model, _ = world
    tables = [given.slice(0, 20), given.slice(20)]
    return pa.concat_tables(check_given(tables, shards, samples, model, [], PAIR, threads=1))


def test_rows_of_the_same_encoder_pass_unchanged(world, caplog):
    caplog.set_level(logging.INFO, "clipaudit.embeddings.given_check")

    assert check(world, world[3]) == world[3]

    (record,) = caplog.records
    assert record.levelname == "INFO"
    assert "40 images embedded here have a median cosine of 1.0000" in record.message


def test_small_differences_give_a_warning_with_both_values(rows, caplog):
    compared(rows, moved(rows, 0.3))

    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "expected 1.0000" in caplog.text
    assert "another precision or preparation" in caplog.text


def test_shifted_rows_are_distinguished_from_another_encoder(rows):
    with pytest.raises(
        InputError,
        match=r"embeddings of web by b32: 40 images .* expected 1\.0000 .* Rows are shifted .* "
        r"as shard 0 row 0 that of shard 0 row 1\. Give arrays and metadata in the same order",
    ):
        compared(rows, np.roll(rows, 1, axis=0))


def test_a_quarter_of_shifted_rows_is_detected(rows):
    given = np.concatenate([np.roll(rows[:10], 1, axis=0), rows[10:]])

    with pytest.raises(InputError, match="10 images match the row of another sample"):
        compared(rows, given)


def test_a_single_changed_image_gives_a_warning(rows, caplog):
    given = np.concatenate([-rows[:1], rows[1:]])

    compared(rows, given)

    assert "1 have rows of other images, or changed since" in caplog.text


def test_another_preparation_is_refused_by_name(rows):
    with pytest.raises(InputError, match="are still most similar to their own rows: the same"):
        compared(rows, moved(rows, 1.2))


def test_another_encoder_is_refused(world, tmp_path):
    other = embedded(world[0], build(tiny(tmp_path), seed=1))

    with pytest.raises(InputError, match=r"another encoder\. Name the model .* encoders\.b32"):
        check(world, other)


def test_another_width_is_refused_with_both_widths(rows):
    with pytest.raises(InputError, match="given rows have 8 numbers, but b32 computes 32 here"):
        compared(rows, rows[:, :8])


def test_an_encoder_that_cannot_distinguish_images_is_not_judged(rows, caplog):
    given = compared(rows + 1e6, rows)

    assert given.equals(table_of(rows))
    assert "gives any two images a similarity of 1.000000" in caplog.text


def test_missing_weights_give_a_warning_and_the_rows_pass(world, caplog):
    shards, samples, model, given = world
    gone = ModelSettings(Encoder(architecture="tiny", pretrained="gone.pt"), model.architecture)

    tables = check_given([given], shards, samples, gone, [], PAIR, threads=1)

    assert pa.concat_tables(tables) == given
    assert "not checked, since b32 cannot be loaded here: gone.pt: no such file" in caplog.text


def test_fewer_than_ten_images_are_not_judged(world, caplog):
    shards, samples, model, given = world

    tables = check_given([given], shards, samples.slice(0, 9), model, [], PAIR, threads=1)

    assert pa.concat_tables(tables) == given
    assert "only 9 images could be compared, and 10 are needed" in caplog.text


def test_the_draw_depends_on_the_samples_and_reads_few_shards(world):
    samples = world[1]

    drawn = drawn_samples(samples, 15)

    assert drawn == drawn_samples(samples, 15)
    assert len(set(drawn["shard"].to_pylist())) == 1
    assert drawn != drawn_samples(samples.slice(1), 15)


def test_samples_are_drawn_beside_more_text_than_an_array_holds(world):
    samples = world[1]
    beside = samples.append_column("beside", long_texts(len(samples)))

    drawn = drawn_samples(beside, 5)

    assert drawn.select(samples.column_names) == drawn_samples(samples, 5)
