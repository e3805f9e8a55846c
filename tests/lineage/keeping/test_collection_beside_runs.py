import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from oldstore import DAY, World

from clipaudit.lineage.keeping.condemned import Condemned
from clipaudit.lineage.keeping.verification import verify_results
from clipaudit.store.roots import register, roots
from clipaudit.store.store import Store, replace_text

CHURN = Path(__file__).with_name("churn.py")


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def condemn(world, pointer):
    """Put an object where a collection leaves it if it is killed at the worst moment."""
    aside = world.store.root / "condemned/host-1-2/objects" / pointer.digest[:2]
    aside.mkdir(parents=True)
    os.rename(world.store.path(pointer.digest), aside / pointer.digest[2:])


def test_a_reader_finds_an_object_that_a_killed_collection_moved_aside(world):
    pointer = world.put("needed")
    condemn(world, pointer)

    assert world.store.checked_path(pointer).read_text() == "needed"


def test_the_next_collection_restores_what_a_killed_one_moved_aside(world):
    pointer = world.put("needed", days=30)
    replace_text(world.results / "here.json", pointer.to_json())
    condemn(world, pointer)

    world.collect()

    assert world.contents() == {"needed"}
    assert list((world.store.root / "condemned").iterdir()) == []


@pytest.mark.timeout(60)
def test_a_file_that_becomes_young_in_time_is_never_moved_aside(world):
    """Whichever comes first: the writer finds the file missing, or the collection restores it."""
    pointer = world.put("wanted")
    path, outcomes = world.store.path(pointer.digest), set()
    condemned = Condemned(world.store, time.time_ns() - DAY * 10**9, now=1)

    def make_young():
        start.wait()
        with suppress(FileNotFoundError):
            os.utime(path)
            made_young.append(True)

    for number in range(300):
        world.age(path, 30)
        start, made_young = threading.Barrier(2), []
        writer = threading.Thread(target=make_young)
        writer.start()
        start.wait()
        if number % 2:
            time.sleep(1e-4)  # else the writer may be too late in every round
        aside = condemned.put_aside("objects", pointer.digest)
        writer.join()
        outcomes.add((aside, bool(made_young)))
        condemned.put_all_back()

    # a touch that the kernel began before the rename may end after the last check; the
    # collection reads what is needed once more before it removes anything
    assert outcomes - {(True, True)} == {(True, False), (False, True)}


def test_a_file_that_becomes_young_just_before_it_is_moved_aside_is_restored(world, monkeypatch):
    path = world.store.path(world.put("wanted").digest)
    world.age(path, 30)
    rename = os.rename

    def touched_first(source, target):
        os.utime(source)
        rename(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(os, "rename", touched_first)
        condemned = Condemned(world.store, time.time_ns() - DAY * 10**9, now=1)
        assert not condemned.put_aside("objects", path.parent.name + path.name)
    assert path.is_file()


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
    """Run random steps while collections come and go, two at a time, some of them killed."""
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
def test_collections_beside_runs_never_break_a_pointer(tmp_path, options):
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
