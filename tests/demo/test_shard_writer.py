import tarfile

import numpy as np
import pyarrow.parquet as pq
import pytest

from clipaudit.demo.shard_writer import TRUTH, Sample, write_files
from clipaudit.store.outputs import write_whole


def plain(number, caption="a star"):
    return Sample(
        pixels=np.full((4, 4, 3), number, np.uint8),
        caption=caption,
        label=number,
        metadata={"width": 4, "height": 4},
        truth={"style": "photo", "labels": [number], "text_repeats_caption": False},
    )


def test_members_are_ordered_and_have_no_time_or_owner(tmp_path):
    write_files([plain(0), plain(1, None)], 3, tmp_path / "a.tar", tmp_path / "a.parquet")

    with tarfile.open(tmp_path / "a.tar") as archive:
        members = archive.getmembers()
    names = ["000000.png", "000000.txt", "000000.cls", "000000.json"]
    names += ["000001.png", "000001.cls", "000001.json"]
    assert [member.name for member in members] == names
    assert {(m.mtime, m.uid, m.gid, m.uname, m.gname) for m in members} == {(0, 0, 0, "", "")}
    assert not any(member.pax_headers for member in members)


def test_the_truth_table_has_one_row_per_sample_with_its_address(tmp_path):
    write_files([plain(5), plain(6)], 3, tmp_path / "a.tar", tmp_path / "a.parquet")

    table = pq.read_table(tmp_path / "a.parquet")

    assert table.schema == TRUTH
    assert table.select(["shard", "row", "key"]).to_pylist() == [
        {"shard": 3, "row": 0, "key": "000000"},
        {"shard": 3, "row": 1, "key": "000001"},
    ]
    assert table["scan"].null_count == 2


def test_a_failed_write_changes_nothing(tmp_path):
    tar, truth = tmp_path / "a.tar", tmp_path / "a.parquet"
    tar.write_text("before")

    def failing():
        yield plain(0)
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        write_files(failing(), 0, tar, truth)

    assert [path.name for path in tmp_path.iterdir()] == ["a.tar"]
    assert tar.read_text() == "before"


def test_writing_a_whole_file_replaces_it(tmp_path):
    for content in (b"one", b"two"):
        write_whole(tmp_path / "file", content)

    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"two"]
