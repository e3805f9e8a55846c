"""Kill -9 at any moment: the same command then gives the digests of an undisturbed run."""

import os
import random
import signal
import time

import pytest

KILLS = 20
TARGET = "all_tables"
COPIES = "config/micro_copies.yaml"


def kill_after(project, seconds, **options):
    """Run, and kill the whole process group after some seconds unless it has ended."""
    process = project.start(target=TARGET, **options)
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    time.sleep(0.2)  # scripts that briefly outlive their parent


def assert_same(project, finished, outputs="", made="tables/similarity_table1.json"):
    """Assert that an undisturbed run, which also made the figures, has the same digests."""
    digests = project.digests()
    assert made in digests
    assert digests.items() <= finished.digests().items(), outputs


def moments(count, longest):
    rng = random.Random(0)
    return [round(rng.uniform(0.5, longest), 1) for _ in range(count)]


@pytest.mark.long
def test_a_killed_run_finishes_with_the_results_of_an_undisturbed_one(copied, fresh):
    kill_after(fresh, 6, config=COPIES)

    fresh.run(config=COPIES, target=TARGET)

    assert_same(fresh, copied, made="tables/copies_summary.json")
    assert "all as they were written" in fresh.clipaudit(
        "verify", "--results", "results_micro", "--store", "store_micro"
    )


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seconds", moments(KILLS, 40))
def test_twenty_random_kills_do_not_change_results(finished, fresh, seconds):
    kill_after(fresh, seconds)

    fresh.run(target=TARGET)

    assert_same(fresh, finished)


@pytest.mark.slow
def test_two_simultaneous_runs_of_the_same_targets_do_no_harm(finished, fresh):
    runs = [fresh.start(target=TARGET) for _ in range(2)]
    outputs = [run.communicate(timeout=300)[0] for run in runs]
    codes = [run.returncode for run in runs]
    if any(codes):  # one may remove a file that the other reads: rerun to repair
        fresh.run(target=TARGET)

    assert_same(fresh, finished, outputs)
    assert "all as they were written" in fresh.clipaudit(
        "verify", "--results", "results_micro", "--store", "store_micro"
    )
