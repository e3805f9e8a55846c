import fcntl
import os

import pytest
from oldstore import World, key

from clipaudit.lineage.keeping.leftovers import Amount
from clipaudit.steps.filedigests import FileDigests
from clipaudit.store.pieces import Pieces
from clipaudit.store.store import replace_text


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def unfinished(world, name, *, days):
    """Leave the scratch of a killed step that had written an object."""
    pointer = world.put(f"written by {name}", days=days)
    output = f'{{"pointer": {pointer.to_json()}, "extension": ".x", "labels": {{}}}}'
    folder = world.store.root / "unfinished" / name
    replace_text(folder / "written/first.json", output)
    lock = folder.with_name(f"{name}.lock")
    lock.touch()
    for path in (*folder.rglob("*"), folder, lock):
        world.age(path, days)
    return lock


def test_scratch_of_a_killed_step_is_removed_after_the_grace_period(world):
    unfinished(world, "old", days=8)
    unfinished(world, "young", days=6)

    world.collect()

    left = {path.name for path in (world.store.root / "unfinished").iterdir()}
    assert left == {"young", "young.lock"}
    assert world.contents() == {"written by young"}


def test_a_running_step_keeps_its_scratch_and_all_objects_younger_than_its_lock(world):
    with unfinished(world, "old", days=20).open("r") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        world.put("put by it", days=19)
        world.put("older", days=21)

        done = world.collect()

    assert world.contents() == {"written by old", "put by it"}
    assert done.running == 1
    assert (world.store.root / "unfinished/old").is_dir()


def test_temporary_files_of_killed_writers_are_removed(world):
    for name, days in {"tmpold": 8, "tmpyoung": 1}.items():
        path = world.store.root / "unfinished" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("half")
        world.age(path, days)

    assert world.collect().garbage["unfinished"] == Amount(1, 4)
    assert os.listdir(world.store.root / "unfinished") == ["tmpyoung"]


def test_memos_of_missing_files_are_removed(world, tmp_path):
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


def held_by(world):
    return {path.name for path in (world.store.root / "pieces").glob("??/*/*")}


@pytest.mark.parametrize("delete", [False, True])
def test_piece_notes_are_removed_with_the_actions_that_hold_them(world, delete):
    for number in (1, 2, 3):
        output = world.act(key(number), f"tables {number}", days=6 if number == 2 else 8)["0"]
        Pieces(world.store).record([key(9)], key(number))
        if number == 1:
            world.point("tables", key(1), output)

    done = world.collect(delete=delete)

    assert done.garbage["pieces"] == Amount(1, 0)
    assert held_by(world) == {key(1), key(2)} | (set() if delete else {key(3)})


def test_actions_that_provide_pieces_are_kept_like_own_outputs(world):
    """The pointers are missing because Snakemake removed them before the job."""
    world.act(key(1), "tables", days=8)
    Pieces(world.store).record([key(9)], key(1))

    Pieces(world.store).find([key(9)])
    world.collect()

    assert world.contents() == {"tables"}
    assert held_by(world) == {key(1)}


def test_lineage_and_text_found_in_images_are_kept(world):
    for name in ("lineage/ab/cd/1.json", "spotted/x/y.parquet"):
        replace_text(world.store.root / name, "kept")
        world.age(world.store.root / name, 400)

    world.collect(grace=0.0)

    assert (world.store.root / "lineage/ab/cd/1.json").exists()
    assert (world.store.root / "spotted/x/y.parquet").exists()
