import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tinyclip import index, picture, write_shard

from clipaudit.corpora.drops import Drops
from clipaudit.corpora.vectors import embedding_array
from clipaudit.embeddings.embedding_files import EmbeddingFiles
from clipaudit.embeddings.given_embeddings import take_embeddings
from clipaudit.errors import InputError


@pytest.fixture
def samples(tmp_path):
    """Two shards of two samples each, with a URL; their keys repeat."""
    rng = np.random.default_rng(0)
    pages = iter("abcd")
    shards = [
        (number, write_shard(tmp_path / f"{number}.tar", [sample(rng, next(pages)) for _ in "12"]))
        for number in range(2)
    ]
    return index(shards)


def sample(rng, page):
    return {"png": picture(rng), "txt": b"a cat", "json": json.dumps({"url": page}).encode()}


@pytest.fixture
def given(tmp_path):
    """Return a function that writes embeddings and a metadata column `of`."""

    def write(rows, of):
        np.save(tmp_path / "given.npy", np.array(rows, np.float32))
        pq.write_table(pa.table({"of": of}), tmp_path / "given.parquet")
        return EmbeddingFiles([(tmp_path / "given.npy", tmp_path / "given.parquet")], column="of")

    return write


def taken(samples, given, join_on="url", may_lack=0.0):
    drops = Drops("embed")
    tables = take_embeddings(
        samples,
        given,
        encoder="b32",
        join_on=join_on,
        may_lack=may_lack,
        shards=[0, 1],
        drops=drops,
    )
    return pa.concat_tables(tables), drops.table()


def direction(cosine):
    return [cosine, (1 - cosine**2) ** 0.5]


def test_rows_are_joined_by_value_in_the_order_of_the_samples(samples, given):
    files = given([direction(0.75), direction(0.5), [1, 0], [0, 1]], ["d", "b", "a", "c"])

    table, drops = taken(samples, files)

    assert embedding_array(table, "")[:, 0].tolist() == [1, 0.5, 0, 0.75]
    assert [table[name].to_pylist() for name in ("shard", "row")] == [[0, 0, 1, 1], [0, 1, 0, 1]]
    assert table.schema.metadata[b"encoder"] == b"b32"
    assert len(drops) == 0


def test_rows_can_be_joined_by_uid(samples, given):
    files = given([[1, 0], [0, 1], [1, 0], [0, 1]], samples["uid"].to_pylist())

    table, _ = taken(samples, files, join_on="uid")

    assert embedding_array(table, "")[:, 0].tolist() == [1, 0, 1, 0]


def test_rows_of_the_files_that_list_a_corpus_match_its_samples(samples, tmp_path):
    pairs = []
    for number in range(2):
        pairs.append((tmp_path / f"{number}.npy", tmp_path / f"{number}.parquet"))
        np.save(pairs[-1][0], np.array([direction(0.5 - number / 4), [1, 0]], np.float32))
        pq.write_table(pa.table({"key": ["same", "same"]}), pairs[-1][1])

    table, _ = taken(samples.slice(1), EmbeddingFiles(pairs, column="key"), join_on="row")

    assert embedding_array(table, "")[:, 0].tolist() == [1, 0.25, 1]


def test_a_sample_without_embedding_is_refused_with_counts(samples, given):
    files = given([[1, 0], [0, 1], [1, 0]], ["a", "b", "d"])
    place = "1 of 4 samples have no embedding, first shard 1, row 0"

    with pytest.raises(InputError, match=rf"{place}: url 'c' is not among the 3 .* such as 'a'\."):
        taken(samples, files)


def test_samples_that_may_lack_an_embedding_are_dropped_with_a_reason(samples, given):
    files = given([[1, 0], [np.nan, 1], [1, 0]], ["a", "b", "d"])

    table, drops = taken(samples, files, may_lack=0.25)

    assert len(table) == 2
    assert [tuple(row.values()) for row in drops.to_pylist()] == [
        (0, 1, "00001", "embed", "embedding not finite", ""),
        (1, 0, "00000", "embed", "no embedding given", ""),
    ]


def test_keys_repeated_in_each_shard_are_refused(samples, given):
    files = given([[1, 0], [0, 1]], ["00000", "00001"])

    with pytest.raises(InputError, match="2 values of key belong to several samples"):
        taken(samples, files, join_on="key")


def test_given_rows_are_rounded_like_computed_ones(samples, given):
    rows = np.random.default_rng(0).normal(size=(4, 2))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)

    table, _ = taken(samples, given(rows * 1.005, list("abcd")))

    norms = np.linalg.norm(embedding_array(table, "").astype(np.float64), axis=1)
    assert np.abs(norms - 1).max() < 0.001
