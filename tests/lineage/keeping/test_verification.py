import os
import shutil
from pathlib import Path

import pytest

from clipaudit.lineage.keeping.verification import verify_results
from clipaudit.lineage.snapshots import pin, snapshot
from clipaudit.remote.stubs import Stub, write_stub
from clipaudit.steps.filedigests import FileDigests
from clipaudit.store.actions import ActionCache, ActionInput, ActionOutput, Ingredients
from clipaudit.store.placements import Placement, place
from clipaudit.store.records import Execution, Record, write_record
from clipaudit.store.store import Store, link_object, replace_text

NAMES = ("one", "two", "three")
RAN = Execution("2026-01-01T00:00:00", 1.0, "host", 100, 1, {}, {})


class Run:
    """A results folder of three tables, made from one shard, as steps write it."""

    def __init__(self, folder):
        self.results, self.store, self.shard = (
            folder / "results",
            Store(folder / "store"),
            folder / "0.tar",
        )
        self.shard.write_text("shard")
        self.pointers = {name: self.act(key, name) for key, name in zip("abc", NAMES, strict=True)}

    def act(self, key, name, output="table"):
        key, path = key * 64, self.results / f"stage/{name}.json"
        shard = FileDigests(self.store.root / "files").digest(self.shard)
        inputs = {"tars": [ActionInput(shard, str(self.shard))]}
        pointer = self.store.put_bytes(name.encode(), schema="txt")
        outputs = {output: ActionOutput(pointer, ".txt", {})}
        ingredients = Ingredients("index", "code", {}, inputs, {})
        write_record(self.store, Record(key, ingredients, outputs, {}, RAN))
        ActionCache(self.store).record(key, outputs)
        place(self.results, path, Placement(key, output, {}))
        link_object(path.with_suffix(".txt"), self.store.path(pointer.digest))
        replace_text(path, pointer.to_json())
        return path

    def object(self, name):
        return Path(os.path.realpath(self.pointers[name].with_suffix(".txt")))

    def alter(self, name, content):
        os.chmod(self.object(name), 0o644)
        self.object(name).write_text(content)

    def verify(self, **options):
        return verify_results(self.results, self.store, **options)


@pytest.fixture
def run(tmp_path):
    return Run(tmp_path)


def found(report):
    """Return the kind of every fault and the name of its place."""
    return [(fault.kind, Path(fault.place).name) for fault in report.faults]


def test_an_unchanged_run_has_no_fault(run):
    report = run.verify()

    assert (report.pointers, report.objects, report.bytes) == (3, 3, len("onetwothree"))
    assert report.faults == []


@pytest.mark.parametrize(
    ("content", "kind"), [("eno", "corrupt"), ("on", "wrong size"), ("", "wrong size")]
)
def test_an_altered_object_is_distinguished_from_a_truncated_one(run, content, kind):
    run.alter("one", content)

    (fault,) = run.verify().faults

    assert (fault.kind, fault.pointer) == (kind, run.pointers["one"])
    assert "--repair" in fault.remedy


def test_a_missing_object_is_reported_once_and_not_as_a_dangling_link(run):
    run.object("one").unlink()

    assert found(run.verify()) == [("missing", "one.json")]


def test_every_pointer_to_a_damaged_object_is_reported(run):
    shutil.copy(run.pointers["one"], run.results / "stage/same.json")
    run.alter("one", "xxx")

    report = run.verify()

    assert [each for each in found(report) if each[0] == "corrupt"] == [
        ("corrupt", "one.json"), ("corrupt", "same.json"),
    ]  # fmt: skip
    assert report.objects == 3


@pytest.mark.parametrize("text", ["", '{"digest": 1}', "[]"])
def test_an_unreadable_pointer_is_reported(run, text):
    run.pointers["one"].write_text(text)

    report = run.verify()

    assert found(report) == [("pointer", "one.json")]
    assert report.faults[0].what.endswith("Remove it and run its rule again")  # a stop follows


def test_another_json_file_is_not_a_pointer(run):
    (run.results / "report.json").write_text('{"mine": []}')

    assert run.verify().faults == []


def test_a_wrong_or_missing_link_is_reported(run):
    link_object(run.pointers["one"].with_suffix(".txt"), run.object("two"))
    run.pointers["two"].with_suffix(".txt").unlink()

    report = run.verify()

    assert found(report) == [("link", "one.txt"), ("link", "two.txt")]
    assert "leads to " in report.faults[0].what


def test_an_output_without_a_record_is_unverifiable_but_not_broken(run):
    (run.results / ".actions/stage/one.json").unlink()
    shutil.rmtree(run.store.root / "lineage/bb")

    report = run.verify()

    assert found(report) == [("unverifiable", "one.json"), ("unverifiable", "two.json")]
    assert report.broken == []


@pytest.mark.parametrize("now", [None, "other"])
def test_a_changed_shard_makes_its_outputs_unverifiable(run, now):
    run.shard.unlink()
    if now:
        run.shard.write_text(now)

    (fault,) = run.verify().faults

    assert (fault.kind, fault.place) == ("unverifiable", str(run.shard))
    assert "one.json and 2 more came from it as " in fault.what


def test_a_relative_shard_path_is_resolved_from_the_folder_of_the_results(
    run, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    run.shard = Path("0.tar")
    run.act("d", "four")
    monkeypatch.chdir("/")

    assert run.verify().faults == []


def test_an_object_that_only_a_pin_names_is_verified_too(run):
    pin(run.store, "first", snapshot(run.results))
    run.alter("one", "xxx")
    run.pointers["one"].unlink()

    (fault,) = run.verify().faults

    assert (fault.kind, fault.place) == ("corrupt", "pin first, stage/one.json")
    assert "remove the pin" in fault.remedy


def test_an_object_that_nothing_names_is_verified_on_request(run):
    run.alter("one", "xxx")
    run.pointers["one"].unlink()

    assert run.verify().faults == []
    assert [fault.kind for fault in run.verify(everything=True).faults] == ["corrupt"]


def test_progress_ends_at_the_total(run):
    told = []

    run.verify(progress=lambda done, total: told.append((done, total)))

    assert told[-1] == (11, 11)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_a_shard_moved_to_a_server_is_remote_and_not_missing(run):
    digest = FileDigests(run.store.root / "files").digest(run.shard)
    write_stub(run.store.root / "files", Stub("s3://bucket/0.tar", 5, digest))
    run.shard.unlink()

    report = run.verify()

    assert (report.remote, report.faults) == (1, [])


@pytest.mark.parametrize("replaced", [False, True])
def test_a_shard_that_a_later_run_found_elsewhere_is_not_missing(run, tmp_path, replaced):
    moved = run.shard.rename(tmp_path / "moved.tar")
    FileDigests(run.store.root / "files").digest(moved)
    if replaced:
        run.shard.write_text("other")

    assert run.verify().faults == []
