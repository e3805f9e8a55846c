import json
import sys

import pytest
from catalogcases import make_catalog, sample
from click.testing import CliRunner

from clipaudit.cli.options import Group
from clipaudit.cli.sql import sql

SAMPLES = ("samples", {"corpus": "large"}, [sample(0, 0), sample(0, 1, caption="=1+1\x1b")])


@pytest.fixture
def run(tmp_path):
    results = str(make_catalog(tmp_path, SAMPLES))

    def run(*arguments, **options):
        command = ["sql", "--results", results, *arguments]
        return CliRunner().invoke(Group(commands=[sql]), command, **options)

    return run


def test_a_query_prints_a_table(run):
    answer = run("select row, caption from audit order by row")

    assert answer.output.splitlines()[2:] == ["  0  0.0", "  1  =1+1\\x1b"]


def test_the_extension_of_the_output_sets_its_format(run, tmp_path):
    answer = run("select row from samples order by row", "--output", str(tmp_path / "rows.jsonl"))

    assert answer.output == ""
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert rows == [{"row": 0}, {"row": 1}]


def test_csv_has_no_formulas(run):
    answer = run("select caption from samples where row = 1", "--format", "csv")

    assert answer.output == "caption\n'=1+1\x1b\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["select 1", "--format", "parquet"], "Parquet needs a file. Give --output FILE."),
        (["--output", "x.csv"], "--output needs a QUERY."),
        (["select 1", "--format", "xml"], "'xml' is not one of"),
        (["select 1", "--output", "x.xlsx"], "cannot write the format .xlsx. Use one of "),
        ([".tables", "--output", "x.csv"], ".tables can only be printed. Remove --output."),
    ],
)
def test_wrong_usage_exits_with_2(run, arguments, message):
    answer = run(*arguments)

    assert answer.exit_code == 2
    assert message in answer.output


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("from samplse", "Error: no table samplse. Did you mean samples"),
        ("select captoin from samples", "Error: no column captoin. Did you mean caption"),
        ("selec 1", "Error: Parser Error: syntax error"),
        ("drop view samples", "Error: drop view samples ...: only queries are allowed"),
        ("select * from read_text('/etc/passwd')", "disabled by configuration"),
    ],
)
def test_a_mistake_is_one_message(run, query, message):
    answer = run(query)

    assert answer.exit_code == 1
    assert message in answer.output
    assert "Traceback" not in answer.output


@pytest.mark.parametrize("query", ["", " \n"])
def test_an_unset_variable_of_the_shell_is_no_query(run, query):
    answer = run(query)

    assert answer.exit_code == 2
    assert "QUERY is empty. Is a variable of the shell not set?" in answer.output


def test_tables_are_listed_without_a_query(run):
    answer = run()

    assert [line.split()[0] for line in answer.output.splitlines()] == [
        "audit", "epochs", "executions", "files", "samples", "shard_files",
    ]  # fmt: skip


def test_a_dot_command_can_be_the_query(run):
    assert run(".tables").output == run().output
    assert "32 hex digits" in run(".schema samples").output


def test_tables_and_columns_are_available_as_json(run):
    tables = json.loads(run(".tables", "--format", "json").output)
    columns = json.loads(run(".schema samples", "--format", "json").output)

    assert [table["name"] for table in tables][:2] == ["audit", "epochs"]
    assert tables[0]["row_is"].startswith("one row per sample")
    assert [column["name"] for column in columns][:3] == ["corpus", "shard", "row"]


def test_a_script_is_answered_statement_by_statement(run):
    answer = run("--format", "csv", input="select 1 as a;\nselect\n2 as b;\n.quit\nselect 3;\n")

    assert answer.output == "a\n1\nb\n2\n"


def test_texts_in_a_script_are_not_changed(run):
    script = "select count(*) as n from (select 'a\u2028;\n' as x) where length(x) = 4; -- two\n"

    assert run("--format", "csv", input=script).output == "n\n1\n"


def test_the_last_statement_of_a_script_needs_no_semicolon(run):
    assert run("--format", "csv", input="select 1 as a\n").output == "a\n1\n"


def test_the_shell_reports_a_mistake_and_continues(run, monkeypatch):
    """Standard input is a terminal; the typed lines come from `input`."""
    typed = iter(["from nothing;", ".schema samples", ".what", "select 7 as seven;"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(typed, None) or _end())
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda self: True)

    answer = run()

    assert answer.exit_code == 0
    assert "Error: no table nothing." in answer.output
    assert "32 hex digits" in answer.output
    assert "Error: .what: no such command." in answer.output
    assert "seven" in answer.output


def _end():
    raise EOFError


def test_help_imports_no_database():
    assert "Example:" in sql.help
    program = "import sys, clipaudit.cli.sql; print('duckdb' in sys.modules)"
    import subprocess

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert done.stdout.strip() == "False"
