import fcntl
import os

import pytest
from oldstore import World

from clipaudit.lineage.keeping.leftovers import Amount
from clipaudit.steps.filedigests import FileDigests
from clipaudit.store.store import replace_text


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


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
