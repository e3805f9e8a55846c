import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from downloaded import download

from clipaudit.errors import InputError
from clipaudit.imports.datacomp import import_datacomp, import_listed_datacomp

UIDS = [f"{number:032x}" for number in range(6)]


@pytest.fixture
def shards(tmp_path):
    return download(tmp_path / "shards", uid=UIDS[:4])


@pytest.fixture
def metadata(tmp_path):
    folder = tmp_path / "metadata"
    folder.mkdir()
    pq.write_table(pa.table({"uid": UIDS[::-1]}), folder / "0a1b.parquet")
    np.savez(folder / "0a1b.npz", l14_img=np.eye(6, 8, dtype=np.float16))
    return folder


def test_uids_are_compared_with_the_metadata(shards, metadata):
    imported = import_datacomp(shards, metadata, "pool")

    assert list(imported.blocks) == ["corpora"]
    assert imported.notes[-1] == "6 downloaded uids, all among the 6 of the metadata"


def test_features_are_joined_by_uid(shards, metadata):
    imported = import_datacomp(shards, metadata, "pool", encoder="l14")

    assert imported.blocks["embeddings"]["pool-l14"] == {
        "corpus": "pool",
        "encoder": "l14",
        "column": "uid",
        "join_on": "uid",
        "array": "l14_img",
        "arrays": f"{metadata}/0a1b.npz",
        "metadata": f"{metadata}/0a1b.parquet",
    }


def test_shards_of_another_pool_are_refused(shards, metadata):
    pq.write_table(pa.table({"uid": UIDS[1:]}), metadata / "0a1b.parquet")

    with pytest.raises(
        InputError,
        match=rf"2 of 6 downloaded uids are not among its 5, first 00000\.tar: {UIDS[0]}",
    ):
        import_datacomp(shards, metadata, "pool")


def test_files_that_the_cache_of_the_hub_links_to_count_once(metadata):
    snapshot = metadata / "hf/datasets--pools/snapshots/0c/small"
    snapshot.mkdir(parents=True)
    blobs = snapshot.parents[2] / "blobs"
    blobs.mkdir()
    for at, path in enumerate(sorted(metadata.glob("0a1b.*"))):
        stored = path.rename(blobs / f"{at}")
        (snapshot / path.name).symlink_to(stored)
        path.symlink_to(stored)

    imported = import_listed_datacomp(metadata, "pool", encoder="l14")

    files = imported.blocks["corpora"]["pool"]["metadata"]["files"]
    block = imported.blocks["embeddings"]["pool-l14"]
    assert (files, block["arrays"]) == (f"{metadata}/0a1b.parquet", f"{metadata}/0a1b.npz")
    assert imported.notes[0].startswith("6 samples without images, in 1 file: ")


def test_a_folder_without_metadata_is_refused(shards, tmp_path):
    with pytest.raises(InputError, match=r"no \.parquet below it"):
        import_datacomp(shards, tmp_path / "gone", "pool")
