import json
import shutil

import pytest
from click.testing import CliRunner
from handmaderun import HandmadeRun

from clipaudit.cli.options import Group
from clipaudit.cli.why import why

SQL = "select corpus, avg(score) as mean from scores group by corpus order by corpus"

group = Group(commands=[why])


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return two corpora with a shard and a file of two scores each; `means` is made from both."""
    run = HandmadeRun(tmp_path, monkeypatch)
    files = []
    for corpus, score in (("a", 0.25), ("b\x1b[31m", 0.75)):
        labels = {"corpus": corpus}
        rows = [{"score": score}, {"score": score}]
        tars = [run.shard(f"data/{corpus}.tar")]
        files += run.act("score", {f"scores/{score}.json": (labels, rows)}, {"tars": tars})
    run.report("means", SQL, {"scores": files})
    return run


def ask(run, *arguments):
    flags = ("--results", run.results, "--store", run.store.root, "--seconds", 20)
    return CliRunner().invoke(group, [str(each) for each in ("why", *arguments, *flags)])


def test_the_answer_goes_from_the_cell_to_the_shard(run):
    answer = ask(run, "means", "--where", "corpus = 'a'", "--column", "mean", "--all")

    assert (answer.exit_code, answer.stderr) == (0, "")
    assert answer.stdout.startswith("mean = 0.25\ncorpus=a  mean=0.25\n")
    assert "means.sql (recorded when it ran):\n  select corpus, avg(score)" in answer.stdout
    assert "  scores: 2 of 4 rows, 1 of 2 files\n    corpus: a\n" in answer.stdout
    assert "  | tars: 1 of 1 files\n    data/a.tar" in answer.stdout


def test_the_command_for_a_sample_names_the_folders_of_the_run(run):
    rows = [{"shard": 0, "row": 7, "score": 0.5}]
    files = run.act("score", {"scores/c.json": ({"corpus": "c"}, rows)}, {"tars": []})
    run.report("own", SQL, {"scores": files})
    run.results = run.results.rename(run.results.with_name("my results"))

    last = ask(run, "own").stdout.splitlines()[-1]

    folders = f"--results '{run.results}' --store {run.store.root}"
    assert last == f"Show the first: clipaudit sample c 0:7 {folders}"


def test_as_many_input_rows_are_shown_as_requested(run):
    answer = ask(run, "means", "--where", "corpus = 'a'", "--rows", 1)

    assert answer.stdout.count("    corpus=a  score=0.25\n") == 1
    assert "    ... and 1 more\n" in answer.stdout


def test_neither_sql_nor_settings_are_shown_by_default(run):
    answer = ask(run, "means", "--where", "corpus = 'a'")

    assert "select corpus" not in answer.stdout
    assert "sql = means" not in answer.stdout
    assert "sql = means" in ask(run, "means", "--settings").stdout
    assert "select corpus" in ask(run, "means", "--sql").stdout


def test_a_printed_cell_can_be_chosen_by_its_names(run):
    rows = [
        {"position": 0, "measure_title": "CoTR, %", "corpus": "a", "value": 0.5, "measure": "r"},
        {"position": 1, "measure_title": "Images", "corpus": "a", "value": 7.0, "measure": "i"},
    ]
    titles = {"corpus_title": "Web", "unit": "share", "published_value": None, "value_low": None}
    made = [{**row, **titles, "value_high": None, "tokenization": None} for row in rows]
    run.act("report_table", {"tables/parrot_table1.json": ({}, made)}, {})

    answer = ask(run, "parrot_table1", "--cell", "CoTR, %", "Web")

    assert answer.exception is None
    assert answer.stderr == "Equivalent: --column value --where \"measure_title = 'CoTR, %'\"\n"
    assert answer.stdout.startswith("value = 0.5 (share)\n")


def test_a_table_without_a_printed_form_has_no_printed_cells(run):
    answer = ask(run, run.results / "scores/0.25.json", "--cell", "a", "mean")

    assert answer.exit_code == 1
    assert "Use --where and --column." in answer.stderr


def test_json_is_one_object(run):
    answer = ask(run, "means", "--where", "corpus = 'a'", "--format", "json")

    found = json.loads(answer.stdout)
    assert found["verified"]
    assert {edge["to"] for edge in found["edges"]} == found["actions"].keys()


def test_the_help_names_every_part_of_the_json(run):
    found = json.loads(ask(run, "means", "--format", "json").stdout)

    words = CliRunner().invoke(group, ["why", "--help"]).stdout.split()
    assert found.keys() <= {word.strip(",.;()") for word in words}


def test_mermaid_is_a_flow_chart(run):
    answer = ask(run, "means", "--format", "mermaid")

    assert answer.stdout.startswith('flowchart LR\n  a0["report_table<br/>')


def test_data_cannot_inject_terminal_escapes(run):
    for form in ("text", "json", "mermaid"):
        answer = ask(run, "means", "--rows", 2, "--format", form, "--all", "--code")

        assert answer.exit_code == 0
        assert "\x1b" not in answer.stdout


def test_a_copy_without_objects_gives_only_the_tree(run):
    shutil.rmtree(run.store.root / "objects")

    answer = ask(run, "means", "--where", "corpus = 'a'", "--all")

    assert answer.exit_code == 0
    assert answer.stdout.count("The objects are not here") == 1
    assert "data/a.tar" in answer.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mean"], "no table 'mean'. Did you mean means?"),
        (["means", "--column", "meen"], "no column 'meen'. Did you mean mean?"),
        (["means", "--where", "corps = 'a'"], "no column 'corps'. Did you mean corpus?"),
        (["means", "--where", "corpus = 'c'"], "No corpus is 'c'. Known names: a, b\\x1b[31m."),
    ],
)
def test_an_unknown_name_is_answered_with_existing_ones(run, arguments, message):
    answer = ask(run, *arguments)

    assert (answer.exit_code, answer.stdout) == (1, "")
    assert message in answer.stderr
    assert "Traceback" not in answer.stderr
