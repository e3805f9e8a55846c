"""The snakemake command that `clipaudit run` runs."""

import getpass
import os
import sys
from base64 import b64encode
from pathlib import Path

import pytest
from click.testing import CliRunner

from clipaudit.cli.commands import commands
from clipaudit.cli.run import run_command
from clipaudit.errors import ConfigError

ROOT = Path(__file__).parents[2]
START = [sys.executable, "-P", "-m", "snakemake", "--snakefile", f"{ROOT}/Snakefile"]
LOCAL = ["--profile", f"{ROOT}/profiles/local"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("my.yaml").write_text("results: results\n")


@pytest.mark.parametrize(
    ("arguments", "end"),
    [
        ([], ["--", "all_tables", "all_figures", "report"]),
        (["all_tables"], ["--", "all_tables"]),
        (["my.yaml"], ["--configfile", "my.yaml", "--", "all_tables", "all_figures", "report"]),
        (["my.yaml", "report"], ["--configfile", "my.yaml", "--", "report"]),
        (["report", "-n", "--config", "a=b"], ["-n", "--config", "a=b", "--", "report"]),
    ],
)
def test_settings_targets_and_other_options_keep_their_order(arguments, end):
    assert run_command(tuple(arguments), "profiles/local", None) == [*START, *LOCAL, *end]


def test_options_for_the_machine_come_before_other_options():
    command = run_command(("-n",), "profiles/local", "all", ["--resources", "gpu=1"])

    assert command[len(START) + 2 :][:6] == ["--cores", "all", "--resources", "gpu=1", "-n", "--"]


@pytest.mark.parametrize("command", ["run", "plan"])
def test_the_demo_does_not_replace_the_results_of_other_settings(command, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "settings.yaml").write_text("mine: 1")

    done = CliRunner().invoke(commands, [command, "all_tables"])

    assert done.exit_code == 1
    assert "Name the settings first: settings.yaml all_tables" in done.stderr


def test_results_of_which_snakemake_has_no_records_start_all_steps(capsys):
    Path("results/.actions").mkdir(parents=True)
    records = Path(".snakemake/metadata")
    records.mkdir(parents=True)
    (records / b64encode(b"results_before/tables/a.json").decode()).touch()

    assert "--forceall" in run_command(("my.yaml",), "profiles/local", None)
    assert ".snakemake has no records of these results" in capsys.readouterr().err

    (records / b64encode(b"results/tables/a.json").decode()).touch()
    assert "--forceall" not in run_command(("my.yaml",), "profiles/local", None)


def test_a_misspelt_target_is_refused_before_snakemake_starts():
    with pytest.raises(
        ConfigError, match=r"all_tabels: no rule makes this\. Did you mean all_tables"
    ):
        run_command(("all_tabels",), "profiles/local", None)


def test_a_target_that_a_plugin_may_have_is_left_to_snakemake():
    assert run_command(("my_own",), "profiles/local", None)[-1] == "my_own"


def test_a_profile_of_the_workflow_is_found_by_name(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    assert f"{ROOT}/profiles/slurm" in run_command((), "slurm", None)


def test_a_profile_of_the_user_overrides_one_of_the_workflow(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    own = tmp_path / "snakemake/slurm/config.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("jobs: 1\n")

    assert run_command((), "slurm", None)[len(START) :][:2] == ["--profile", "slurm"]


def test_the_current_folder_comes_first_if_it_is_a_clone(monkeypatch):
    monkeypatch.chdir(ROOT)

    command = run_command((), "profiles/local", None)

    assert command[4:8] == ["--snakefile", "Snakefile", "--profile", "profiles/local"]


def test_a_cache_that_cannot_be_written_is_one_message(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))

    with pytest.raises(ConfigError, match=r"file/snakemake/.*Set XDG_CACHE_HOME to a folder that"):
        run_command((), "local", None)


def test_a_user_without_a_home_is_told_to_set_one(monkeypatch):
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_000)  # has no entry in passwd

    with pytest.raises(ConfigError, match="HOME: not set, and this user has no home folder"):
        run_command((), "local", None)


def test_a_user_without_a_name_gets_one_for_snakemake(monkeypatch, tmp_path):
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_000)  # has no entry in passwd

    run_command((), "local", None)

    assert getpass.getuser() == "4000000000"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gone.yaml"], "gone.yaml: no such file. To write one: `clipaudit init NAME --to gone.y"),
        (["--profile", "slrm"], "slrm: no such profile, neither a folder with a config.yaml nor"),
        (["--profile", "slrm"], "Did you mean slurm?"),
        (["python.yaml"], "makes Snakemake run Python code in this file"),
    ],
)
def test_an_impossible_run_is_one_message(arguments, message):
    Path("python.yaml").write_text("__use_yte__: true\n")

    answer = CliRunner().invoke(commands, ["run", *arguments])

    assert answer.exit_code == 1
    assert message in answer.output
    assert isinstance(answer.exception, SystemExit)
