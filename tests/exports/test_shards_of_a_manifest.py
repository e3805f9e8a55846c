"""New shards of kept samples, and shards of manifests by name."""

import fcntl
import io
import json
import os
import subprocess
import sys
import tarfile

import numpy as np
import pytest
from click.testing import CliRunner
from exportedrun import ExportedRun, picture, two_parts, uid
from PIL import Image

from clipaudit.cli.commands import commands
from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.samples import index_shards
from clipaudit.corpora.sealed import CorpusToSeal, ShardToSeal, seal


@pytest.fixture
def run(tmp_path):
    return two_parts(tmp_path)


def ask(run, *arguments):
    folders = ("--results", str(run.results), "--store", str(run.store.root))
    return CliRunner().invoke(commands, ["stream", *map(str, arguments), *folders])


def sealed(run, name="both"):
    """Seal row 0 of the first shard and row 1 of the last, as the workflow does."""
    digests = [run.named(f"tars/large/{number}.tar").digest for number in range(3)]
    bitmaps = [b"\1", b"\0", b"\2"]
    shards = [ShardToSeal(*each) for each in zip(digests, [2, 2, 2], bitmaps, strict=True)]
    content = seal([CorpusToSeal("large", Captioning("text"), shards)])
    return run.seal(name, "large/all/00000", content=content)


def names(data):
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return tar.getnames()


def shards(folder):
    return {path.name: names(path.read_bytes()) for path in sorted(folder.glob("*.tar"))}


@pytest.mark.parametrize("asked", ["both", 12, 64])
def test_a_sealed_manifest_streams_by_its_name_and_its_digest(run, asked):
    digest = sealed(run)

    answer = ask(run, digest[:asked] if isinstance(asked, int) else asked, 2)

    assert answer.exit_code == 0, answer.output
    assert names(answer.stdout_bytes) == ["0001.txt", "0001.json", "0001.png"]


def test_a_single_shard_is_named_in_the_singular(run):
    answer = ask(run, "large/pruned", "--to", run.folder / "one")

    assert answer.stderr.endswith("one: 1 shard with 3 samples of large/pruned\n")


def test_an_unsealed_manifest_streams_like_a_sealed_one(run):
    answer = ask(run, "large/pruned", 1)

    assert answer.exit_code == 0, answer.output
    assert names(answer.stdout_bytes) == ["0000.txt", "0000.json", "0000.png"]
    assert ask(run, "large/pruned", 3).stderr.startswith("Error: shard 3 of a manifest of 3")


def test_new_shards_hold_the_kept_samples_in_order(run):
    output = run.folder / "kept"

    answer = ask(run, "large/pruned", "--to", output, "--samples-per-shard", 2)

    assert answer.stderr == f"{output}: 2 shards with 3 samples of large/pruned\n"
    found = {name: members[::3] for name, members in shards(output).items()}
    assert found == {
        "00000.tar": ["00000-00000000.txt", "00001-00000000.txt"],
        "00001.tar": ["00002-00000001.txt"],
    }
    sizes = json.loads((output / "sizes.json").read_text())
    assert sizes == {"00000.tar": 2, "00001.tar": 1}


@pytest.mark.parametrize("many", [1, 2, 3, 100])
def test_new_shards_index_to_the_same_samples(run, many):
    output = run.folder / "kept"

    ask(run, "large/pruned", "--to", output, "--samples-per-shard", many)

    tars = list(enumerate(sorted(output.glob("*.tar"))))
    samples, drops = index_shards(tars, Captioning(), needs_caption=True, needs_label=False)
    assert (samples["uid"].to_pylist(), len(drops)) == ([uid(9), uid(7), uid(4)], 0)
    assert samples["caption"].to_pylist() == ["caption 0", "caption 2", "caption 5"]


def test_the_same_manifest_gives_the_same_bytes(run):
    sealed(run)
    for output in ("one", "two"):
        ask(run, "both", "--to", run.folder / output)

    first, second = (run.folder / output / "00000.tar" for output in ("one", "two"))
    assert first.read_bytes() == second.read_bytes()


def test_a_full_digest_needs_no_results(run, tmp_path):
    digest = sealed(run)
    run.results.rename(tmp_path / "gone")

    assert ask(run, digest, "--to", run.folder / "kept").exit_code == 0
    assert list(shards(run.folder / "kept")) == ["00000.tar"]


def test_sample_names_never_reach_new_shards(tmp_path):
    run = ExportedRun(tmp_path)
    tars = [[(uid(n), "x", picture(n))] for n in range(2)]  # both have a sample with the same key
    run.index("odd", "00000", tars, key="-rf\u202e/=%2f<b>{:04d}")
    run.manifest("odd", "all", "00000", [(0, 0, None), (1, 0, None)])

    ask(run, "odd/all", "--to", tmp_path / "kept")

    (members,) = shards(tmp_path / "kept").values()
    assert members[::3] == ["00000-00000000.txt", "00001-00000000.txt"]


def test_an_empty_manifest_gives_no_shard(run):
    run.manifest("large", "none", "00000", [(0, 0, "gone")])
    run.manifest("large", "none", "00001", [(2, 0, "gone")])

    answer = ask(run, "large/none", "--to", run.folder / "kept")

    assert answer.stderr.endswith("0 shards with 0 samples of large/none\n")
    assert json.loads((run.folder / "kept/sizes.json").read_text()) == {}


def test_new_shards_replace_only_their_own_kind_and_only_by_force(run):
    output = run.folder / "kept"
    ask(run, "large/pruned", "--to", output)

    refused = ask(run, "large/all", "--to", output)
    ask(run, "large/all", "--to", output, "--force")

    assert (refused.exit_code, "kept: contains shards of 10000 sam" in refused.stderr) == (1, True)
    assert json.loads((output / "sizes.json").read_text()) == {"00000.tar": 5}
    (output / ".clipaudit").unlink()
    answer = ask(run, "large/all", "--to", output, "--force")
    assert "a folder that has no .clipaudit" in answer.stderr


def test_a_changed_shard_leaves_only_complete_ones_and_no_sizes(run):
    tar = run.folder / "tars/large/2.tar"
    tar.write_bytes(tar.read_bytes() + bytes(512))

    answer = ask(run, "large/pruned", "--to", run.folder / "kept", "--samples-per-shard", 2)

    assert (answer.exit_code, "2.tar: its SHA-256 is now" in answer.stderr) == (1, True)
    assert sorted(os.listdir(run.folder / "kept")) == [".clipaudit", "00000.tar"]


def content(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_complete_shards_are_kept_and_missing_ones_are_written(run):
    output = run.folder / "kept"
    asked = ("large/all", "--to", output, "--samples-per-shard", 2)
    ask(run, *asked)
    before, kept = content(output), (output / "00000.tar").stat().st_mtime_ns
    for name in ("00001.tar", "sizes.json"):
        (output / name).unlink()
    (output / ".00001.tar.left").write_bytes(b"cut")

    answer = ask(run, *asked)

    assert answer.stderr == f"{output}: 3 shards with 5 samples of large/all\n"
    assert content(output) == before
    assert (output / "00000.tar").stat().st_mtime_ns == kept


def test_sources_needed_only_for_complete_shards_are_not_read(run):
    asked = ("large/pruned", "--to", run.folder / "kept", "--samples-per-shard", 1)
    ask(run, *asked)
    (run.folder / "kept/00002.tar").unlink()
    (run.folder / "tars/large/0.tar").unlink()

    assert ask(run, *asked).exit_code == 0
    assert len(shards(run.folder / "kept")) == 3


@pytest.mark.parametrize(
    ("manifest", "many", "found"),
    [("large/all", 2, "of 2 samples of the"), ("large/pruned", 3, "requested are shards of 3")],
)
def test_another_manifest_or_size_is_refused_and_changes_nothing(run, manifest, many, found):
    output = run.folder / "kept"
    ask(run, "large/pruned", "--to", output, "--samples-per-shard", 2)
    before = content(output)

    answer = ask(run, manifest, "--to", output, "--samples-per-shard", many)

    assert (answer.exit_code, answer.stderr.count("\n"), found in answer.stderr) == (1, 1, True)
    assert content(output) == before


def test_a_folder_of_other_files_is_refused_and_unchanged(run):
    (run.folder / "kept").mkdir()
    (run.folder / "kept/00000.tar").write_bytes(b"mine")

    answer = ask(run, "large/pruned", "--to", run.folder / "kept")

    assert "has files that `clipaudit stream` did not write" in answer.stderr
    assert content(run.folder / "kept") == {"00000.tar": b"mine"}


def test_shards_are_written_on_a_disk_that_cannot_lock(run, monkeypatch):
    def refuse(file, how):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)

    answer = ask(run, "large/pruned", "--to", run.folder / "kept")

    assert answer.exit_code == 0
    assert (run.folder / "kept/00000.tar").is_file()


def test_a_folder_that_another_command_is_writing_is_refused(run):
    output = run.folder / "kept"
    ask(run, "large/pruned", "--to", output)
    with (output / ".clipaudit").open() as mark:
        fcntl.flock(mark, fcntl.LOCK_EX)
        answer = ask(run, "large/pruned", "--to", output)

    assert (answer.exit_code, "another command is writing it" in answer.stderr) == (1, True)


def test_a_killed_command_is_completed_by_the_same_command(tmp_path):
    run = ExportedRun(tmp_path)
    noise = np.random.default_rng(0).integers(0, 256, (400, 400, 3), np.uint8)
    big = io.BytesIO()
    Image.fromarray(noise).save(big, "PNG", compress_level=0)
    tars = [[(uid(8 * t + n), "x", big.getvalue()) for n in range(8)] for t in range(40)]
    run.index("big", "00000", tars)
    rows = [(shard, row, None) for shard in range(40) for row in range(8)]
    run.manifest("big", "all", "00000", rows)
    folders = ("--results", run.results, "--store", run.store.root, "--samples-per-shard", "20")
    output = tmp_path / "kept"
    command = [sys.executable, "-c", "from clipaudit.cli import main; main()", "stream", "big/all"]

    with subprocess.Popen([*command, *folders, "--to", output]) as process:
        while not list(output.glob("00002.tar")):
            assert process.poll() is None
        process.kill()
    kept = {path: path.stat().st_mtime_ns for path in output.glob("*.tar")}
    assert 3 <= len(kept) < 16
    assert not (output / "sizes.json").exists()
    subprocess.run([*command, *folders, "--to", output], check=True)
    subprocess.run([*command, *folders, "--to", tmp_path / "whole"], check=True)

    assert content(output) == content(tmp_path / "whole")
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


def test_a_manifest_without_parts_is_one_message(run):
    (run.results / "manifests/large/empty").mkdir()

    answer = ask(run, "large/empty", "--to", run.folder / "kept")

    assert "has no parts yet" in answer.stderr


def test_an_incomplete_index_is_one_message(run):
    (run.results / "shards/large/00000.json").unlink()

    answer = ask(run, "large/all", 0)

    assert "has 1 shards, numbered up to 2: the index is incomplete" in answer.stderr
