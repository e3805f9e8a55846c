"""Example settings, written into a folder that is not a clone."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from clipaudit.cli.commands import commands
from clipaudit.config.loading import parse_settings, read_settings

CONFIG = Path(__file__).parents[2] / "config"


@pytest.fixture
def init(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(commands, ["init", *arguments])


def test_init_without_a_name_lists_every_example_with_its_first_sentence(init):
    lines = init().output.splitlines()

    assert [line.split()[0] for line in lines[:-2]] == sorted(p.stem for p in CONFIG.glob("*.yaml"))
    assert "laion400m           The similarity audit at the paper's scale: LAION-400M against " in (
        next(line for line in lines if line.startswith("laion400m"))
    )


def test_the_list_is_available_as_json(init):
    listed = json.loads(init("--format", "json").output)

    assert sorted(listed) == sorted(path.stem for path in CONFIG.glob("*.yaml"))


def test_an_example_is_written_unchanged(init):
    assert init("demo", "--to", "own/my.yaml").exit_code == 0

    assert Path("own/my.yaml").read_text() == (CONFIG / "demo.yaml").read_text()


def test_the_next_commands_quote_the_name_of_the_file(init):
    last = init("demo", "--to", "my demo.yaml").output.splitlines()[-1]

    assert last == "  clipaudit run 'my demo.yaml'"


def test_files_that_an_example_names_are_written_with_it(init):
    init("celeba")

    assert sorted(map(str, Path().rglob("*.*"))) == [
        "celeba.yaml",
        "config/labels/digits.txt",
        "config/labels/gender.txt",
        "config/laion400m.yaml",
    ]


@pytest.mark.parametrize("name", sorted(path.stem for path in CONFIG.glob("*.yaml")))
def test_every_example_is_complete_where_it_is_written(init, name):
    init(name)

    run = parse_settings(read_settings(Path(f"{name}.yaml")))
    assert run.corpora
    assert list(run.audits())


def test_an_existing_file_is_replaced_only_by_force(init):
    Path("demo.yaml").write_text("mine")

    refused = init("demo")
    kept = Path("demo.yaml").read_text()
    init("demo", "--force")

    assert (refused.exit_code, kept) == (1, "mine")
    assert "Error: demo.yaml: exists. Replace it with --force, or give another" in refused.output
    assert yaml.safe_load(Path("demo.yaml").read_text())["results"] == "results"


def test_an_existing_file_that_an_example_extends_is_kept(init):
    Path("config").mkdir()
    Path("config/laion400m.yaml").write_text("mine")

    answer = init("dejavu")

    assert "kept config/laion400m.yaml\n" in answer.output
    assert Path("config/laion400m.yaml").read_text() == "mine"


def test_a_file_that_run_would_take_for_a_target_is_refused(init):
    done = init("laion400m", "--to", "big")

    assert (done.exit_code, Path("big").exists()) == (1, False)
    assert "big: a file of settings ends in .yaml or .yml" in done.stderr
    assert "Write --to big.yaml." in done.stderr


def test_an_unknown_example_is_one_message(init):
    answer = init("laion40m")

    assert answer.exit_code == 1
    assert "Error: laion40m: no such example settings. Did you mean laion400m" in answer.output
