import csv
import json
import math

import pytest
from click.testing import CliRunner
from gapcheck import TABLE, check_gaps
from handmadecatalog import whole_run_made
from tworuns import two_runs

from clipaudit.cli.diff import SHOWN_ROWS, diff
from clipaudit.cli.options import Group
from clipaudit.lineage.snapshots import pin, snapshot

HOSTILE = "red\x1b[31m\n=HYPERLINK() \u202e<script>"


@pytest.fixture
def runs(tmp_path):
    return two_runs(tmp_path)


def call(a, b, *arguments):
    command = ["diff", str(a.results), str(b.results), "--store", str(a.store.root), *arguments]
    return CliRunner().invoke(Group(commands=[diff]), command)


def changed(a, b, *, rows=1):
    """Make a table in two runs that differ in one setting, and therefore in every value."""
    for run, k in ((a, 1), (b, 2)):
        gives = [{"name": f"n{row:02}", "value": k / 2, "same": "x"} for row in range(rows)]
        run.act("tables/t.json", step="count", settings={"k": k}, gives=gives)


def test_a_changed_cell_has_both_values_and_its_cause(runs):
    a, b = runs
    changed(a, b)

    answer = call(a, b)

    assert answer.exit_code == 0
    assert answer.stdout.splitlines()[2:] == [
        "1 of 1 report tables differ",
        "",
        "causes, first upstream",
        "  [1] settings  k: 1 -> 2",
        "      in count; reaches 1 cell in 1 table",
        "",
        "t by name: 1 cell in 1 row  [1]",
        "  name=n00  [1]",
        "    value  0.5 -> 1  (+0.5)",
    ]


def test_equal_runs_have_no_differences(runs):
    a, b = runs
    changed(a, a)
    changed(b, b)

    assert call(a, b).stdout.splitlines()[2:] == ["0 of 1 report tables differ"]


def test_a_pin_is_compared_with_the_current_results(runs):
    a, _ = runs
    changed(a, a)
    pin(a.store, "before", snapshot(a.results))
    a.act("tables/t.json", settings={"k": 3}, gives=[{"name": "n00", "value": 3.0, "same": "x"}])
    folders = ["--store", str(a.store.root), "--results", str(a.results)]

    answer = CliRunner().invoke(Group(commands=[diff]), ["diff", "before", *folders])

    assert "value  1 -> 3  (+2)" in answer.stdout


def test_a_table_that_the_last_whole_run_did_not_make_is_named(runs):
    a, b = runs
    changed(a, b)
    b.act("tables/before.json")
    whole_run_made(b.results, "t")

    assert call(a, b).stderr == (
        f"{b.results}: Not in the catalog or the report of the last whole run, so perhaps of "
        "earlier settings: before.\n"
    )


def test_rows_above_the_cap_are_counted_or_all_printed(runs):
    a, b = runs
    changed(a, b, rows=SHOWN_ROWS + 2)

    assert "... and 2 more rows (--all)" in call(a, b).stdout
    assert "name=n11" not in call(a, b).stdout
    assert "name=n11" in call(a, b, "--all").stdout


def test_causes_above_the_cap_are_counted(runs):
    a, b = runs
    for run, k in ((a, 1), (b, 2)):
        settings = {f"s{number:02}": k for number in range(25)}
        run.act("tables/t.json", settings=settings, gives=[{"name": "a", "value": k}])

    assert "... and 17 more of settings (--all)" in call(a, b).stdout
    assert "[1 2 3 4 5 6 and 19 more]" in call(a, b).stdout
    assert "s24: 1 -> 2" in call(a, b, "--all").stdout


def test_tables_rows_and_columns_of_only_one_run_are_reported(runs):
    a, b = runs
    a.act("tables/t.json", gives=[{"name": "a", "old": 1}, {"name": "b", "old": 1}])
    b.act("tables/t.json", code="2", gives=[{"name": "b", "new": 1}, {"name": "c", "new": 1}])
    a.act("tables/gone.json")
    b.act("figures/come.json")

    text = call(a, b).stdout

    for line in ("only in A: gone", "only in B: come", "columns only in A: old",
                 "columns only in B: new", "only in B: name=c", "only in A: name=a"):  # fmt: skip
        assert line in text


def test_a_step_that_was_not_reproduced_is_reported_prominently(runs):
    a, b = runs
    a.act("tables/t.json", gives=[{"name": "a", "value": 1}])
    b.act("tables/t.json", gives=[{"name": "a", "value": 2}])

    assert "[1] NOT REPRODUCED  tables/t.json" in call(a, b).stdout


def test_cells_that_cannot_be_compared_still_have_causes(runs):
    a, b = runs
    changed(a, b)
    a.store.path(a.run().tables()["tables/t.json"].pointer.digest).unlink()

    text = call(a, b).stdout

    assert "t: differs, but its cells cannot be compared  [1]" in text
    assert "the object is missing" in text
    assert "k: 1 -> 2" in text


def test_one_table_can_be_chosen(runs):
    a, b = runs
    changed(a, b)
    a.act("tables/u.json", gives=[{"name": "a", "v": 1}])
    b.act("tables/u.json", gives=[{"name": "a", "v": 2}])

    text = call(a, b, "--table", "t").stdout

    assert "1 of 1 report tables differ" in text
    assert "u by" not in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--table", "similarty_gap_check"], "Did you mean similarity_gap_check?"),
        (["--table", "=x"], "No run has a table '=x'. Known names: similarity_gap_check."),
    ],
)
def test_an_unknown_table_is_answered_with_the_nearest(runs, arguments, message):
    for run in runs:
        run.act(TABLE)

    answer = call(*runs, *arguments)

    assert (answer.exit_code, answer.stdout) == (1, "")
    assert message in answer.stderr


def test_an_unknown_run_is_answered_with_the_nearest_pin(runs):
    a, b = runs
    b.act(TABLE)
    pin(b.store, "before", snapshot(b.results))
    a.results = a.results.with_name("befor")

    answer = call(a, b)

    assert answer.exit_code == 1
    assert "it is not a results folder" in answer.stderr


def test_attribution_reports_what_changes_a_cell_and_what_is_left_over(runs):
    a, b = runs
    check_gaps(a, gaps=[[0.5]], kept=[[0.25]])
    check_gaps(b, gaps=[[0.25]], kept=[[0.375]])

    text = call(a, b, "--attribute").stdout

    below, _, above = text.partition("    below  1 -> 0  (-1)\n")[2].partition("    above  ")
    assert below == "      0  with only view neighbors from B\n"
    assert above.splitlines()[:3] == [
        "0 -> 1  (+1)",
        "      as in A with any one of 2 things from B",
        "      +1  left over: from several changes together",
    ]


def test_all_also_prints_what_changes_nothing(runs):
    a, b = runs
    check_gaps(a, gaps=[[0.5]], kept=[[0.25]])
    check_gaps(b, gaps=[[0.25]], kept=[[0.375]])

    text = call(a, b, "--attribute", "--all").stdout

    assert "      1  with only view kept_neighbors from B" in text


def test_a_table_that_could_not_be_attributed_is_reported(runs):
    a, b = runs
    changed(a, b)

    text = call(a, b, "--attribute").stdout

    assert "not attributed: no SQL makes it, so nothing can be substituted" in text
    assert "left over" not in text


def test_long_values_are_shortened_around_their_difference(runs):
    a, b = runs
    for run, end in ((a, "old"), (b, "new")):
        settings = {"long": [*range(90), end]}
        run.act("tables/t.json", settings=settings, gives=[{"name": "a", "value": end}])

    text = call(a, b).stdout

    assert '88, 89, "old"] -> ...' in text
    assert '88, 89, "new"]' in text
    assert "10, 11, 12" not in text


def test_json_has_the_whole_answer_in_numbers(runs):
    a, b = runs
    check_gaps(a, gaps=[[0.5]], kept=[[0.25]])
    check_gaps(b, gaps=[[0.5]], kept=[[0.75]])

    found = json.loads(call(a, b, "--attribute", "--format", "json").stdout)

    (table,) = found["tables"]
    (row,) = table["rows"]
    assert row["key"] == {"search": "pruned"}
    assert {"column": "above", "before": 0, "after": 1, "difference": 1, "left_over": 0,
            "alone": {"view kept_neighbors": 1}} in row["cells"]  # fmt: skip
    assert found["causes"][0]["kind"] == "settings"
    assert row["causes"] == table["causes"] == [cause["number"] for cause in found["causes"]]


def test_json_has_no_invalid_numbers(runs):
    a, b = runs
    a.act("tables/t.json", gives=[{"name": "a", "value": math.nan}])
    b.act("tables/t.json", code="2", gives=[{"name": "a", "value": math.inf}])

    (table,) = json.loads(
        call(a, b, "--format", "json").stdout, parse_constant=pytest.fail
    )["tables"]  # fmt: skip

    assert table["rows"][0]["cells"][0]["before"] == "nan"


def test_csv_has_a_line_for_each_change(runs):
    a, b = runs
    changed(a, b)
    a.act("tables/gone.json")

    rows = list(csv.DictReader(call(a, b, "--format", "csv").stdout.splitlines()))

    assert [(row["table"], row["change"]) for row in rows] == [
        ("gone", "table removed"),
        ("", "cause"),
        ("t", "cell"),
    ]
    assert rows[2] | {"key": '{"name": "n00"}', "before": "0.5", "after": "1.0"} == rows[2]


def hostile(a, b):
    for run, k in ((a, 1), (b, 2)):
        gives = [{"name": HOSTILE, HOSTILE: f"{HOSTILE}{k}"}]
        run.act("tables/t.json", settings={HOSTILE: f"={HOSTILE}{k}"}, gives=gives)


@pytest.mark.parametrize("form", ["text", "json", "csv"])
def test_hostile_texts_are_harmless(runs, form):
    hostile(*runs)

    text = call(*runs, "--format", form).stdout

    assert not {"\x1b", "\u202e"} & set(text)
    assert not any(line.startswith("=") for line in text.splitlines())


def test_no_cell_of_the_csv_is_a_formula(runs):
    hostile(*runs)

    rows = list(csv.reader(call(*runs, "--format", "csv").stdout.splitlines()))

    assert len(rows) == 3
    assert not any(cell.startswith("=") for row in rows for cell in row)
