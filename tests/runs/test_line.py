"""benchmarks/line.py: the totals of a run's events and records."""

import line as benchmark
import pytest

from clipaudit.store.records import Execution


def execution(started, seconds):
    return Execution(
        started=f"1970-01-01T00:00:{started:06.3f}+00:00", seconds=seconds, host="here",
        peak_memory_mb=1, threads=1, versions={"numpy": "2"}, written={}, cpu_seconds=seconds / 2,
    )  # fmt: skip


def job(number, rule, time):
    return [
        {"event": "started", "time": time, "jobs": [number]},
        {"event": "job", "time": time, "job": number, "rule": rule, "threads": 1,
         "wildcards": {"part": str(number)}},
    ]  # fmt: skip


EVENTS = [
    {"event": "opened", "time": 2.0, "began": 0.0},
    {"event": "run", "time": 2.0, "rules": {"embed": 1, "train": 1, "gather": 1}},
    *job(1, "embed", 2.0),
    *job(2, "train", 3.0),
    {"event": "finished", "time": 7.0, "jobs": [1]},
    *job(3, "gather", 7.0),
    {"event": "finished", "time": 8.0, "jobs": [3]},
    {"event": "finished", "time": 10.0, "jobs": [2]},
    {"event": "end", "time": 11.0, "cpu_seconds": 1.5, "jobs_cpu_seconds": 9.0},
]
EXECUTIONS = {
    ("embed", frozenset({("part", "1")})): execution(2.5, 4.0),
    ("train", frozenset({("part", "2")})): execution(3.25, 6.0),
    ("gather", frozenset({("part", "3")})): execution(30.0, 1.0),  # of a later run
}


@pytest.fixture
def run():
    return benchmark.read_run(EVENTS, EXECUTIONS)


def test_a_job_consists_of_its_start_its_work_and_its_end(run):
    embed = run.jobs[0]

    assert (embed.rule, embed.before, embed.work, embed.seconds) == ("embed", 0.5, 4.0, 5.0)


def test_a_job_without_a_record_in_this_run_is_all_work(run):
    gather = run.jobs[1]

    assert (gather.rule, gather.record, gather.before, gather.work) == ("gather", None, 0.0, 1.0)


def test_busy_times_add_up_to_the_wall_clock(run):
    held = list(run.busy())

    assert sum(seconds for _, seconds in held) == 11.0
    assert sum(count * seconds for count, seconds in held) == sum(job.seconds for job in run.jobs)
