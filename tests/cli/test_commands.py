import os
import subprocess
import sys

import click
import duckdb
import pytest
from click.testing import CliRunner

from clipaudit.cli import main
from clipaudit.cli.commands import commands
from clipaudit.cli.options import Group


@pytest.mark.parametrize("command", commands.commands.values(), ids=commands.commands.keys())
def test_every_command_has_help_and_example(command):
    assert command.help
    assert "Example:" in command.help


@pytest.mark.parametrize("command", [[], *([name] for name in commands.commands)])
def test_h_shows_the_help_everywhere(command):
    answer = run(*command, "-h")

    assert answer.exit_code == 0
    assert answer.output == run(*command, "--help").output


def run(*arguments):
    return CliRunner().invoke(commands, arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["verify", "--results", "gone"], "Directory 'gone' does not exist. Go to the folder"),
        (
            ["why", "x", "--store", "gone"],
            "or give the folder with --store. `clipaudit run SETTINGS`",
        ),
        (["sql", "--format", "xml", "select 1"], "'xml' is not one of 'table', 'csv', 'json'"),
        (["plot"], "No such command 'plot'"),
    ],
)
def test_wrong_usage_exits_with_2_and_says_why(arguments, message):
    answer = run(*arguments)

    assert answer.exit_code == 2
    assert message in answer.output


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        (["sql", ".tables"], "results"),
        (["sample", "train", "0:1"], "results"),
        (["why", "copies_shares"], "results"),
        (["verify"], "results"),
        (["gc"], "store"),
        (["status"], "logs/runs"),
    ],
    ids=str,
)
def test_beside_the_folder_of_an_audit_a_command_says_to_go_there(
    command, missing, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for name in ("results", "store", "logs/runs"):
        (tmp_path / "my audit" / name).mkdir(parents=True)
    (tmp_path / "my audit/settings.yaml").touch()

    answer = run(*command)

    assert f"my audit/{missing} exists: `cd 'my audit'` first, or give" in answer.output


@pytest.mark.parametrize(
    "command",
    [
        ["export", "a/all", "--format", "uids", "--output", "o"],
        ["pin", "before"],
        ["prov", "--format", "ro-crate", "--output", "o"],
        ["sample", "a", "0:1"],
        ["sql", ".tables"],
        ["stream", "a/all", "0"],
        ["verify"],
        ["why", "similarity_table1"],
    ],
    ids=lambda command: command[0],
)
def test_every_command_says_what_to_do_before_a_run(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    (tmp_path / "store").mkdir()

    answer = run(*command)

    assert answer.exit_code == 1
    assert "`clipaudit run SETTINGS" in answer.stderr or "--results" in answer.stderr


def test_a_misspelt_folder_is_guessed(tmp_path):
    (tmp_path / "results").mkdir()

    answer = run("verify", "--results", str(tmp_path / "resluts"))

    assert f"Did you mean {tmp_path / 'results'}?" in " ".join(answer.output.split())


def test_a_folder_without_permission_is_not_said_to_be_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may read everything

    answer = run("verify", "--results", str(tmp_path))

    assert answer.exit_code == 2
    assert answer.output.endswith(
        "is not readable. Give this user permission for it, or name another with --results.\n"
    )


def test_a_folder_without_a_run_is_one_message(tmp_path):
    answer = run("sql", "--results", str(tmp_path), "select 1")

    assert answer.exit_code == 1
    assert f"{tmp_path}/audit.duckdb: no such catalog. Run `clipaudit run" in answer.output
    assert "Traceback" not in answer.output


def test_an_output_that_cannot_be_encoded_is_one_message():
    group = Group(commands=[click.Command("show", callback=lambda: click.echo("1\u202f000"))])

    answer = CliRunner(charset="latin-1").invoke(group, ["show"])

    assert answer.exit_code == 1
    assert answer.stderr == (
        "Error: the output's encoding, latin-1, lacks '\\u202f'. "
        "Set PYTHONIOENCODING=utf-8 and start the same command again.\n"
    )


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "MemoryError"),
        (duckdb.OutOfMemoryException("Out of Memory Error: no block\n\nSet x."), "no block"),
    ],
)
def test_memory_that_does_not_suffice_is_one_message(error, said):
    @click.command
    def fails():
        raise error

    answer = CliRunner().invoke(Group(commands=[fails]), ["fails"])

    assert answer.exit_code == 1
    assert f"{said}). Allow this process more" in answer.output
    assert answer.output.count("\n") == 1


@pytest.mark.parametrize("stream", ["stdin", "stdout", "stderr"])
def test_a_closed_standard_stream_becomes_the_null_device(monkeypatch, stream):
    monkeypatch.setattr(sys, stream, None)
    monkeypatch.setattr(sys, "argv", ["clipaudit", "--version"])

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 0
    with getattr(sys, stream) as opened:
        assert opened.name == os.devnull


def test_help_imports_nothing_heavy():
    program = (
        "import sys\nfrom clipaudit.cli.commands import commands\n"
        "commands(['--help'], standalone_mode=False)\n"
        "print(sorted({'torch', 'pyarrow', 'duckdb', 'numpy', 'pydantic'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert done.stdout.splitlines()[-1] == "[]", done.stderr
