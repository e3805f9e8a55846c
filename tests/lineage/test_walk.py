from dataclasses import replace
from pathlib import Path

import pytest

from clipaudit.errors import StoreError
from clipaudit.lineage.walk import Makers, actions_below
from clipaudit.store.actions import ActionInput, ActionOutput, Ingredients
from clipaudit.store.packing import pack
from clipaudit.store.placements import Placement, place, placement
from clipaudit.store.records import Execution, Record, write_record
from clipaudit.store.store import Store, replace_text

RAN = Execution("2026-01-01T00:00:00", 1.0, "host", 100, 1, {}, {})


class Run:
    """A results folder and its store, filled by hand."""

    def __init__(self, folder):
        self.results, self.store = folder / "results", Store(folder / "store")

    def digest(self, key):
        return self.store.put_bytes(key.encode(), schema="x").digest

    def act(self, key, path, *inputs):
        """Record an action that put one file at `path`, made from other files and their makers."""
        pointer = self.store.put_bytes(key.encode(), schema="x")
        files = [
            ActionInput(self.digest(maker), str(self.results / each), {}, maker)
            for each, maker in inputs
        ]
        made_of = Ingredients("step", "code", {}, {"files": files}, {})
        outputs = {"out": ActionOutput(pointer, ".x", {})}
        write_record(self.store, Record(key, made_of, outputs, {}, RAN))
        place(self.results, self.results / path, Placement(key, "out", {}))
        replace_text(self.results / path, pointer.to_json())


def below(run, pointer):
    return set(actions_below(run.results, run.store, [run.results / pointer]))


@pytest.fixture
def run(tmp_path):
    run = Run(tmp_path)
    run.act("aa01", "samples.json")
    run.act("bb01", "manifest.json", ("samples.json", "aa01"))
    run.act("cc01", "table.json", ("manifest.json", "bb01"), ("samples.json", "aa01"))
    run.act("dd01", "left_behind.json")
    return run


def test_the_walk_finds_what_a_table_comes_from_and_nothing_else(run):
    assert below(run, "table.json") == {"aa01", "bb01", "cc01"}


def test_the_walk_does_not_need_the_folder_where_an_action_ran(run):
    for name in ("samples.json", "manifest.json"):
        (run.results / name).unlink()

    assert below(run, "table.json") == {"aa01", "bb01", "cc01"}


def test_the_walk_is_the_same_over_packed_records(run):
    before = actions_below(run.results, run.store, [run.results / "table.json"])

    assert pack(run.store).records == 4

    assert actions_below(run.results, run.store, [run.results / "table.json"]) == before


def test_the_walk_lists_nearer_actions_first(run):
    found = actions_below(run.results, run.store, [run.results / "table.json"])

    assert list(found) == ["cc01", "bb01", "aa01"]


def test_the_walk_below_no_pointer_finds_nothing(run):
    assert actions_below(run.results, run.store, []) == {}


def test_a_missing_record_is_an_error_that_names_its_action(run):
    place(run.results, run.results / "table.json", Placement("ff01", "out", {}))

    with pytest.raises(StoreError, match="no lineage record of action ff01"):
        below(run, "table.json")


def test_a_user_file_has_no_maker_even_inside_the_results(run):
    (run.results / "names.txt").write_text("a")

    assert Makers(run.results).maker(ActionInput("d1", str(run.results / "names.txt"))) is None


def test_the_maker_is_the_last_action_that_put_the_same_content_there(run):
    content = run.store.put_bytes(b"aa01", schema="x")
    file = ActionInput(content.digest, str(run.results / "samples.json"), {}, "aa01")
    place(run.results, run.results / "samples.json", Placement("ee01", "out", {}))

    assert Makers(run.results).maker(file) == "ee01"
    assert Makers(run.results).maker(replace(file, digest="other")) == "aa01"


def test_the_maker_is_the_same_from_any_folder(run, tmp_path, monkeypatch):
    file = ActionInput(run.digest("aa01"), "results/samples.json", {}, "aa01")
    place(run.results, run.results / "samples.json", Placement("ee01", "out", {}))

    for folder, results in ((tmp_path, "results"), (tmp_path.parent, f"{tmp_path.name}/results")):
        monkeypatch.chdir(folder)

        assert Makers(Path(results)).maker(file) == "ee01"
    assert Makers(tmp_path / "other").maker(file) == "aa01"


def test_a_missing_record_of_a_pointer_is_an_error_that_says_what_to_do(run):
    (run.results / ".actions/table.json").unlink()

    with pytest.raises(StoreError, match="no record of the action that made it"):
        placement(run.results, run.results / "table.json")
