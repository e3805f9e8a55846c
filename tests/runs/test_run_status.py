import json
import subprocess
import sys

import pytest

from clipaudit.errors import InputError
from clipaudit.runs.events import EventFile
from clipaudit.runs.status import RunStatus, live_line
from clipaudit.runs.status_text import run_status, status_json, status_lines


def job(number, rule, time, log=()):
    about = {"job": number, "rule": rule, "wildcards": {"part": "00000"}, "log": list(log)}
    return {"event": "job", "time": time, "threads": 1, **about}


def finished(number, time):
    return {"event": "finished", "time": time, "jobs": [number]}


PLAN = {"event": "run", "time": 0.0, "rules": {"index": 4, "embed": 2}}


def taken(*events):
    status = RunStatus()
    for event in events:
        status.take(event)
    return status


def test_stages_count_done_and_running_jobs():
    status = taken(PLAN, job(1, "index", 0.0), job(2, "index", 1.0), finished(1, 3.0))

    index = status.stages["index"]

    assert (index.total, index.done, index.running, index.seconds) == (4, 1, 1, 3.0)
    assert (status.total, status.done, status.at_once) == (6, 1, 2)


def test_the_time_left_uses_the_mean_of_each_stage_and_the_parallel_jobs():
    events = [PLAN, job(1, "index", 0.0), finished(1, 2.0), job(2, "embed", 2.0), finished(2, 12.0)]

    left = taken(*events).seconds_left(12.0)

    assert left == 3 * 2.0 + 1 * 10.0


def test_the_time_left_is_unknown_before_a_job_is_done():
    status = taken(PLAN, job(1, "index", 0.0))

    assert status.seconds_left(5.0) is None
    assert "time left unknown" in live_line(status, 5.0)


def test_a_job_that_failed_and_runs_again_is_no_failure():
    failed = {"event": "error", "time": 1.0, "job": 1}
    status = taken(PLAN, job(1, "index", 0.0), failed)
    assert status.stages["index"].failed == 1
    assert [each["rule"] for each in json.loads(status_json(status, 1.0))["failures"]] == ["index"]

    for event in (job(1, "index", 2.0), finished(1, 3.0)):
        status.take(event)

    assert (status.stages["index"].failed, status.failures, status.done) == (0, {}, 1)


def test_the_status_reports_what_a_run_omits():
    status = taken(PLAN, {"event": "left_out", "time": 0.0, "what": "web has no pictures."})

    assert "Left out: web has no pictures." in status_lines(status, 1.0)


def test_a_retried_job_counts_once():
    status = taken(PLAN, job(1, "index", 0.0), job(1, "index", 4.0), finished(1, 5.0))

    assert status.stages["index"].running == 0
    assert status.stages["index"].seconds == 1.0


@pytest.fixture
def runs(tmp_path):
    file = EventFile.new(tmp_path)
    file.write(PLAN)
    return tmp_path, file


def test_a_failure_shows_the_escaped_last_lines_of_its_log(runs, tmp_path):
    log = tmp_path / "job.log"
    log.write_text("first\nthen \x1b[31mred\n")
    runs[1].write(job(1, "index", 1.0, [str(log)]))
    runs[1].write({"event": "error", "time": 2.0, "job": 1, "rule": "index", "log": []})

    lines = list(status_lines(run_status(runs[0]), 3.0))

    assert "FAILED index part 00000" in lines
    assert "    then \\x1b[31mred" in lines


@pytest.mark.skipif(sys.platform != "linux", reason="needs the start time of a process")
def test_a_run_whose_process_number_another_process_has_is_lost(runs):
    opened = next(iter(runs[1].events()))
    runs[1].write({**opened, "time": opened["time"] - 10 * 24 * 3600})

    assert run_status(runs[0]).lost


def test_a_run_whose_process_lives_is_not_lost(runs):
    assert not run_status(runs[0]).lost


def test_a_run_whose_process_is_missing_is_lost(runs):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    opened = next(iter(runs[1].events()))
    runs[1].write({**opened, "process": gone.pid})

    status = run_status(runs[0])

    assert status.lost
    assert next(iter(status_lines(status, status.seen))).startswith("LOST: process")


def test_an_ended_run_reports_its_duration(runs):
    opened = next(iter(runs[1].events()))
    runs[1].write({"event": "end", "time": opened["time"] + 75})

    (heading, *_) = status_lines(run_status(runs[0]), opened["time"] + 1000)

    assert heading == "ended after 1 min 15 s: 0 of 6 jobs done"


def test_an_incomplete_line_is_left_for_later(runs):
    with runs[1].path.open("a") as file:
        file.write('{"event": "fini')

    assert [event["event"] for event in runs[1].events()] == ["opened", "run"]


def test_a_folder_without_a_run_says_what_to_do(tmp_path):
    with pytest.raises(InputError, match=r"no run has written a log here\. Start one"):
        run_status(tmp_path / "runs")


def test_an_empty_log_is_one_message(tmp_path):
    (tmp_path / "2026-01-01T000000-1.jsonl").write_text("")

    with pytest.raises(InputError, match="killed as it began, or its disk was full"):
        run_status(tmp_path)
