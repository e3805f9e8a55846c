import fcntl
import os
import shutil
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oldstore import World, key

from clipaudit.errors import StoreError
from clipaudit.lineage.keeping.collection import collect
from clipaudit.lineage.keeping.leftovers import Amount
from clipaudit.lineage.snapshots import pin, snapshot
from clipaudit.store.actions import ActionCache
from clipaudit.store.roots import register, roots
from clipaudit.store.store import Store, replace_text

YEAR = 365 * 86_400  # seconds


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


# --- what is removed and what is kept ------------------------------------------------------------


def test_only_old_and_unnamed_files_are_removed(world):
    kept = world.act(key(1), "named", "other output", days=30)
    world.act(key(2), "unnamed", days=30)
    world.act(key(3), "young", days=6)
    world.put("alone", days=8)
    world.point("here", key(1), kept["0"])

    done = world.collect()

    assert world.contents() == {"named", "other output", "young"}
    assert world.keys() == {key(1), key(3)}
    assert (done.garbage["objects"].files, done.garbage["actions"].files) == (2, 1)
    assert (done.kept, done.young) == (Amount(2, 17), Amount(1, 5))


def test_a_dry_run_reports_the_same_and_removes_nothing(world):
    kept = world.act(key(1), "named", days=30)
    world.act(key(2), "unnamed", days=30)
    world.point("here", key(1), kept["0"])

    said = world.collect(delete=False)

    assert world.contents() == {"named", "unnamed"}
    assert said == world.collect()


def test_old_outputs_of_a_young_action_are_kept(world):
    outputs = world.act(key(1), "old", days=30)
    ActionCache(world.store).find(key(1))

    world.collect()

    assert ActionCache(world.store).find(key(1)) == outputs


def test_storing_content_again_makes_its_object_young(world):
    world.put("again", days=30)
    world.store.put_bytes(b"again", schema="txt")

    world.collect()

    assert world.contents() == {"again"}


def test_a_pin_keeps_its_objects_and_reports_what_it_alone_keeps(world):
    both, one = world.act(key(1), "both", days=30), world.act(key(2), "pinned", days=30)
    world.point("here", key(1), both["0"])
    gone = world.point("gone", key(2), one["0"])
    pin(world.store, "before", snapshot(world.results))
    gone.unlink()

    done = world.collect()

    assert world.contents() == {"both", "pinned"}
    assert done.pins == {"before": Amount(1, len("pinned"))}


def test_a_pointer_without_a_placement_still_keeps_its_object(world):
    replace_text(world.results / "bare.json", world.put("bare", days=30).to_json())

    world.collect()

    assert world.contents() == {"bare"}


@pytest.mark.parametrize("jump", [-50 * YEAR, 50 * YEAR])
def test_a_clock_jump_removes_nothing_that_is_named(world, monkeypatch, jump):
    named = world.act(key(1), "named", days=30)
    pinned = world.act(key(2), "pinned", days=30)
    gone = world.point("gone", key(2), pinned["0"])
    pin(world.store, "before", snapshot(world.results))
    gone.unlink()
    world.point("here", key(1), named["0"])
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now + jump * 1_000_000_000)

    world.collect()

    assert world.contents() == {"named", "pinned"}


def test_a_link_to_a_groups_object_is_as_old_as_the_link_itself(world, tmp_path):
    group = Store(tmp_path / "group")
    pointer = group.put_bytes(b"theirs", schema="txt")
    world.age(group.path(pointer.digest), 30)
    link = world.store.path(pointer.digest)
    link.parent.mkdir(parents=True)
    link.symlink_to(group.path(pointer.digest))

    world.collect()
    young = link.is_symlink()
    os.utime(link, (0, 0), follow_symlinks=False)
    world.collect()

    assert (young, link.is_symlink(), group.has(pointer.digest)) == (True, False, True)


@settings(max_examples=40)
@given(data=st.data())
def test_exactly_what_is_named_or_young_is_kept(tmp_path_factory, data):
    world = World(tmp_path_factory.mktemp("world"))
    contents, needed, young = st.sampled_from("abcdef"), set(), set()
    for number in range(data.draw(st.integers(0, 6))):
        given = data.draw(st.lists(contents, min_size=1, max_size=3))
        days = data.draw(st.sampled_from([0, 30]))
        outputs = world.act(key(number), *given, days=days)
        if data.draw(st.booleans()):
            world.point(str(number), key(number), outputs["0"])
        elif days:
            continue
        needed |= set(given)
    for content in data.draw(st.sets(contents)):
        world.put(content)
        young.add(content)
    for path in world.store.root.glob("objects/??/*"):
        world.age(path, 0 if path.read_text() in young else 30)

    world.collect()

    assert world.contents() == needed | young


# --- what stops a collection ---------------------------------------------------------------------


def test_a_store_without_a_known_results_folder_is_not_collected(tmp_path):
    store = Store(tmp_path)
    store.put_bytes(b"x", schema="x")

    with pytest.raises(StoreError, match="no results folder is known to use this store"):
        collect(store, grace=0)


def test_a_missing_results_folder_stops_collection_until_it_is_forgotten(world):
    world.put("named by whom", days=30)
    shutil.rmtree(world.results)

    assert world.collect(delete=False).gone == [world.results]
    with pytest.raises(StoreError, match="used this store and cannot be found"):
        world.collect()
    world.collect(forget_missing=True)

    assert (world.contents(), roots(world.store)) == (set(), [])


def test_an_empty_folder_where_a_disk_belongs_stops_collection(world):
    outputs = world.act(key(1), "named", days=30)
    world.point("here", key(1), outputs["0"])
    (world.folder / "unmounted").mkdir()
    world.results.rename(world.folder / "unmounted/results")
    world.results.mkdir()

    assert world.collect(delete=False).gone == [world.results]
    with pytest.raises(StoreError, match="used this store and cannot be found"):
        world.collect()
    assert world.contents() == {"named"}


def test_what_lies_behind_a_linked_folder_is_kept(world):
    outputs = world.act(key(1), "named", days=30)
    world.point("stage/here", key(1), outputs["0"])
    (world.results / "stage").rename(world.folder / "another disk")
    (world.results / "stage").symlink_to(world.folder / "another disk")
    (world.results / "loop").symlink_to(world.results)

    world.collect()

    assert world.contents() == {"named"}


@pytest.mark.parametrize("text", ["", "{", '{"digest": '])
def test_a_damaged_pointer_stops_collection(world, text):
    (world.results / "here.json").write_text(text)
    world.put("named by it?", days=30)

    with pytest.raises(StoreError, match=r"here\.json: not a pointer"):
        world.collect()
    assert world.contents() == {"named by it?"}


def test_an_unregistered_results_folder_beside_the_store_counts(world):
    """As after `cp -r` of a project, the registered folder is the one it was copied from."""
    outputs = world.act(key(1), "named", days=30)
    world.point("here", key(1), outputs["0"])
    world.results.rename(world.folder / "copied")
    register(world.store, world.results)

    world.collect()

    assert world.contents() == {"named"}


def test_a_json_file_that_is_not_a_pointer_is_ignored(world):
    (world.results / "notes.json").write_text('{"mine": 1}')
    (world.results / "lines.json").write_text('{"mine": 1}\n{"mine": 2}\n')

    assert world.collect().roots == {str(world.results): 0}


def test_a_damaged_pin_stops_collection(world):
    (world.store.root / "pins").mkdir()
    (world.store.root / "pins/first.json").write_text("{")

    with pytest.raises(StoreError, match=r"first\.json: not a pin"):
        world.collect()


def test_only_one_collection_runs_at_a_time(world):
    with (world.store.root / "gc.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)

        with pytest.raises(StoreError, match="another `clipaudit gc` is running"):
            world.collect()
        world.collect(lock=False)
