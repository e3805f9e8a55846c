"""A complete run of thousands of jobs: benchmarks/manyjobs.py, whose jobs are forks."""

import re
import subprocess
import sys

import pytest
from microproject import ROOT

SHARDS = 120  # one part each: 18 jobs per shard, and 48 others
LINE = re.compile(r"(?P<run>[a-z ]+): (?P<jobs>[\d,]+) jobs")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return the number of jobs of each of the three runs, by its printed name."""
    folder = tmp_path_factory.mktemp("many")
    command = ["benchmarks/manyjobs.py", "--shards", str(SHARDS), "--folder", str(folder)]
    done = subprocess.run([sys.executable, *command], cwd=ROOT, text=True, stdout=subprocess.PIPE)
    assert done.returncode == 0
    return {
        found["run"]: int(found["jobs"].replace(",", "")) for found in LINE.finditer(done.stdout)
    }


@pytest.mark.slow
def test_a_run_of_two_thousand_jobs_finishes(runs):
    assert runs["all jobs"] >= 2000


@pytest.mark.slow
def test_a_second_run_has_nothing_to_do(runs):
    assert runs["the same again"] == 0


@pytest.mark.slow
def test_removed_results_are_restored_from_the_store(runs):
    restored = runs["all jobs"] - SHARDS  # the shards are data and still exist
    assert runs["from the store"] == pytest.approx(restored, rel=0.02)
