"""Images from tars, or uids from tables of samples."""

import io
import tarfile

import pyarrow as pa
import pytest

from clipaudit.corpora.samples import SAMPLES
from clipaudit.errors import InputError
from clipaudit.reports.gallery_options import CorpusTars, Sources
from clipaudit.reports.shown_pictures import shown_pictures
from clipaudit.store.actions import LabelledFile
from clipaudit.store.parquet import write_tables

NO_PICTURES = Sources(pictures=False, tars=())


def samples_file(folder, corpus, *addresses):
    """The samples of these (shard, row) of a corpus; the uid says which it is."""
    path = folder / f"{corpus}-{len(list(folder.iterdir()))}.parquet"
    blank = {"key": "k", "image_sha256": "0" * 64, "image_format": "png"}
    blank |= {"width": 1, "height": 1, "image_bytes": 1}
    rows = [
        blank | {"shard": shard, "row": row, "uid": uid(corpus, shard, row)}
        for shard, row in addresses
    ]
    write_tables([pa.Table.from_pylist(rows, SAMPLES)], SAMPLES, path)
    return LabelledFile(path, {"corpus": corpus})


def write_shard(path, pictures):
    with tarfile.open(path, "w") as tar:
        for key, content in pictures.items():
            info = tarfile.TarInfo(f"{key}.jpg")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))


def uid(corpus, shard, row):
    return f"{corpus}{shard}{row}".encode().hex().zfill(32)


def test_uids_are_looked_up_by_corpus_shard_and_row(tmp_path):
    files = [
        samples_file(tmp_path, "a", (0, 0), (0, 1)),
        samples_file(tmp_path, "a", (1, 1), (1, 5)),
        samples_file(tmp_path, "b", (0, 1)),
    ]

    found = shown_pictures({"a": [1, 1 << 32 | 5], "b": {1}}, NO_PICTURES, [], files)

    assert found == {
        ("a", 1): uid("a", 0, 1),
        ("a", 1 << 32 | 5): uid("a", 1, 5),
        ("b", 1): uid("b", 0, 1),
    }


def test_a_sample_that_is_not_indexed_is_named(tmp_path):
    file = samples_file(tmp_path, "a", (0, 0), (2, 0))

    with pytest.raises(InputError, match=r"a: no uid of row 7 of shard 1, .* has 1 of the 2 sampl"):
        shown_pictures({"a": [0, 1 << 32 | 7]}, NO_PICTURES, [], [file])


def test_corpora_without_tars_show_uids_next_to_images(tmp_path):
    tar = tmp_path / "a.tar"
    write_shard(tar, {"0": b"picture"})
    sources = Sources(pictures=True, tars=(CorpusTars("a", 1),))
    file = samples_file(tmp_path, "b", (0, 0))

    found = shown_pictures({"a": [0], "b": [0]}, sources, [tar], [file])

    assert found == {("a", 0): b"picture", ("b", 0): uid("b", 0, 0)}


def test_no_shown_images_need_no_inputs():
    assert shown_pictures({}, NO_PICTURES, [], []) == {}
    assert shown_pictures({"a": []}, NO_PICTURES, [], []) == {}
