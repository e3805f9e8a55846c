"""A run of thousands of jobs to its end: benchmarks/manyjobs.py, whose jobs are forks."""

import re
import subprocess
import sys

import pytest
from microproject import ROOT

SHARDS = 120  # a part each: 18 jobs a shard, and 48 others
LINE = re.compile(r"(?P<run>[a-z ]+): (?P<jobs>[\d,]+) jobs, (?P<seconds>[\d,.]+) s")
MOST_SECONDS_OF_NOTHING = 60


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Jobs and seconds of each of the three runs, by what was printed of it."""
    folder = tmp_path_factory.mktemp("many")
    command = ["benchmarks/manyjobs.py", "--shards", str(SHARDS), "--folder", str(folder)]
    done = subprocess.run([sys.executable, *command], cwd=ROOT, text=True, stdout=subprocess.PIPE)
    assert done.returncode == 0
    return {
        found["run"]: (number(found["jobs"]), number(found["seconds"]))
        for found in LINE.finditer(done.stdout)
    }


def number(text):
    return float(text.replace(",", ""))


@pytest.mark.slow
def test_a_run_of_two_thousand_jobs_ends(runs):
    jobs, _ = runs["all jobs"]

    assert jobs >= 2000


@pytest.mark.slow
def test_the_same_again_has_nothing_to_do_and_sees_it_within_a_minute(runs):
    jobs, seconds = runs["the same again"]

    assert jobs == 0
    assert seconds < MOST_SECONDS_OF_NOTHING


@pytest.mark.slow
def test_removed_results_come_back_from_the_store(runs):
    jobs, _ = runs["from the store"]

    made_anew = runs["all jobs"][0] - SHARDS  # the shards are data, and lie there still
    assert jobs == pytest.approx(made_anew, rel=0.02)
