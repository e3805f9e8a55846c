"""The log of a run, and the output of `clipaudit status` for it."""

import json


def test_the_status_of_a_finished_run_has_all_jobs_done(finished):
    answer = json.loads(finished.clipaudit("status", "--format", "json"))

    assert answer["ended"]
    assert answer["done"] == answer["total"] > 80
    assert answer["stages"]["train"]["done"] == answer["stages"]["train"]["total"] == 4
    assert answer["failures"] == []


def test_the_status_of_a_failed_run_shows_the_end_of_the_log(fresh):
    fresh.use_own_shard(b"no tar at all" * 100)
    fresh.run(ok=False, target="results_micro/samples/large/00000.json")

    output = fresh.clipaudit("status")

    assert "FAILED index corpus large, part 00000" in output
    assert "logs/index/large/00000.log" in output
    assert "own.tar" in output.partition("FAILED index")[2]


def test_a_dry_run_writes_no_log(fresh):
    fresh.run("-n")

    assert not (fresh.folder / "logs/runs").exists()
