from dataclasses import replace

import pytest
from tworuns import two_runs

from clipaudit.errors import InputError, StoreError
from clipaudit.lineage.snapshots import (
    folder_run,
    open_run,
    pin,
    pinned,
    pins,
    snapshot,
    unpin,
)
from clipaudit.store.actions import ActionInput
from clipaudit.store.placements import Placement, place
from clipaudit.store.store import Store, replace_text


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


@pytest.fixture
def results(tmp_path, store):
    pointer = store.put_bytes(b"content", schema="x")
    path = tmp_path / "results/stage/here.json"
    place(tmp_path / "results", path, Placement("aa", "out", {"corpus": "large"}))
    replace_text(path, pointer.to_json())
    return tmp_path / "results"


def test_a_snapshot_names_each_output_and_the_action_that_put_it_there(results):
    (placed,) = snapshot(results).placed.values()

    assert placed.placement == Placement("aa", "out", {"corpus": "large"})
    assert placed.pointer.bytes == len(b"content")


def test_a_pin_keeps_a_snapshot_as_it_was(store, results):
    before = snapshot(results)

    pin(store, "first", before)
    (results / "stage/here.json").unlink()

    assert pinned(store, "first") == before
    assert pins(store) == ["first"]


def test_a_name_that_is_taken_is_refused(store, results):
    pin(store, "first", snapshot(results))

    with pytest.raises(InputError, match=r"a pin first exists\. Remove it first"):
        pin(store, "first", snapshot(results))


@pytest.mark.parametrize("name", ["", "../out", "a/b", ".hidden", "x" * 101])
def test_a_name_that_cannot_be_a_file_of_the_store_is_refused(store, results, name):
    with pytest.raises(InputError, match="cannot name a pin"):
        pin(store, name, snapshot(results))


def test_an_unknown_pin_is_answered_with_the_nearest_name(store, results):
    pin(store, "before-ocr", snapshot(results))

    with pytest.raises(InputError, match=r"no pin 'before-orc'\. Did you mean before-ocr\?"):
        unpin(store, "before-orc")


def test_an_unpinned_name_is_free_again(store, results):
    pin(store, "first", snapshot(results))

    unpin(store, "first")

    assert pins(store) == []


def test_results_of_another_store_are_not_pinned(results, tmp_path):
    other = Store(tmp_path / "other")

    with pytest.raises(InputError, match=r"other: this store has no object of .*results.*--store"):
        pin(other, "first", snapshot(results))
    assert pins(other) == []


@pytest.mark.parametrize("text", ["", "[]", '{"placed": {"here.json": {}}}'])
def test_a_damaged_pin_is_named_and_can_be_removed(store, results, text):
    pin(store, "first", snapshot(results))
    (store.root / "pins/first.json").write_text(text)

    with pytest.raises(StoreError, match=r"pins/first.json: not a pin .* Restore the file"):
        open_run("first", store)
    unpin(store, "first")
    assert pins(store) == []


@pytest.fixture
def run(tmp_path):
    return two_runs(tmp_path)[0]


def test_a_run_has_only_the_tables_of_tables_and_figures(run):
    for path in ("tables/t.json", "figures/f.json", "stage/s.json"):
        run.act(path, step=path)

    assert list(run.run().tables()) == ["figures/f.json", "tables/t.json"]


def test_a_pin_opens_as_the_run_at_that_time(run):
    run.act("tables/t.json", settings={"k": 1})
    pin(run.store, "first", snapshot(run.results))
    before = run.run().tables()
    run.act("tables/t.json", settings={"k": 2})

    assert open_run("first", run.store).tables() == before
    assert open_run(str(run.results), run.store).tables() == run.run().tables() != before


@pytest.mark.parametrize("name", ["frist", "."])
def test_a_name_that_is_not_a_run_is_answered_with_the_nearest_pin(
    run, name, tmp_path, monkeypatch
):
    run.act("tables/t.json")
    pin(run.store, "first", snapshot(run.results))
    monkeypatch.chdir(tmp_path)

    with pytest.raises(InputError, match=r"no pin of .*store has this name, .* first"):
        open_run(name, run.store)


def test_a_folder_that_no_run_has_filled_is_refused(tmp_path, store):
    with pytest.raises(InputError, match=r"not a run's results folder .* with --results"):
        folder_run(tmp_path, store)


@pytest.mark.parametrize("folder", ["results", "/somewhere/else/results", "deep/down/run_7"])
def test_recorded_paths_are_found_whatever_the_folder_was_called(run, folder):
    run.act("stage/s.json")

    assert run.run().inside(f"{folder}/stage/s.json") == "stage/s.json"


@pytest.mark.parametrize("path", ["results/gone/s.json", "/abs/x.json", "x", "../results/no.json"])
def test_a_path_that_no_longer_exists_stays_unchanged(run, path):
    run.act("stage/s.json")

    assert run.run().inside(path) == path


def test_the_maker_is_the_action_that_put_the_same_content_there(run):
    run.act("stage/s.json", settings={"k": 1}, gives=b"same")
    recorded = run.input("stage/s.json")
    later = run.act("stage/s.json", settings={"k": 2}, gives=b"same")

    assert run.run().maker(recorded) == later
    assert run.run().maker(replace(recorded, digest="other")) == recorded.action
    assert run.run().maker(ActionInput("digest", "data/0.tar")) is None


def test_records_are_read_from_the_store_that_the_folders_links_lead_to(run, tmp_path):
    run.act("tables/t.json", gives=[{"name": "a"}])

    assert folder_run(run.results, Store(tmp_path / "other")).store.root == run.store.root


def test_a_copy_without_its_store_reads_records_from_the_given_store(run, tmp_path):
    run.act("tables/t.json", gives=[{"name": "a"}])
    run.store.root.rename(tmp_path / "away")

    found = folder_run(run.results, Store(tmp_path / "away")).store

    assert found.root == tmp_path / "away"
