import json

import pytest
from click.testing import CliRunner

from clipaudit.cli.commands import commands
from clipaudit.cli.doctor import page
from clipaudit.runs.doctor import examine
from clipaudit.store.store import Store


@pytest.fixture
def doctor(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(commands, ["doctor", *arguments])


def test_the_page_ends_without_a_problem_outside_a_project(doctor):
    answer = doctor()

    assert answer.exit_code == 0, answer.output
    assert answer.output.startswith("clipaudit ")
    assert "results: missing" in answer.output
    assert answer.output.endswith("No problem found.\n")
    assert max(map(len, answer.output.splitlines())) <= 100


def test_a_problem_is_reported_last_and_exits_with_1(doctor, tmp_path):
    (tmp_path / "my.yaml").write_text("corpora: 3\n")

    answer = doctor()

    assert answer.exit_code == 1
    assert "settings       my.yaml: invalid, see below\n" in answer.stdout
    assert "Problems: 1\n  my.yaml: the settings are invalid:" in answer.stdout
    assert answer.stderr == "Error: 1 problem found: see above.\n"


def test_json_has_the_same_content_and_no_user_paths(doctor, tmp_path):
    found = json.loads(doctor("--format", "json").stdout)

    assert found.keys() == examine(tmp_path / "results", Store(tmp_path / "store")).keys()
    assert str(tmp_path) not in json.dumps(found)


def test_gpus_that_the_installation_cannot_use_are_marked(tmp_path):
    found = examine(tmp_path / "results", Store(tmp_path / "store"))
    found["machine"] |= {"gpus": ["0, A100, 40 GB, 550"], "gpus_used": False}

    lines = list(page(found))

    assert f"{'GPUs':<15}0, A100, 40 GB, 550. Not used: install clipaudit[gpu]" in lines
