import fcntl
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clipaudit.actions import ActionCache, ActionOutput
from clipaudit.errors import StoreError
from clipaudit.filedigests import FileDigests
from clipaudit.lineage.keeping.collection import collect
from clipaudit.lineage.keeping.condemned import Condemned
from clipaudit.lineage.keeping.leftovers import Amount
from clipaudit.lineage.keeping.verification import verify_results
from clipaudit.lineage.placements import Placement, place
from clipaudit.lineage.roots import register, roots
from clipaudit.lineage.snapshots import pin, snapshot
from clipaudit.store import Store, replace_text

DAY = 86_400
WEEK = 7 * DAY
CHURN = Path(__file__).with_name("churn.py")


class World:
    """A store and a registered results folder, filled by hand."""

    def __init__(self, folder):
        self.folder, self.store, self.results = folder, Store(folder / "store"), folder / "results"
        self.results.mkdir(parents=True)
        register(self.store, self.results)

    def act(self, key, *contents, days=0):
        """Store an action and what it gave, some days ago."""
        outputs = {
            str(number): ActionOutput(self.put(content, days=days), ".txt", {})
            for number, content in enumerate(contents)
        }
        ActionCache(self.store).record(key, outputs)
        self.age(self.store.root / "actions" / key[:2] / f"{key[2:]}.json", days)
        return outputs

    def put(self, content, days=0):
        pointer = self.store.put_bytes(content.encode(), schema="txt")
        self.age(self.store.path(pointer.digest), days)
        return pointer

    def point(self, name, key, output):
        path = self.results / f"{name}.json"
        place(self.results, path, Placement(key, "0", {}))
        replace_text(path, output.pointer.to_json())
        return path

    def age(self, path, days):
        when = time.time() - days * DAY
        os.utime(path, (when, when))

    def collect(self, **options):
        return collect(self.store, **{"grace": WEEK, "delete": True, **options})

    def contents(self):
        """What is left of the objects."""
        return {path.read_text() for path in self.store.root.glob("objects/??/*")}

    def keys(self):
        actions = self.store.root / "actions"
        return {path.parent.name + path.stem for path in actions.glob("??/*.json")}


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def key(number):
    return f"{number:02x}" * 32


# --- what goes and what stays --------------------------------------------------------------------


def test_what_is_old_and_unnamed_goes_and_all_else_stays(world):
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


def test_a_dry_run_says_the_same_and_removes_nothing(world):
    kept = world.act(key(1), "named", days=30)
    world.act(key(2), "unnamed", days=30)
    world.point("here", key(1), kept["0"])

    said = world.collect(delete=False)

    assert world.contents() == {"named", "unnamed"}
    assert said == world.collect()


def test_what_a_young_action_gave_stays_though_it_is_old(world):
    outputs = world.act(key(1), "old", days=30)
    ActionCache(world.store).find(key(1))

    world.collect()

    assert ActionCache(world.store).find(key(1)) == outputs


def test_storing_content_again_makes_its_object_young(world):
    world.put("again", days=30)
    world.store.put_bytes(b"again", schema="txt")

    world.collect()

    assert world.contents() == {"again"}


def test_a_pin_keeps_its_objects_and_says_what_it_alone_keeps(world):
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


@settings(max_examples=40)
@given(data=st.data())
def test_exactly_what_is_named_or_young_is_left(tmp_path_factory, data):
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


# --- what stops it -------------------------------------------------------------------------------


def test_a_store_that_nobody_is_known_to_use_is_left_alone(tmp_path):
    store = Store(tmp_path)
    store.put_bytes(b"x", schema="x")

    with pytest.raises(StoreError, match="no results folder is known to use this store"):
        collect(store, grace=0)


def test_a_folder_that_is_not_there_stops_it_until_it_is_forgotten(world):
    world.put("named by whom", days=30)
    world.results.rmdir()

    assert world.collect(delete=False).gone == [world.results]
    with pytest.raises(StoreError, match="used this store and cannot be found"):
        world.collect()
    world.collect(forget_missing=True)

    assert (world.contents(), roots(world.store)) == (set(), [])


@pytest.mark.parametrize("text", ["", "{", '{"digest": '])
def test_a_damaged_pointer_stops_it(world, text):
    (world.results / "here.json").write_text(text)
    world.put("named by it?", days=30)

    with pytest.raises(StoreError, match=r"here\.json: not a pointer"):
        world.collect()
    assert world.contents() == {"named by it?"}


def test_a_results_folder_beside_the_store_counts_unregistered(world):
    """As after `cp -r` of a project: what is registered is the folder that it was copied from."""
    outputs = world.act(key(1), "named", days=30)
    world.point("here", key(1), outputs["0"])
    world.results.rename(world.folder / "copied")
    world.results.mkdir()

    world.collect()

    assert world.contents() == {"named"}


def test_a_json_file_that_is_no_pointer_is_nobodys_business(world):
    (world.results / "notes.json").write_text('{"mine": 1}')

    assert world.collect().roots == {str(world.results): 0}


def test_a_damaged_pin_stops_it(world):
    (world.store.root / "pins").mkdir()
    (world.store.root / "pins/first.json").write_text("{")

    with pytest.raises(StoreError, match=r"first\.json: not a pin"):
        world.collect()


def test_only_one_collection_is_at_work(world):
    with (world.store.root / "gc.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)

        with pytest.raises(StoreError, match="another `clipaudit gc` is at work"):
            world.collect()
        world.collect(lock=False)


# --- leftovers -----------------------------------------------------------------------------------


def unfinished(world, name, *, days):
    """The scratch of a step that was killed, which had written an object."""
    pointer = world.put(f"written by {name}", days=days)
    output = f'{{"pointer": {pointer.to_json()}, "extension": ".x", "labels": {{}}}}'
    folder = world.store.root / "unfinished" / name
    replace_text(folder / "written/first.json", output)
    lock = folder.with_name(f"{name}.lock")
    lock.touch()
    for path in (*folder.rglob("*"), folder, lock):
        world.age(path, days)
    return lock


def test_what_a_killed_step_left_goes_with_the_grace_period(world):
    unfinished(world, "old", days=8)
    unfinished(world, "young", days=6)

    world.collect()

    left = {path.name for path in (world.store.root / "unfinished").iterdir()}
    assert left == {"young", "young.lock"}
    assert world.contents() == {"written by young"}


def test_a_step_at_work_keeps_its_scratch_and_all_younger_than_its_lock(world):
    with unfinished(world, "old", days=20).open("r") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        world.put("put by it", days=19)
        world.put("older", days=21)

        done = world.collect()

    assert world.contents() == {"written by old", "put by it"}
    assert done.running == 1
    assert (world.store.root / "unfinished/old").is_dir()


def test_temporary_files_of_killed_writers_go(world):
    for name, days in {"tmpold": 8, "tmpyoung": 1}.items():
        path = world.store.root / "unfinished" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("half")
        world.age(path, days)

    assert world.collect().garbage["unfinished"] == Amount(1, 4)
    assert os.listdir(world.store.root / "unfinished") == ["tmpyoung"]


def test_memos_of_what_is_gone_go(world, tmp_path):
    digests = FileDigests(world.store.root / "files")
    for name in ("here.tar", "gone.tar"):
        (tmp_path / name).write_text(name)
        digests.digest(tmp_path / name)
    (tmp_path / "gone.tar").unlink()
    for path in (world.store.root / "files").rglob("*.json"):
        world.age(path, 8)
    world.put("old", days=8)

    done = world.collect()

    assert (done.garbage["files"].files, done.garbage["seen"].files) == (2, 1)
    assert len(list((world.store.root / "files").rglob("*.json"))) == 2
    assert list((world.store.root / "seen").glob("*/??/*")) == []


def test_lineage_and_what_was_read_in_pictures_stay(world):
    for name in ("lineage/ab/cd/1.json", "spotted/x/y.parquet"):
        replace_text(world.store.root / name, "kept")
        world.age(world.store.root / name, 400)

    world.collect(grace=0.0)

    assert (world.store.root / "lineage/ab/cd/1.json").exists()
    assert (world.store.root / "spotted/x/y.parquet").exists()


# --- beside runs ---------------------------------------------------------------------------------


def condemn(world, pointer):
    """Leave an object where a collection that was killed at the worst moment leaves it."""
    aside = world.store.root / "condemned/host-1-2/objects" / pointer.digest[:2]
    aside.mkdir(parents=True)
    os.rename(world.store.path(pointer.digest), aside / pointer.digest[2:])


def test_a_reader_finds_what_a_killed_collection_had_put_aside(world):
    pointer = world.put("needed")
    condemn(world, pointer)

    assert world.store.checked_path(pointer).read_text() == "needed"


def test_the_next_collection_puts_back_what_a_killed_one_had_put_aside(world):
    pointer = world.put("needed", days=30)
    replace_text(world.results / "here.json", pointer.to_json())
    condemn(world, pointer)

    world.collect()

    assert world.contents() == {"needed"}
    assert list((world.store.root / "condemned").iterdir()) == []


@pytest.mark.timeout(60)
def test_a_file_that_is_made_young_in_time_is_never_put_aside(world):
    """Whoever comes first: either the writer finds it gone, or the collection puts it back."""
    pointer = world.put("wanted")
    path, outcomes = world.store.path(pointer.digest), set()
    condemned = Condemned(world.store, time.time_ns() - DAY * 10**9, now=1)

    def make_young():
        start.wait()
        with suppress(FileNotFoundError):
            os.utime(path)
            made_young.append(True)

    for _ in range(300):
        world.age(path, 30)
        start, made_young = threading.Barrier(2), []
        writer = threading.Thread(target=make_young)
        writer.start()
        start.wait()
        aside = condemned.put_aside("objects", pointer.digest)
        writer.join()
        outcomes.add((aside, bool(made_young)))
        condemned.put_all_back()

    assert outcomes == {(True, False), (False, True)}


def start_churn(folder, seconds, count):
    command = [sys.executable, str(CHURN), str(folder)]
    return [
        subprocess.Popen([*command, str(seed), str(seconds)], stdout=subprocess.PIPE, text=True)
        for seed in range(count)
    ]


def start_gc(folder, *options):
    code = (
        "from clipaudit.cli.options import Group; from clipaudit.cli.gc import gc; "
        "Group(commands=[gc])()"
    )
    command = [sys.executable, "-c", code, "gc", "--delete", "--store", str(folder / "store")]
    return subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def churn_beside_collections(folder, seconds, *options, count):
    """Steps at random while collections come and go, two at once, some of them killed."""
    steps, removed, troubles = start_churn(folder, seconds, count), 0, []
    while any(step.poll() is None for step in steps):
        pair = [start_gc(folder, "--grace", "2s", *options) for _ in range(2)]
        if len(troubles) % 3 == 2:
            time.sleep(0.3)
            pair[0].kill()
        for process in pair:
            output, trouble = process.communicate()
            removed += output.count("objects that nothing names")
            troubles.append(trouble)
    return [step.communicate()[0] for step in steps], removed, troubles


@pytest.mark.parametrize("options", [(), pytest.param(("--no-lock",), marks=pytest.mark.slow)])
@pytest.mark.timeout(120)
def test_no_pointer_is_ever_broken_by_collections_beside_runs(tmp_path, options):
    store = Store(tmp_path / "store")
    (tmp_path / "results_0").mkdir()
    register(store, tmp_path / "results_0")

    told, removed, troubles = churn_beside_collections(tmp_path, 8, *options, count=4)

    assert removed, "the collections removed nothing: the test shows nothing"
    assert not [trouble for trouble in troubles if "Traceback" in trouble]
    assert not [line for line in told if "BROKEN" in line]
    assert sum(int(line.split()[0]) for line in told) > 10
    reports = [verify_results(results, store) for results in roots(store)]
    assert [fault for report in reports for fault in report.broken] == []
