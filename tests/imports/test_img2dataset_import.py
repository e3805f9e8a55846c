import re

import pytest
from downloaded import STATUSES, download, put_samples

from clipaudit.errors import InputError
from clipaudit.imports.img2dataset import import_img2dataset

CAPTIONS = ["a cat", "a dog", None, " "]


def test_the_block_names_the_shards_as_a_range(tmp_path):
    folder = download(tmp_path / "web", *[STATUSES] * 11)

    block = import_img2dataset(folder, "web").blocks["corpora"]["web"]

    assert block == {
        "shards": f"{folder}/{{00000..00010}}.tar",
        "shards_per_part": 11,
        "captions": "none",
    }


def test_captions_are_read_if_img2dataset_had_them(tmp_path):
    folder = download(tmp_path / "web", caption=CAPTIONS)

    imported = import_img2dataset(folder, "web")

    assert imported.blocks["corpora"]["web"]["captions"] == "text"
    assert imported.notes[2] == "4 successes have no caption: index drops them"


def test_rows_are_counted_by_status(tmp_path):
    notes = import_img2dataset(download(tmp_path / "web"), "web").notes

    assert notes[:2] == [
        "2 shards, 8 rows: 6 success, 2 failed_to_download",
        "all shards were compared: samples of the tar = rows with success",
    ]


def test_samples_missing_from_the_parquet_are_named_by_shard_and_number(tmp_path):
    folder = download(tmp_path / "web")
    put_samples(folder / "00001.tar", ["000010000", "000010002", "strange", "stranger"])

    with pytest.raises(InputError) as refused:
        import_img2dataset(folder, "web")
    assert (
        f"1 of 2 shards differ from their Parquet:\n  {folder}/00001.tar: 4 samples, 3 of 4 rows "
        "say success; 1 are not in the tar, first 000010003; 2 are only in the tar, first strange"
    ) in str(refused.value)


def test_only_some_of_many_shards_can_be_compared(tmp_path):
    folder = download(tmp_path / "web", *[STATUSES] * 6)
    put_samples(folder / "00001.tar", ["strange"])

    notes = import_img2dataset(folder, "web", compared=3).notes

    assert notes[1] == "3 of 6 shards were compared: samples of the tar = rows with success"


def test_a_truncated_tar_is_refused(tmp_path):
    folder = download(tmp_path / "web")
    tar = folder / "00000.tar"
    tar.write_bytes(tar.read_bytes()[:2000])

    with pytest.raises(InputError, match=r"00000\.tar: truncated tar: .*, after 1 samples\. Rem"):
        import_img2dataset(folder, "web")


@pytest.mark.parametrize("name", ["00001.parquet", "00001_stats.json", "00001.tar"])
def test_an_unfinished_shard_is_refused(tmp_path, name):
    folder = download(tmp_path / "web")
    (folder / name).unlink()

    with pytest.raises(InputError, match=rf"1 files of 2 shards are missing:\n  00001: no {name}"):
        import_img2dataset(folder, "web")


def test_other_formats_of_img2dataset_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"no tar of img2dataset.*--output_format webdataset"):
        import_img2dataset(tmp_path, "web")


def test_an_invalid_parquet_is_refused(tmp_path):
    folder = download(tmp_path / "web")
    (folder / "00000.parquet").write_bytes(b"PAR1")

    with pytest.raises(InputError, match=r"00000\.parquet: cannot be read as Parquet"):
        import_img2dataset(folder, "web")


def test_an_invalid_parquet_beside_a_tar_that_is_not_compared_is_refused(tmp_path):
    folder = download(tmp_path / "web")
    (folder / "00001.parquet").write_bytes(b"PAR1")

    with pytest.raises(InputError, match=r"00001\.parquet: cannot be read as Parquet"):
        import_img2dataset(folder, "web", compared=1)


def test_captions_that_are_numbers_are_the_texts_that_img2dataset_wrote(tmp_path):
    folder = download(tmp_path / "web", caption=[float("nan"), 1.0, None, 3.0])

    notes = import_img2dataset(folder, "web").notes

    assert notes[2] == "2 successes have no caption: index drops them"  # one in each shard


def test_a_folder_that_reads_as_a_pattern_is_refused(tmp_path):
    folder = download(tmp_path / "web{1,2}")

    with pytest.raises(InputError, match=re.escape("would be read as a pattern")):
        import_img2dataset(folder, "web")
