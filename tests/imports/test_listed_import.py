"""Importers that write corpora without images."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clipaudit.errors import InputError
from clipaudit.imports import listed
from clipaudit.imports.clip_retrieval import import_clip_retrieval
from clipaudit.imports.datacomp import import_listed_datacomp


def write(path, count, *columns):
    """Write the metadata of `count` samples; every column identifies them."""
    path.parent.mkdir(exist_ok=True)
    values = [f"{row:032x}" for row in range(count)]
    pq.write_table(pa.table({name: values for name in columns}), path)


@pytest.fixture
def folder(tmp_path):
    """Return two files of clip-retrieval's inference, with LAION's columns."""
    (tmp_path / "img_emb").mkdir()
    for number in range(2):
        np.save(tmp_path / f"img_emb/img_emb_{number}.npy", np.eye(4)[: 3 + number])
        metadata = tmp_path / f"metadata/metadata_{number}.parquet"
        write(metadata, 3 + number, "image_path", "caption", "url", "NSFW")
    return tmp_path


def imported(folder, **options):
    return import_clip_retrieval(
        folder, "web-b32", corpus="web", encoder="b32", as_corpus=True, **options
    )


def test_metadata_becomes_a_corpus_whose_embeddings_are_joined_by_row(folder):
    found = imported(folder)

    files = f"{folder}/metadata/metadata_{{0..1}}.parquet"
    columns = {"caption": "caption", "url": "url", "key": "image_path"}
    block = {"metadata": {"files": files, **columns}, "shards_per_part": 2, "captions": "text"}
    assert found.blocks["corpora"] == {"web": block}
    embeddings = found.blocks["embeddings"]["web-b32"]
    assert (embeddings["metadata"], embeddings["join_on"]) == (files, "row")
    assert found.notes[0].startswith("7 samples without images, in 2 files: caption from capt")


def test_a_column_that_some_files_lack_is_not_named(folder):
    write(folder / "metadata/metadata_1.parquet", 4, "image_path", "url")

    block = imported(folder).blocks["corpora"]["web"]

    assert block["captions"] == "none"
    assert "caption" not in block["metadata"]


def test_each_large_file_is_a_part(folder, monkeypatch):
    monkeypatch.setattr(listed, "ROWS_PER_PART", 4)

    assert imported(folder).blocks["corpora"]["web"]["shards_per_part"] == 1


def test_a_corpus_whose_rows_have_only_urls_is_refused(folder):
    with pytest.raises(InputError, match="a corpus needs a key or a uid for each row"):
        imported(folder, column="url", join_on="url")


def test_a_pool_of_datacomp_is_listed_by_uid(tmp_path):
    write(tmp_path / "pool/0a1b.parquet", 3, "uid", "url", "text")
    np.savez(tmp_path / "pool/0a1b.npz", l14_img=np.eye(3, 8, dtype=np.float16))

    found = import_listed_datacomp(tmp_path / "pool", "pool", encoder="l14")

    files = f"{tmp_path}/pool/0a1b.parquet"
    metadata = {"files": files, "uid": "uid", "caption": "text", "url": "url"}
    block = {"metadata": metadata, "shards_per_part": 1, "captions": "text"}
    assert found.blocks["corpora"]["pool"] == block
    assert found.blocks["embeddings"]["pool-l14"]["join_on"] == "row"
