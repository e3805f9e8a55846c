import json

import pyarrow.parquet as pq
import pytest
from catalogcases import make_catalog, sample
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.catalog.answer_forms import as_csv, as_json_lines, as_markdown, as_table
from clipaudit.catalog.answers import describe_view, list_tables, write_answers
from clipaudit.catalog.views import open_catalog
from clipaudit.errors import InputError, StoreError

SAMPLES = ("samples", {"corpus": "large"}, [sample(0, 0), sample(0, 1)])


@pytest.fixture
def connection(tmp_path):
    with open_catalog(make_catalog(tmp_path, SAMPLES)) as opened:
        yield opened


def told(lines):
    return "".join(lines).splitlines()


@pytest.mark.parametrize(
    "query",
    [
        "copy (select 1) to '{objects}/new'",
        "explain analyze copy (select 1) to '{objects}/new'",
        "attach '{objects}/new' as other",
        "create temp table new as select 1",
        "set threads = 1",
        "install httpfs",
        "load httpfs",
        "pragma enable_profiling",
        "call duckdb_settings()",
        "export database '{objects}/new'",
        "select 1; drop view samples",
    ],
)
def test_only_queries_are_allowed(connection, tmp_path, query):
    """Without this check, a query could write wherever DuckDB may read objects."""
    objects = tmp_path / "store" / "objects"

    with pytest.raises(InputError, match="only queries are allowed"):
        write_answers(connection, query.format(objects=objects), "table")

    assert not list(objects.glob("new*"))


@pytest.mark.parametrize(
    "query",
    ["show tables", "describe samples", "explain select 1", "pivot samples on row using count(*)"],
)
def test_reading_statements_are_queries(connection, capsys, query):
    write_answers(connection, query, "jsonl")

    assert capsys.readouterr().out


@pytest.mark.parametrize("form", ["json", "jsonl", "parquet"])
def test_columns_of_one_name_are_all_written(connection, tmp_path, form):
    query = "select 1 as shard, 2 as shard"

    write_answers(connection, query, form, tmp_path / "answer")

    if form == "parquet":
        assert pq.read_table(tmp_path / "answer").to_pylist() == [{"shard": 1, "shard_2": 2}]
    else:
        assert '{"shard": 1, "shard_2": 2}' in (tmp_path / "answer").read_text()


def test_an_unknown_column_is_matched_with_the_views_that_the_query_names(connection):
    with pytest.raises(InputError, match=r"no column captio\. Did you mean caption\?"):
        write_answers(connection, "select captio from samples", "table")


def test_a_missing_column_of_an_alias_is_reported_in_the_same_way(connection):
    with pytest.raises(InputError, match=r"no column captio\. Did you mean caption\?"):
        write_answers(connection, "select s.captio from samples as s", "table")


def test_other_mistakes_are_reported_in_few_lines(connection):
    with pytest.raises(InputError, match="No function matches") as told_of:
        write_answers(connection, "select sum(caption) from samples", "table")

    assert len(str(told_of.value).splitlines()) <= 7


def test_every_statement_is_answered(connection, capsys):
    write_answers(connection, "select 1 as a; select 2 as b", "csv")

    assert capsys.readouterr().out == "a\n1\nb\n2\n"


def test_a_file_holds_one_answer(connection, tmp_path):
    with pytest.raises(InputError, match=r"a.csv: 2 statements; a file holds one answer"):
        write_answers(connection, "select 1; select 2", "csv", tmp_path / "a.csv")


def test_parquet_keeps_types(connection, tmp_path):
    path = tmp_path / "answer.parquet"

    write_answers(connection, "select row, uid from samples order by row", "parquet", path)

    assert pq.read_table(path).column("row").to_pylist() == [0, 1]


@pytest.mark.parametrize(
    "value",
    ["('0x' || uid)::uhugeint", "[interval 1 day]", "'101'::bit", f"{10**38}::hugeint"],
)
def test_a_value_that_parquet_cannot_hold_is_refused(connection, tmp_path, value):
    """Otherwise a uid becomes a negative number, and an interval a traceback."""
    query = f"select {value} as x from samples"

    with pytest.raises(InputError, match=r"Parquet cannot hold .* text with ::varchar"):
        write_answers(connection, query, "parquet", tmp_path / "a.parquet")

    assert not list(tmp_path.glob("*.parquet*"))


def test_parquet_holds_sums_and_columns_that_are_named_like_types(connection, tmp_path):
    query = """select sum(row) as "BIT", {'UNION': 'BIT'::enum('BIT')} as s from samples"""

    write_answers(connection, query, "parquet", tmp_path / "a.parquet")

    (row,) = pq.read_table(tmp_path / "a.parquet").to_pylist()
    assert row == {"BIT": 1, "s": {"UNION": "BIT"}}


@pytest.mark.parametrize("form", ["table", "csv", "jsonl"])
def test_times_with_a_zone_are_printed_without_a_further_library(connection, capsys, form):
    time = "('2026-01-02 03:04:05' || uid[:0])::timestamptz"
    query = f"select row, {time} as at, {time} as at, [{time}] as l from samples order by row desc"

    write_answers(connection, query, form)

    out = capsys.readouterr().out
    assert out.count("2026-01-02 03:04:05") == 6
    assert out.splitlines()[-1].strip(' {"row:').startswith("0")
    assert form == "table" or out.count("[") == 2


def test_a_failed_answer_leaves_no_file(connection, tmp_path):
    with pytest.raises(InputError, match="Conversion Error"):
        write_answers(connection, "select cast(uid as int) from samples", "csv", tmp_path / "a.csv")

    assert sorted(path.name for path in tmp_path.iterdir()) == ["results", "store"]


def test_a_missing_folder_is_reported(connection, tmp_path):
    with pytest.raises(InputError, match=r"a.csv: cannot be written: No such file"):
        write_answers(connection, "select 1", "csv", tmp_path / "gone" / "a.csv")


def test_records_need_a_store(connection, tmp_path):
    with pytest.raises(StoreError, match=r"gone: no store with lineage records"):
        write_answers(connection, "from records", "table", store=tmp_path / "gone")


def test_views_and_columns_are_listed_with_their_meaning(connection, capsys):
    list_tables(connection)
    describe_view(connection, "samples")

    lines = capsys.readouterr().out.splitlines()
    assert any(
        line.startswith("samples ") and "one row per usable sample" in line for line in lines
    )
    assert any(line.startswith("uid ") and "32 hex digits" in line for line in lines)


def test_an_unknown_view_is_answered_with_the_nearest(connection):
    with pytest.raises(InputError, match=r"no table sampels\. Did you mean samples"):
        describe_view(connection, "sampels")


# --- forms ---------------------------------------------------------------------------------------


def test_a_table_aligns_numbers_right_and_escapes_control_characters():
    lines = told(as_table(["n", "text"], [(1, "a\x1b[31m"), (20, None)], terminal=False))

    assert lines == [" n  text", "--  ---------", " 1  a\\x1b[31m", "20"]


def test_a_table_too_wide_for_a_terminal_is_printed_value_by_value():
    row = [number * "x" for number in range(30)]

    lines = told(as_table([f"c{number}" for number in range(30)], [row], terminal=True))

    assert lines[:3] == ["c0", "c1   x", "c2   xx"]


def test_a_terminal_shows_that_more_rows_exist():
    lines = told(as_table(["a"], [(1,)] * 61, terminal=True))

    assert lines[-1].startswith("... more than 60 rows")


def test_no_rows_give_only_the_header():
    assert told(as_table(["a"], [], terminal=False)) == ["a", "-"]


def test_csv_keeps_numbers_and_disarms_formulas():
    rows = [[(-0.5, "=1+1", None, True, [1, "a"])]]

    assert told(as_csv(["n", "@f", "e", "t", "l"], rows)) == [
        "n,'@f,e,t,l",
        '-0.5,\'=1+1,,true,"[1, ""a""]"',
    ]


def test_markdown_ends_no_cell_early_and_has_no_html():
    lines = told(as_markdown(["a"], [("x|y\n<b>*",)]))

    assert lines[2] == r"| x\|y\\n\<b\>\* |"


def test_json_has_no_nan_and_bytes_as_hex():
    lines = told(as_json_lines(["a", "b"], [[(float("nan"), b"\x01")]]))

    assert json.loads(lines[0]) == {"a": None, "b": "01"}


@given(st.lists(st.text()))
def test_every_line_of_a_table_is_one_row_whatever_the_text(texts):
    lines = "".join(as_table(["a"], [(text,) for text in texts], terminal=False)).split("\n")

    assert len(lines) == len(texts) + 3


def test_a_query_of_a_moved_store_names_the_next_step(tmp_path):
    catalog = make_catalog(tmp_path, SAMPLES)
    (tmp_path / "store").rename(tmp_path / "moved")
    missing = rf"{tmp_path}/store/objects/.*: no such file, .*repeat the `clipaudit audit`"

    with open_catalog(catalog) as opened, pytest.raises(InputError, match=missing):
        write_answers(opened, "from samples", "table")


@pytest.mark.parametrize(
    "damage", [lambda old: old[:-9], lambda old: old[:4] + bytes(99) + old[103:]]
)
def test_a_query_of_a_damaged_file_names_the_next_step(tmp_path, damage):
    catalog = make_catalog(tmp_path, SAMPLES)
    (file,) = (each for each in (tmp_path / "store/objects").rglob("*") if each.is_file())
    content = file.read_bytes()
    file.chmod(0o600)
    file.write_bytes(damage(content))

    with open_catalog(catalog) as opened, pytest.raises(InputError, match="a file of the catalog"):
        write_answers(opened, "from samples", "table")
