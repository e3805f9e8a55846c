import json
import logging
from types import SimpleNamespace

import pytest

import snakemake_logger_plugin_clipaudit as plugin
from snakemake_logger_plugin_clipaudit import LogHandler

PLANNED = {"event": "run_info", "stats": {"index": 2, "total": 2}}
FINISHED = {"event": "job_finished", "job_id": 1}


@pytest.fixture
def handler(tmp_path, monkeypatch):
    monkeypatch.setattr(plugin, "RUNS", tmp_path / "runs")
    return LogHandler(SimpleNamespace(dryrun=False, stdout=False), None)


def say(handler, fields):
    handler.handle(logging.makeLogRecord(fields))


def test_events_of_a_run_are_noted(handler, tmp_path):
    say(handler, PLANNED)
    say(handler, FINISHED)
    handler.close()

    (path,) = (tmp_path / "runs").iterdir()
    events = [json.loads(line)["event"] for line in path.read_text().splitlines()]
    assert events == ["opened", "run", "finished", "end"]


def test_the_first_event_has_the_start_of_planning_and_the_last_the_cpu_time(handler, tmp_path):
    say(handler, PLANNED)
    handler.close()

    (path,) = (tmp_path / "runs").iterdir()
    opened, _, end = (json.loads(line) for line in path.read_text().splitlines())
    assert 0 <= opened["time"] - opened["began"] < 60
    assert end["cpu_seconds"] > 0
    assert end["jobs_cpu_seconds"] >= 0


def test_a_disk_error_is_reported_once_and_the_run_continues(handler, tmp_path, capsys):
    (tmp_path / "runs").write_text("a file where the folder should be")

    say(handler, PLANNED)
    say(handler, FINISHED)
    handler.close()

    said = capsys.readouterr().err
    assert said.count("cannot be written (File exists). The run continues") == 1
    assert "Traceback" not in said


def test_an_event_in_another_form_is_named_and_the_next_one_is_noted(handler, tmp_path, capsys):
    say(handler, PLANNED)
    say(handler, {"event": "job_finished", "job": 1})
    say(handler, FINISHED)

    assert "KeyError: 'job_id'" in capsys.readouterr().err
    (path,) = (tmp_path / "runs").iterdir()
    assert '"finished"' in path.read_text()
