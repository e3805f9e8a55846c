"""Steps whose data are too small: the reason stands in place of their results."""

import os
from pathlib import Path

import pytest

from clipaudit.errors import TooSmall
from clipaudit.steps.step import Step
from clipaudit.store.store import Pointer, Store

WHY = "12 eligible samples, and 40 are asked for."


class Job:
    """What Snakemake hands to a script of two outputs."""

    rule, threads, resources, wildcards = "keep_all", 1, {}, {}

    def __init__(self, folder, name, given=(), size=0):
        self.params = type("Params", (dict,), {"code": "0" * 64})(name=name, size=size)
        self.config = {"results": str(folder / "results"), "store": str(folder / "store")}
        self.output = {
            output: str(folder / f"results/{name}/{output}.json") for output in ("first", "second")
        }
        self.input = {"given": list(given)}


def refuse(step):
    step.write_bytes("first", b"half", ".bin")
    raise TooSmall(WHY)


def copy(step):
    for name in ("first", "second"):
        step.write_bytes(name, b"".join(path.read_bytes() for path in step.files("given")), ".bin")


def run(folder, name, compute, given=(), **settings):
    job = Job(folder, name, given, **settings)
    Step(job).run(compute)
    return list(job.output.values())


@pytest.fixture
def refused(tmp_path):
    return run(tmp_path, "refused", refuse)


def test_a_step_with_too_small_data_gives_the_reason_in_place_of_all_its_outputs(refused, tmp_path):
    pointers = [Pointer.read(Path(path)) for path in refused]

    assert all(pointer.is_left_out and pointer.rows == 0 for pointer in pointers)
    with pytest.raises(TooSmall, match=WHY):
        Store(tmp_path / "store").checked_path(pointers[0])


def test_a_step_that_reads_what_was_left_out_is_left_out_for_the_same_reason(refused, tmp_path):
    made = run(tmp_path, "copied", copy, refused)

    store = Store(tmp_path / "store")
    assert {store.reason(Pointer.read(Path(path))) for path in made} == {WHY}


def test_a_step_can_go_on_with_what_was_made_and_say_what_was_not(refused, tmp_path):
    made = run(tmp_path, "made", copy)
    step = Step(Job(tmp_path, "told", [*made, *refused]))

    assert [file.path.read_bytes() for file in step.made("given")] == [b"", b""]
    assert step.left_out == {WHY: ["refused/first", "refused/second"]}


def test_links_show_whether_a_result_is_there_or_left_out(tmp_path):
    folder = tmp_path / "results/set"
    run(tmp_path, "set", copy)
    assert {"first.bin", "second.bin"} <= set(os.listdir(folder))

    run(tmp_path, "set", refuse, size=40)
    assert {path.name for path in folder.iterdir() if path.is_symlink()} == {
        "first.txt",
        "second.txt",
    }

    run(tmp_path, "set", copy)
    assert {path.name for path in folder.iterdir() if path.is_symlink()} == {
        "first.bin",
        "second.bin",
    }
