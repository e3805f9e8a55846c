import io
import os
import subprocess
import sys
import tarfile

import pytest
from sealedstore import PHOTO, TEXT, labelled_shard, picture, put, text_shard, write_tar

from clipaudit.cli.stream import main
from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.shards import raw_samples
from clipaudit.imports.image_folder import list_folder

COMMAND = [sys.executable, "-m", "clipaudit.cli.stream"]


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("CLIPAUDIT_STORE", str(tmp_path / "store"))
    return tmp_path / "store"


def filtered(path, kept, add=lambda key, members: None):
    """Return the filtered tar, made by tarfile alone."""
    samples = {}
    with tarfile.open(path) as tar:
        for info in tar:
            key, _, extension = info.name.partition(".")
            samples.setdefault(key, {})[extension] = (info, tar.extractfile(info).read())
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for row, (key, members) in enumerate(samples.items()):
            if row not in kept:
                continue
            for info, data in members.values():
                tar.addfile(info, io.BytesIO(data))
            text = add(key, members)
            if text is not None:
                info = tarfile.TarInfo(f"{key}.txt")
                info.size = len(text.encode())
                tar.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def same_tar(ours, theirs):
    """Return whether the bytes are equal up to the end marker, which tarfile pads."""
    assert ours.endswith(bytes(1024))
    return ours.rstrip(b"\0") == theirs.rstrip(b"\0")


@pytest.mark.parametrize("kept", [set(), {0}, {0, 1, 3, 4}, {1, 4, 30}, set(range(40))])
def test_kept_rows_are_exported_unchanged(store, tmp_path, capsysbinary, kept):
    path = text_shard(tmp_path / "0.tar", 40)
    digest = put(store, (TEXT, [(path, 40, kept)]))

    code = main([digest, "0"])

    def add(key, members):
        return None if "txt" in members else f"json {int(key)}"

    assert code == 0
    assert same_tar(capsysbinary.readouterr().out, filtered(path, kept, add))


def test_corpora_without_captions_gain_none(store, tmp_path, capsysbinary):
    path = text_shard(tmp_path / "0.tar", 9)
    digest = put(store, (Captioning("none"), [(path, 9, {2, 3})]))

    main([digest, "0"])

    assert same_tar(capsysbinary.readouterr().out, filtered(path, {2, 3}))


def test_a_kept_sample_whose_caption_is_unreadable_gains_none(store, tmp_path, capsysbinary):
    fields = [b'{"caption": "cut', b'{"caption": 5}', b'\xff{"caption": "a cat"}']
    members = []
    for n, json in enumerate(fields):
        members += [(f"{n}.jpg", picture(n)), (f"{n}.json", json)]
    path = write_tar(tmp_path / "0.tar", members)
    digest = put(store, (TEXT, [(path, 3, {0, 1, 2})]))

    assert main([digest, "0"]) == 0

    assert same_tar(capsysbinary.readouterr().out, filtered(path, {0, 1, 2}))


def test_labelled_corpora_gain_a_caption(store, tmp_path, capsysbinary):
    paths = [text_shard(tmp_path / "0.tar", 3), labelled_shard(tmp_path / "1.tar", [0, 1, 1])]
    digest = put(store, (TEXT, [(paths[0], 3, {0})]), (PHOTO, [(paths[1], 3, {0, 2})]))

    main([digest, "1"])

    def add(key, members):
        return PHOTO.caption({"cls": members["cls"][1]})

    out = capsysbinary.readouterr().out
    assert same_tar(out, filtered(paths[1], {0, 2}, add))
    assert "a photo of a größe".encode() in out


def test_the_first_of_several_captions_is_the_text(store, tmp_path, capsysbinary):
    listed = b'{"captions": [" ", "a cat", "a dog"]}'
    members = [
        ("a.json", listed),
        ("a.jpg", b"x"),
        ("b.txt", b"\na red cat\na dog"),
        ("b.jpg", b"y"),
    ]
    path = write_tar(tmp_path / "0.tar", members)
    digest = put(store, (Captioning("texts"), [(path, 2, {0, 1})]))

    main([digest, "0"])

    with tarfile.open(fileobj=io.BytesIO(capsysbinary.readouterr().out)) as tar:
        assert tar.getnames() == ["a.json", "a.jpg", "a.txt", "b.jpg", "b.txt"]
        texts = [tar.extractfile(name).read() for name in ("a.json", "a.txt", "b.txt")]
    assert texts == [listed, b"a cat", b"a red cat"]


def test_a_generated_caption_replaces_an_existing_one(store, tmp_path, capsysbinary):
    members = [("a.txt", b"old"), ("a.cls", b"1"), ("a.jpg", b"x")]
    path = write_tar(tmp_path / "0.tar", members)
    digest = put(store, (PHOTO, [(path, 1, {0})]))

    main([digest, "0"])

    with tarfile.open(fileobj=io.BytesIO(capsysbinary.readouterr().out)) as tar:
        assert tar.getnames() == ["a.cls", "a.jpg", "a.txt"]
        assert tar.extractfile("a.txt").read().decode() == "a photo of a größe"


@pytest.mark.parametrize("format", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_and_odd_names_survive(store, tmp_path, capsysbinary, format):
    names = ["ü" * 90 + "/" + "y" * 120, "plain", "k\udcff"]
    members = [(f"{name}.{kind}", b"0") for name in names for kind in ("jpg", "cls")]
    path = write_tar(tmp_path / "0.tar", members, format=format)
    digest = put(store, (PHOTO, [(path, 3, {0, 2})]))

    main([digest, "0"])

    with tarfile.open(fileobj=io.BytesIO(capsysbinary.readouterr().out)) as tar:
        assert tar.getnames() == [
            f"{name}.{kind}" for name in (names[0], names[2]) for kind in ("jpg", "cls", "txt")
        ]


def test_a_touched_shard_is_still_found(store, tmp_path, capsysbinary):
    path = text_shard(tmp_path / "0.tar", 4)
    digest = put(store, (TEXT, [(path, 4, {1})]))
    os.utime(path)

    assert main([digest, "0"]) == 0
    assert b"caption 1" in capsysbinary.readouterr().out


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["ab"],
        ["ab" * 32],
        ["ab" * 32, "-1"],
        ["ab" * 32, "1.0"],
        ["ab" * 32, "0", "1"],
        ["ab" * 32, "0", "--to", "folder"],
        ["ab" * 32, "--to", "folder", "--samples-per-shard", "0"],
    ],
)
def test_wrong_arguments_show_the_usage(capsysbinary, argv):
    with pytest.raises(SystemExit, match="2"):
        main(argv)

    out, err = capsysbinary.readouterr()
    assert out == b""
    assert b"Usage: clipaudit stream [OPTIONS] MANIFEST [SHARD]" in err


@pytest.mark.parametrize("asked", ["ab" * 31, "AB" * 32, "../" + "a" * 61, "ab" * 32 + "\n"])
def test_an_argument_that_is_not_a_manifest_is_a_one_line_error(
    store, tmp_path, monkeypatch, capsysbinary, asked
):
    monkeypatch.chdir(tmp_path)

    with pytest.raises(SystemExit, match="1"):
        main([asked, "0"])

    out, err = capsysbinary.readouterr()
    assert (out, err.count(b"\n")) == (b"", 1)
    assert b"results: no manifest" in err


def test_help_has_an_example(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    assert "Example:" in capsys.readouterr().out


def error_of(capsysbinary, argv):
    assert main(argv) == 1
    out, err = capsysbinary.readouterr()
    assert err.count(b"\n") == 1
    return out, err.decode()


def test_an_unknown_manifest_is_a_one_line_error(store, capsysbinary):
    out, err = error_of(capsysbinary, ["ab" * 32, "0"])

    assert out == b""
    assert "the sealed manifest cannot be read" in err


def test_a_shard_beyond_the_manifest_is_a_one_line_error(store, tmp_path, capsysbinary):
    digest = put(store, (TEXT, [(text_shard(tmp_path / "0.tar", 2), 2, {0})]))

    _, err = error_of(capsysbinary, [digest, "1"])

    assert "shard 1 of a manifest of 1" in err


def test_a_changed_shard_is_refused(store, tmp_path, capsysbinary):
    path = text_shard(tmp_path / "0.tar", 2)
    digest = put(store, (TEXT, [(path, 2, {0})]))
    text_shard(path, 3)

    out, err = error_of(capsysbinary, [digest, "0"])

    assert out == b""
    assert "0.tar: its SHA-256 is now" in err


def test_a_row_count_that_differs_from_the_manifest_is_reported(store, tmp_path, capsysbinary):
    path = text_shard(tmp_path / "0.tar", 2)
    digest = put(store, (TEXT, [(path, 3, {0})]))

    _, err = error_of(capsysbinary, [digest, "0"])

    assert "0.tar: it has 2 rows, but the manifest keeps 1 of 3 rows" in err


def test_a_kept_row_with_a_fault_is_reported(store, tmp_path, capsysbinary):
    path = write_tar(tmp_path / "0.tar", [("a.jpg", b"x"), ("a.jpg", b"y")])
    digest = put(store, (TEXT, [(path, 1, {0})]))

    _, err = error_of(capsysbinary, [digest, "0"])

    assert "row 0: duplicate member" in err


def test_a_kept_row_without_its_class_is_reported(store, tmp_path, capsysbinary):
    path = write_tar(tmp_path / "0.tar", [("a.jpg", b"x"), ("a.cls", b"7")])
    digest = put(store, (PHOTO, [(path, 1, {0})]))

    _, err = error_of(capsysbinary, [digest, "0"])

    assert "0.tar, row 0: unknown class: 7 is outside 0 to 1" in err


def test_only_the_standard_library_is_imported(store, tmp_path):
    digest = put(store, (PHOTO, [(labelled_shard(tmp_path / "0.tar", [0, 1]), 2, {0})]))
    program = (
        "import sys, clipaudit; before = set(sys.modules)\n"
        "from clipaudit.cli import main\n"
        "try: main()\n"
        "except SystemExit as done: assert not done.code\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(new - set(sys.stdlib_module_names)), file=sys.stderr)"
    )

    done = subprocess.run(
        [sys.executable, "-c", program, "stream", digest, "0"], capture_output=True
    )

    assert done.stdout.endswith(bytes(1024))
    assert done.stderr.strip() == b"['clipaudit']"


def test_a_reader_that_stops_is_not_an_error(store, tmp_path):
    path = write_tar(tmp_path / "0.tar", [("a.jpg", bytes(4_000_000)), ("b.jpg", bytes(4_000_000))])
    digest = put(store, (Captioning("none"), [(path, 2, {0, 1})]))

    with subprocess.Popen(
        [*COMMAND, digest, "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.read(1000)
        process.stdout.close()
        error = process.stderr.read()

    assert (process.returncode, error) == (141, b"")


def test_a_full_disk_is_reported(store, tmp_path):
    path = write_tar(tmp_path / "0.tar", [("a.jpg", bytes(1_000_000))])
    digest = put(store, (Captioning("none"), [(path, 1, {0})]))

    with open("/dev/full", "wb") as full:
        done = subprocess.run([*COMMAND, digest, "0"], stdout=full, stderr=subprocess.PIPE)

    assert done.returncode == 1
    assert b"Error: standard output: No space left" in done.stderr


def test_listed_images_are_streamed_as_a_tar(store, tmp_path, capsysbinary):
    for name in ("a.b.jpg", "c.jpg", "d.jpg"):
        (tmp_path / "images").mkdir(exist_ok=True)
        (tmp_path / "images" / name).write_bytes(picture(len(name)))
    (tmp_path / "images/d.txt").write_text("a red square")
    (path,) = list_folder(tmp_path / "images", tmp_path / "lists").lists
    rows = {sample.key: sample.row for sample in raw_samples(path)}
    kept = [rows[name] for name in ("a.b.jpg", "d.jpg")]
    digest = put(store, (Captioning("none"), [(path, 3, set(kept))]))

    assert main([digest, "0"]) == 0

    (tmp_path / "out.tar").write_bytes(capsysbinary.readouterr().out)
    found = {sample.key: sample.members for sample in raw_samples(tmp_path / "out.tar")}
    assert found.keys() == {f"{row:09d}" for row in kept}
    assert found[f"{kept[0]:09d}"]["jpg"] == picture(7)
    assert found[f"{kept[1]:09d}"]["txt"] == b"a red square"
