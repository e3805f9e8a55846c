"""Steps with too few data: the reason is stored in place of their results."""

import os
from pathlib import Path

import pytest

from clipaudit.errors import StepError, TooSmall
from clipaudit.steps.step import Step
from clipaudit.store.store import Pointer, Store

WHY = "12 eligible samples, and 40 are asked for."


class Job:
    """The job that Snakemake passes to a script of two outputs."""

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
    for path in job.output.values():  # as Snakemake does
        Path(path).unlink(missing_ok=True)
    Step(job).run(compute)
    return list(job.output.values())


@pytest.fixture
def refused(tmp_path):
    return run(tmp_path, "refused", refuse)


def test_a_step_with_too_few_data_gives_the_reason_in_place_of_all_its_outputs(refused, tmp_path):
    pointers = [Pointer.read(Path(path)) for path in refused]

    assert all(pointer.is_left_out and pointer.rows == 0 for pointer in pointers)
    with pytest.raises(TooSmall, match=WHY):
        Store(tmp_path / "store").checked_path(pointers[0])


def test_a_step_that_reads_a_left_out_result_is_left_out_for_the_same_reason(refused, tmp_path):
    made = run(tmp_path, "copied", copy, refused)

    store = Store(tmp_path / "store")
    assert {store.reason(Pointer.read(Path(path))) for path in made} == {WHY}


def test_a_step_can_continue_with_existing_inputs_and_report_the_left_out_ones(refused, tmp_path):
    made = run(tmp_path, "made", copy)
    step = Step(Job(tmp_path, "told", [*made, *refused]))

    assert [file.path.read_bytes() for file in step.made("given")] == [b"", b""]
    assert step.left_out == {WHY: ["refused/first", "refused/second"]}


def test_links_show_whether_a_result_exists_or_is_left_out(tmp_path):
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


def test_a_step_can_leave_out_one_of_its_outputs(tmp_path):
    def leave_out_second(step):
        step.write_bytes("first", b"whole", ".bin")
        step.leave_out("second", TooSmall(WHY))

    first, second = map(Path, run(tmp_path, "halved", leave_out_second))

    assert not Pointer.read(first).is_left_out
    with pytest.raises(TooSmall, match=WHY):
        Store(tmp_path / "store").checked_path(Pointer.read(second))


@pytest.mark.parametrize("is_result", [True, False])
def test_a_job_whose_input_is_replaced_meanwhile_stores_nothing(tmp_path, is_result):
    text = tmp_path / "shard.txt"
    text.write_text("old")
    given = run(tmp_path, "made", copy, [text]) if is_result else [str(text)]

    def copy_late(step):
        text.write_text("new")
        run(tmp_path, "made", copy, [text])
        copy(step)

    with pytest.raises(StepError, match=r"changed while a job used it, from .* to .*; nothing"):
        run(tmp_path, "copied", copy_late, given)
    assert not (tmp_path / "results/copied/first.json").exists()


def test_an_output_whose_note_a_power_cut_truncated_is_written_again(tmp_path):
    runs = iter(["killed", "whole"])

    def write(step):
        assert step.written("first") is None
        for name in ("first", "second"):
            step.write_pieces(name, iter([b"one"]), ".bin")
        if next(runs) == "killed":
            raise OSError("killed")

    with pytest.raises(OSError, match="killed"):
        run(tmp_path, "resumed", write)
    for note in tmp_path.glob("store/unfinished/*/written/*.json"):
        note.write_text("")
    run(tmp_path, "resumed", write)


def test_pieces_written_by_a_killed_step_are_known_to_the_next_run(tmp_path):
    known = []

    def write(step):
        known.append(step.written("first"))
        for name in ("first", "second"):
            step.written(name) or step.write_pieces(name, iter([b"on", b"e"]), ".bin")
            if len(known) == 1:
                raise OSError("killed")

    with pytest.raises(OSError, match="killed"):
        run(tmp_path, "resumed", write)
    paths = run(tmp_path, "resumed", write)

    digest = Pointer.read(Path(paths[0])).digest
    assert known == [None, digest]
    assert Store(tmp_path / "store").path(digest).read_bytes() == b"one"
