"""A run of thousands of jobs to its end: benchmarks/manyjobs.py, whose jobs are forks."""

import re
import subprocess
import sys

import pytest
from microproject import ROOT

SHARDS = 120  # a part each: 18 jobs a shard, and 48 others
LINE = re.compile(r"(?P<run>[a-z ]+): (?P<jobs>[\d,]+) jobs")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The jobs of each of the three runs, by what was printed of it."""
    folder = tmp_path_factory.mktemp("many")
    command = ["benchmarks/manyjobs.py", "--shards", str(SHARDS), "--folder", str(folder)]
    done = subprocess.run([sys.executable, *command], cwd=ROOT, text=True, stdout=subprocess.PIPE)
    assert done.returncode == 0
    return {
        found["run"]: int(found["jobs"].replace(",", "")) for found in LINE.finditer(done.stdout)
    }


@pytest.mark.slow
def test_a_run_of_two_thousand_jobs_ends(runs):
    assert runs["all jobs"] >= 2000


@pytest.mark.slow
def test_the_same_again_has_nothing_to_do(runs):
    assert runs["the same again"] == 0


@pytest.mark.slow
def test_removed_results_come_back_from_the_store(runs):
    made_anew = runs["all jobs"] - SHARDS  # the shards are data, and lie there still
    assert runs["from the store"] == pytest.approx(made_anew, rel=0.02)
