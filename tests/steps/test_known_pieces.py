"""Pieces of a step's outputs that a later step finds, and who may replace its pointers."""

import stat

import pytest

from clipaudit.errors import TooSmall
from clipaudit.steps.step import Step

PIECES = {"first": {"set": "a"}, "second": {"set": "b"}}


class Job:
    """The job that Snakemake passes to a script of one output."""

    rule, threads, resources, wildcards, input = "keep_all", 1, {}, {}, {}

    def __init__(self, folder, asked):
        self.params = type("Params", (dict,), {"code": "0" * 64})(asked=asked)
        self.config = {"results": str(folder / "results"), "store": str(folder / "store")}
        self.output = {"made": str(folder / "results/made.json")}


def make(folder, asked, error=None):
    """Run a step that has both pieces; return the pieces that it knew."""
    known = []

    def compute(step):
        known.append(step.known_pieces(PIECES))
        step.write_bytes("made", b"both", ".bin")
        if error:
            raise error

    Step(Job(folder, asked)).run(compute)
    return known[0]


def test_a_later_step_finds_the_pieces_of_an_earlier_one(tmp_path):
    assert make(tmp_path, 1) == []

    ((names, files),) = make(tmp_path, 2)

    assert names == PIECES.keys()
    assert files["made"].path.read_bytes() == b"both"


def test_a_group_that_may_write_into_a_results_folder_may_write_its_pointers(tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "results").chmod(0o2775)

    make(tmp_path, 1)

    assert (tmp_path / "results/made.json").stat().st_mode & stat.S_IWGRP


def test_pieces_of_a_failed_step_are_unknown(tmp_path):
    with pytest.raises(OSError, match="killed"):
        make(tmp_path, 1, OSError("killed"))

    assert make(tmp_path, 2) == []


def test_pieces_of_a_step_that_was_left_out_are_unknown(tmp_path):
    make(tmp_path, 1, TooSmall("Too few samples."))

    assert make(tmp_path, 2) == []
