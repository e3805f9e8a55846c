"""Unreadable files, empty files, and images whose headers claim too much."""

import io
import os
import resource
import struct
import tarfile
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from clipaudit.corpora.images import open_picture
from clipaudit.corpora.reasons import Unusable
from clipaudit.corpora.shards import raw_samples
from clipaudit.errors import InputError, StoreError
from clipaudit.steps.filedigests import FileDigests
from clipaudit.store.store import Store

NOBODY = 65534


@contextmanager
def without_rights():
    """Become nobody for a while if we are root, because file modes do not stop root."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.fixture
def locked(tmp_path):
    path = tmp_path / "locked"
    path.write_bytes(b"content")
    path.chmod(0)
    return path


def test_an_unreadable_shard_is_named(locked):
    with (
        without_rights(),
        pytest.raises(InputError, match="locked: the shard cannot be opened"),
    ):
        list(raw_samples(locked))


def test_an_unreadable_file_is_named_when_it_is_hashed(locked, tmp_path):
    files = FileDigests(tmp_path / "files")

    with without_rights(), pytest.raises(InputError, match=r"locked: .*\(Permission denied\)"):
        files.digest(locked)


def test_an_unreadable_object_is_distinguished_from_a_damaged_one(tmp_path):
    store = Store(tmp_path / "store")
    pointer = store.put_bytes(b"abc", schema="x")
    (store.root / "seen").rename(tmp_path / "seen of another machine")
    store.path(pointer.digest).chmod(0)

    with without_rights():
        flaw = store.flaw(pointer)
        with pytest.raises(StoreError, match=r"cannot be read \(.*\)\. Give this user permission"):
            store.checked_path(pointer)

    assert flaw.damage == "unreadable"


@pytest.mark.parametrize("name", ["empty.tar", "empty.tar.gz"])
def test_an_empty_shard_is_named_with_what_to_do(tmp_path, name):
    (tmp_path / name).write_bytes(b"")

    with pytest.raises(InputError, match=r"empty\.tar.*: not a readable tar: .*Fetch or write the"):
        list(raw_samples(tmp_path / name))


def test_an_empty_image_is_corrupt():
    with pytest.raises(Unusable, match="corrupt image: 0 bytes"):
        open_picture(b"")


# --- bombs ---------------------------------------------------------------------------------------


def jpeg_bomb(width, height):
    """Return a JPEG of some hundred bytes whose header claims `width` x `height`."""
    out = io.BytesIO()
    Image.new("RGB", (8, 8)).save(out, "JPEG")
    data = bytearray(out.getvalue())
    start = data.index(b"\xff\xc0")  # the frame: marker, length, precision, height, width
    data[start + 5 : start + 9] = struct.pack(">HH", height, width)
    return bytes(data)


@pytest.mark.parametrize("sides", [(65_500, 65_500), (9_500, 9_500), (65_500, 100)])
def test_a_jpeg_bomb_is_refused_before_it_uses_memory(sides):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    with pytest.raises(Unusable, match="absurd image size"):
        open_picture(jpeg_bomb(*sides))

    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kB


def test_a_gzip_bomb_is_not_held_in_memory(tmp_path):
    """300 MiB of zeros, 300 kB compressed, are a sample that is too large."""
    member = tarfile.TarInfo("a.jpg")
    member.size = 300 << 20
    with tarfile.open(tmp_path / "bomb.tar.gz", "w:gz", compresslevel=1) as tar:
        with open("/dev/zero", "rb") as zeros:
            tar.addfile(member, zeros)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    (sample,) = raw_samples(tmp_path / "bomb.tar.gz")

    assert (sample.fault, dict(sample.members)) == ("sample too large", {})
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kB


# --- truncated files -----------------------------------------------------------------------------


def whole_tar():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for row in range(4):
            for extension, content in ((".jpg", bytes(700)), (".txt", b"a cat")):
                member = tarfile.TarInfo(f"{row:03d}{extension}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


WHOLE = whole_tar()
HEADER, SAMPLE = 512, 512 + 1024 + 512 + 512  # bytes; a sample has two members
CONTENT = 4 * SAMPLE  # followed by the end marker


@given(cut=st.integers(1, CONTENT - 1))
def test_a_truncated_tar_gives_the_samples_before_the_cut_and_reports_it(tmp_path_factory, cut):
    """A sample is known to be complete only when the header of the next one is read."""
    path = tmp_path_factory.mktemp("cut") / "a.tar"
    path.write_bytes(WHOLE[:cut])
    if cut < HEADER:
        with pytest.raises(InputError, match=r"not a readable tar: .* ends at byte"):
            list(raw_samples(path))
        return

    *good, last = raw_samples(path)

    assert last.fault == "truncated tar"
    assert [sample.row for sample in good] == list(range((cut - HEADER) // SAMPLE))
    assert all(sample.fault is None for sample in good)
