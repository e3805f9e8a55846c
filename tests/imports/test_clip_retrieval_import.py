import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clipaudit.errors import InputError
from clipaudit.imports.clip_retrieval import import_clip_retrieval


@pytest.fixture
def folder(tmp_path):
    """Return two files of embeddings, as clip-retrieval's inference writes them."""
    for name in ("img_emb", "metadata"):
        (tmp_path / name).mkdir()
    for number in range(2):
        rows = np.eye(4, dtype=np.float16)[: 3 + number]
        np.save(tmp_path / f"img_emb/img_emb_{number}.npy", rows)
        paths = [f"0000{number}000{row}" for row in range(len(rows))]
        table = pa.table({"image_path": paths, "caption": ["a cat"] * len(rows)})
        pq.write_table(table, tmp_path / f"metadata/metadata_{number}.parquet")
    return tmp_path


def imported(folder, **options):
    return import_clip_retrieval(folder, "web-b32", corpus="web", encoder="b32", **options)


def test_the_block_names_both_lists_of_files(folder):
    found = imported(folder)

    assert found.blocks["embeddings"]["web-b32"] == {
        "corpus": "web",
        "encoder": "b32",
        "column": "image_path",
        "join_on": "key",
        "arrays": f"{folder}/img_emb/img_emb_{{0..1}}.npy",
        "metadata": f"{folder}/metadata/metadata_{{0..1}}.parquet",
    }
    assert found.notes[0] == "2 files, 7 embeddings of 4 numbers"


def test_the_folders_of_laions_own_embeddings_are_read(folder):
    (folder / "img_emb").rename(folder / "images")

    found = imported(folder)

    arrays = found.blocks["embeddings"]["web-b32"]["arrays"]
    assert arrays == f"{folder}/images/img_emb_{{0..1}}.npy"


def test_an_array_without_metadata_is_refused(folder):
    (folder / "metadata/metadata_1.parquet").unlink()

    with pytest.raises(InputError, match=r"2 files img_emb.* and 1 metadata.*first alone number 1"):
        imported(folder)


def test_rows_of_another_length_are_counted_and_reported(folder):
    np.save(folder / "img_emb/img_emb_0.npy", np.diag([9, 20, 1, 1]).astype(np.float16)[:3])

    assert imported(folder).notes[1] == (
        "up to 1,000 rows of each file were tried: 2 of 7 rows have a length of 9 to 20: they are "
        "scaled to unit length"
    )


def test_a_missing_column_is_refused(folder):
    with pytest.raises(InputError, match="no column 'url', but image_path, caption"):
        imported(folder, column="url", join_on="url")
