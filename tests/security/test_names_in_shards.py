"""Names in shards never become file names."""

import io
import tarfile

import pytest
from PIL import Image

from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.samples import index_shards


def picture():
    out = io.BytesIO()
    Image.new("RGB", (4, 4)).save(out, "PNG")
    return out.getvalue()


def shard(path, members):
    with tarfile.open(path, "w") as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def indexed(path):
    return index_shards([(0, path)], Captioning("text"), needs_caption=False, needs_label=False)


@pytest.mark.parametrize("name", ["../evil.png", "a/../../evil.png", "{outside}/evil.png"])
def test_a_member_with_a_path_outside_is_a_drop_and_writes_nothing(tmp_path, monkeypatch, name):
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    path = shard(tmp_path / "0.tar", {name.format(outside=tmp_path): picture()})

    samples, drops = indexed(path)

    assert (samples.num_rows, drops["reason"].to_pylist()) == (0, ["hostile member name"])
    assert not list(tmp_path.rglob("evil*"))


@pytest.mark.parametrize("uid", ["../../evil", "/etc/passwd", "0" * 31 + "/", "0" * 32 + "\n"])
def test_a_uid_that_is_not_a_number_is_replaced(tmp_path, uid):
    text = f'{{"uid": "{uid}"}}'.replace("\n", "\\n").encode()
    path = shard(tmp_path / "0.tar", {"a.png": picture(), "a.json": text})

    samples, _ = indexed(path)

    (given,) = samples["uid"].to_pylist()
    assert len(given) == 32
    assert set(given) <= set("0123456789abcdef")
