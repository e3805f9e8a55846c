from dataclasses import replace

import pytest

from clipaudit.actions import ActionInput, ActionOutput, Ingredients
from clipaudit.errors import StoreError
from clipaudit.lineage.placements import Placement, place, placement
from clipaudit.lineage.records import Execution, Record, write_record
from clipaudit.lineage.walk import actions_below, maker
from clipaudit.store import Store, replace_text

RAN = Execution("2026-01-01T00:00:00", 1.0, "host", 100, 1, {}, {})


class Run:
    """A results folder and its store, filled by hand."""

    def __init__(self, folder):
        self.results, self.store = folder / "results", Store(folder / "store")

    def digest(self, key):
        return self.store.put_bytes(key.encode(), schema="x").digest

    def act(self, key, path, *inputs):
        """Record an action that put one file at `path`, made of other files and their makers."""
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
    run.act("aa", "samples.json")
    run.act("bb", "manifest.json", ("samples.json", "aa"))
    run.act("cc", "table.json", ("manifest.json", "bb"), ("samples.json", "aa"))
    run.act("dd", "left_behind.json")
    return run


def test_the_walk_finds_what_a_table_comes_from_and_nothing_else(run):
    assert below(run, "table.json") == {"aa", "bb", "cc"}


def test_the_walk_does_not_need_the_folder_that_an_action_ran_in(run):
    for name in ("samples.json", "manifest.json"):
        (run.results / name).unlink()

    assert below(run, "table.json") == {"aa", "bb", "cc"}


def test_the_maker_is_who_put_the_same_content_there_last(run):
    content = run.store.put_bytes(b"aa", schema="x")
    file = ActionInput(content.digest, str(run.results / "samples.json"), {}, "aa")
    place(run.results, run.results / "samples.json", Placement("ee", "out", {}))

    assert maker(run.results, file) == "ee"
    assert maker(run.results, replace(file, digest="other")) == "aa"


def test_a_pointer_without_its_record_is_an_error_that_says_what_to_do(run):
    (run.results / ".actions/table.json").unlink()

    with pytest.raises(StoreError, match="no record of the action that made it"):
        placement(run.results, run.results / "table.json")
