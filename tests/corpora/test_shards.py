import bz2
import gzip
import lzma
import subprocess
import sys
import tarfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shardzoo import member, sample, tar_bytes
from webdataset.tariterators import group_by_keys, tar_file_iterator

from clipaudit.corpora import shards
from clipaudit.corpora.shards import raw_samples
from clipaudit.errors import InputError

FORMATS = [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]


def faults(path):
    return [(found.row, found.key, found.fault) for found in raw_samples(path)]


def test_members_with_the_same_name_are_one_sample(shard):
    path = shard([*sample("a", caption="x", uid=1), *sample("b", caption=None)])

    first, second = raw_samples(path)

    assert (first.row, first.key, sorted(first.members)) == (0, "a", ["jpg", "json", "txt"])
    assert (second.row, second.key, second.fault) == (1, "b", None)
    assert first.members["txt"] == b"x"


KEYS = ["000", "a/b.c/000", "./000", "größe/日本", "d" * 90 + "/" + "e" * 90, "a b", "x" * 150]


@pytest.mark.parametrize(
    ("format", "key"),
    # all but the last fit ustar's two name fields
    [(format, key) for format in FORMATS for key in KEYS][:6]
    + [(format, key) for format in FORMATS[1:] for key in KEYS],
)
def test_names_are_read_in_every_format(shard, format, key):
    path = shard(sample(key), format=format)

    (found,) = raw_samples(path)

    assert (found.key, found.fault, found.members["txt"]) == (key, None, b"a cat")


@pytest.mark.parametrize("format", FORMATS)
def test_names_that_are_not_utf8_work(shard, format):
    path = shard(sample("k\udcff"), format=format)

    assert faults(path) == [(0, "k\\xff", None)]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(["a", "b", "d/a", "__m__", ".h", "d.x/c"]), max_size=8, unique=True),
    st.lists(st.sampled_from([".jpg", ".txt", ".seg.png", ".JSON", ""]), min_size=1, unique=True),
    st.sampled_from(FORMATS),
)
def test_members_are_grouped_as_in_webdataset(tmp_path_factory, keys, extensions, format):
    members = [member(k + e, f"{k}{e}".encode()) for k in keys for e in extensions]
    members.insert(len(members) // 2, member("folder/", kind=tarfile.DIRTYPE))
    path = tmp_path_factory.mktemp("shard") / "0.tar"
    path.write_bytes(tar_bytes(members, format=format))

    ours = [(found.key, dict(found.members)) for found in raw_samples(path)]

    with open(path, "rb") as file:
        files = [{**found, "__url__": ""} for found in tar_file_iterator(file)]
    theirs = [
        (found.pop("__key__"), {k: v for k, v in found.items() if k != "__url__"})
        for found in group_by_keys(files)
    ]
    assert ours == theirs


@pytest.mark.parametrize(
    ("bad", "key", "fault"),
    [
        (member("/etc/passwd.txt", b"x"), "/etc/passwd", "hostile member name"),
        (member("../up.jpg", b"x"), "../up", "hostile member name"),
        (member("a/../../up", b"x"), "a/../../up", "hostile member name"),
        (member("..\\up.jpg", b"x"), "..\\up.jpg", "hostile member name"),
        (member("C:/x.jpg", b"x"), "C:/x", "hostile member name"),
        (member("bell\a\x1b[2J.jpg", b"x"), "bell\\x07\\x1b[2J", "hostile member name"),
        (member("new\nline.jpg", b"x"), "new\\x0aline", "hostile member name"),
        (member("n" * 5000 + ".jpg", b"x"), "n" * 4096, "hostile member name"),
        (member("", b"x"), "", "hostile member name"),
        (member("l.jpg", kind=tarfile.SYMTYPE, linkname="/x"), "l", "member is not a plain file"),
        (
            member("l.jpg", kind=tarfile.LNKTYPE, linkname="b.jpg"),
            "l",
            "member is not a plain file",
        ),
        (member("l.jpg", kind=tarfile.CHRTYPE), "l", "member is not a plain file"),
        (member("fifo", kind=tarfile.FIFOTYPE), "fifo", "member is not a plain file"),
        (member("odd.jpg", b"data", kind=b"Z"), "odd", "member is not a plain file"),
    ],
)
def test_hostile_members_are_rows_with_a_fault(shard, bad, key, fault):
    path = shard([*sample("a"), bad, *sample("b")], format=tarfile.GNU_FORMAT)

    assert faults(path) == [(0, "a", None), (1, key, fault), (2, "b", None)]


def test_a_nul_within_a_pax_name_is_hostile(shard):
    bad = member("placeholder", b"x", pax_headers={"path": "nul\0.jpg"})
    path = shard([*sample("a"), bad], format=tarfile.PAX_FORMAT)

    assert faults(path)[1] == (1, "nul\\x00", "hostile member name")


def test_one_hostile_member_spoils_its_sample(shard):
    link = member("a.json", kind=tarfile.SYMTYPE, linkname="/etc/passwd")
    path = shard([*sample("a"), link, *sample("b")])

    (spoilt, good) = raw_samples(path)

    assert (spoilt.fault, spoilt.detail, spoilt.members) == (
        "member is not a plain file",
        "a.json",
        {},
    )
    assert good.fault is None


def test_the_second_sample_of_a_key_is_a_duplicate(shard):
    path = shard([*sample("a"), *sample("b"), *sample("a")])

    assert faults(path) == [(0, "a", None), (1, "b", None), (2, "a", "duplicate key")]
    assert list(raw_samples(path))[2].detail == "first in row 0"


def test_two_members_with_the_same_extension_spoil_the_sample(shard):
    path = shard([*sample("a"), member("a.JPG", b"again"), *sample("b")])

    assert faults(path) == [(0, "a", "duplicate member"), (1, "b", None)]


def test_samples_that_are_too_large_are_not_read(shard, monkeypatch):
    monkeypatch.setattr(shards, "MAX_SAMPLE_BYTES", 2000)
    path = shard([*sample("a"), member("b.jpg", bytes(1500)), member("b.txt", bytes(600))])

    assert faults(path) == [(0, "a", None), (1, "b", "sample too large")]


def test_a_huge_stated_size_is_not_read(shard):
    huge, _ = member("b.jpg", b"")
    huge.size = 10**10
    cut = tar_bytes(sample("a")).rstrip(b"\0")
    cut += bytes(-len(cut) % 512) + huge.tobuf(tarfile.GNU_FORMAT) + bytes(512)

    assert faults(shard(cut)) == [(0, "a", None), (1, "b", "sample too large")]
    assert faults(shard(gzipped(cut))) == [(0, "a", None), (1, "b", "sample too large")]


@pytest.mark.parametrize("suffix", ["tar", "tar.gz"])
def test_every_truncation_of_a_tar_is_detected(tmp_path, suffix):
    whole = tar_bytes([*sample("a"), *sample("b"), *sample("c")])
    end = len(whole.rstrip(b"\0")) // 512 * 512 + 512  # where the end marker starts
    path = tmp_path / f"0.{suffix}"
    for cut in [*range(600, end, 67), end]:
        path.write_bytes(whole[:cut] if suffix == "tar" else gzipped(whole[:cut]))

        found = faults(path)

        assert [fault for _, _, fault in found[:-1]] == [None] * (len(found) - 1)
        assert found[-1][2] == "truncated tar"


def gzipped(data):
    return gzip.compress(data, mtime=0)


def test_gzipped_tars_are_read(shard):
    path = shard([*sample("a"), *sample("b")], name="0.tar.gz", mode="w:gz")

    assert faults(path) == [(0, "a", None), (1, "b", None)]


def test_a_truncated_gzip_stream_is_a_truncated_tar(shard):
    whole = gzipped(tar_bytes([*sample("a"), *sample("b")]))
    path = shard(whole[: len(whole) // 2], name="0.tar.gz")

    assert faults(path)[-1][2] == "truncated tar"


def test_a_damaged_header_ends_the_tar_with_a_faulty_row(shard):
    whole = bytearray(tar_bytes([*sample("a"), *sample("b"), *sample("c")]))
    whole[whole.index(b"b.txt")] ^= 1
    path = shard(bytes(whole))

    found = list(raw_samples(path))

    assert [(f.key, f.fault) for f in found] == [("a", None), ("b", "damaged tar")]
    assert "not a tar header" in found[1].detail


def test_a_long_extension_header_is_refused_with_its_size_and_the_limit(shard):
    long, _ = member("b", kind=tarfile.XHDTYPE)
    long.size = 2**20 + 1
    head = tar_bytes([member("a.txt", b"a cat")])[:1024]  # without the end marker

    *_, last = raw_samples(shard(head + long.tobuf()))

    assert last.fault == "damaged tar"
    assert "of 1,048,577 bytes at byte 1024, where at most 1,048,576 are read" in last.detail


@pytest.mark.parametrize(("compress", "name"), [(bz2.compress, "bzip2"), (lzma.compress, "xz")])
def test_a_tar_that_is_not_compressed_by_gzip_is_named(shard, compress, name):
    path = shard(sample("a"))
    path.write_bytes(compress(path.read_bytes()))

    with pytest.raises(InputError, match=f"it is compressed by {name}, but only gzip is unpacked"):
        list(raw_samples(path))


def test_a_first_name_may_begin_as_compressed_files_do(shard):
    assert faults(shard([member("BZhou.jpg")])) == [(0, "BZhou", None)]


@pytest.mark.parametrize("content", [b"", b"x" * 100, b"\xff\xd8\xff" + b"x" * 5000])
def test_a_file_that_is_not_a_tar_is_an_error_with_its_path(shard, content):
    with pytest.raises(InputError, match=r"00000.tar: not a readable tar: .* again"):
        list(raw_samples(shard(content)))


def test_a_missing_shard_is_an_error_with_its_path(tmp_path):
    with pytest.raises(InputError, match=r"no.tar: the shard cannot be opened .*Check the path"):
        list(raw_samples(tmp_path / "no.tar"))
    with pytest.raises(InputError, match="not a file"):
        list(raw_samples(tmp_path))


def test_a_tar_without_members_has_no_samples(shard):
    assert faults(shard([])) == []


def test_wanted_rows_are_those_of_a_full_read(shard):
    path = shard([*sample("a"), *sample("b"), *sample("a"), *sample("c", caption="last")])
    full = list(raw_samples(path))

    for rows in [{0}, {1, 3}, {2}, set(), {0, 1, 2, 3}]:
        assert list(raw_samples(path, rows.__contains__)) == [full[row] for row in sorted(rows)]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_bytes_raise_no_other_error(tmp_path_factory, data):
    format = data.draw(st.sampled_from(FORMATS))
    members = [*sample("a"), *sample("ü" * 40 + "/" + "y" * 60, uid="x"), *sample("c")]
    content = bytearray(tar_bytes(members, format=format))[:-9000]
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.sampled_from([0, 0x20, 0x30, 0x37, 0x38, 0x78, 0x80, 0xFF]))
    path = tmp_path_factory.mktemp("shard") / "0.tar"
    path.write_bytes(content)

    try:
        found = list(raw_samples(path))
    except InputError:
        return

    assert [sample.row for sample in found] == list(range(len(found)))


def test_reading_needs_only_the_standard_library():
    program = (
        "import sys; before = set(sys.modules);"
        "import clipaudit.corpora.shards, clipaudit.corpora.captions, clipaudit.corpora.sealed;"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before};"
        "print(sorted(new - set(sys.stdlib_module_names)))"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert (done.stdout, done.stderr) == ("['clipaudit']\n", "")
