import json

import pytest
from click.testing import CliRunner

from clipaudit.cli.options import Group
from clipaudit.cli.status import status
from clipaudit.runs.events import EventFile


@pytest.fixture
def runs(tmp_path):
    file = EventFile.new(tmp_path / "runs")
    file.write({"event": "run", "time": 1.0, "rules": {"index": 4}})
    file.write({"event": "end", "time": 2.0})
    return tmp_path / "runs"


def ask(*arguments):
    return CliRunner().invoke(Group(commands=[status]), ["status", *map(str, arguments)])


def test_the_status_is_printed_stage_by_stage(runs):
    answer = ask("--runs", runs)

    assert answer.exit_code == 0
    assert answer.output.splitlines()[1] == "  index     0 of 4"


def test_following_stops_when_the_run_has_ended(runs):
    assert ask("--runs", runs, "--follow").exit_code == 0


def test_the_status_as_json_has_totals(runs):
    answer = json.loads(ask("--runs", runs, "--format", "json").output)

    assert (answer["done"], answer["total"], answer["left"]) == (0, 4, None)


def test_a_folder_without_runs_is_one_message(tmp_path):
    answer = ask("--runs", tmp_path / "gone")

    assert answer.exit_code == 1
    assert "no run has written a log here. Start one in this folder" in answer.output
