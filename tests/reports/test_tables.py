import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clipaudit.errors import StepError, StoreError
from clipaudit.reports import tables
from clipaudit.reports.tables import report_table
from clipaudit.store.actions import LabelledFile

TABLE2 = {"small": "small", "large": "large", "small_title": "S", "large_title": "L"}
TABLE2["near_duplicate_distance"] = 0.05


@pytest.fixture
def query(tmp_path, monkeypatch):
    """A function that runs SQL text as if it were in sql/probe.sql."""

    def run(sql, views, parameters=None):
        (tmp_path / "sql").mkdir(exist_ok=True)
        (tmp_path / "sql" / "probe.sql").write_text(sql)
        monkeypatch.setattr(tables, "report_file", lambda kind, name: tmp_path / kind / name)
        return report_table("probe", views, parameters or {})

    return run


def without_checks(view):
    """The views of Table 2 about its encoder, without rows."""
    return {name: view(name, []) for name in ("encoder_checks", "calibrated")}


def write(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path


def test_a_view_is_the_union_of_its_files_with_their_labels(tmp_path, query):
    first = write(tmp_path / "a.parquet", row=[0, 1], testset=pa.array(["v", "s"]))
    second = write(tmp_path / "b.parquet", testset=["v"], row=[2])  # other order of columns
    view = [
        LabelledFile(first, {"corpus": "large"}),
        LabelledFile(second, {"corpus": "large"}),
        LabelledFile(first, {"corpus": "small"}),  # equal content is stored once
    ]

    table = query("select corpus, testset, row from v order by all", {"v": view})

    assert [tuple(row.values()) for row in table.to_pylist()] == [
        ("large", "s", 1),
        ("large", "v", 0),
        ("large", "v", 2),
        ("small", "s", 1),
        ("small", "v", 0),
    ]


def test_no_character_of_a_path_or_label_is_special(tmp_path, query):
    folder = tmp_path / 'it\'s a "folder" [0-9] *; drop'
    folder.mkdir()
    path = write(folder / "x'y?.parquet", row=[7])
    label = "o'clock\"; select 1 --"

    table = query("select row, recipe from v", {"v": [LabelledFile(path, {"recipe": label})]})

    assert table.to_pylist() == [{"row": 7, "recipe": label}]


def test_dictionary_columns_join_with_plain_ones(tmp_path, query):
    words = pa.array(["a", "b", "a"])
    plain, coded = tmp_path / "p.parquet", tmp_path / "c.parquet"
    write(plain, testset=words, row=[0, 1, 2])
    write(coded, testset=words.dictionary_encode(), row=[0, 1, 2])

    table = query(
        "select c.row from c inner join p on c.testset = p.testset and c.row = p.row "
        "where c.testset = $testset order by all",
        {"p": [LabelledFile(plain)], "c": [LabelledFile(coded)]},
        {"testset": "a", "not_named": 1},
    )

    assert table["row"].to_pylist() == [0, 2]


def test_the_sql_can_read_only_its_views(tmp_path, query):
    path = write(tmp_path / "secret.parquet", row=[1])
    with pytest.raises(StoreError, match=r"probe\.sql: Permission Error.*disabled"):
        query(f"select * from '{path}'", {})
    with pytest.raises(StoreError, match=r"probe\.sql: Catalog Error.*views does not exist"):
        query("select * from views", {})  # a Python variable of that name exists


def test_a_missing_file_is_named_with_its_view(tmp_path, query):
    with pytest.raises(StoreError, match=r"gone\.parquet: not readable .* `v` .*verify"):
        query("from v", {"v": [LabelledFile(tmp_path / "gone.parquet")]})


def test_a_damaged_file_gives_a_store_error(tmp_path, query):
    path = write(tmp_path / "a.parquet", row=list(range(10_000)))
    damaged = bytearray(path.read_bytes())
    damaged[4:2000] = bytes(1996)  # the pages; the footer stays
    path.write_bytes(damaged)

    with pytest.raises(StoreError, match=r"(?s)probe\.sql: .*verify"):
        query("select sum(row) from v", {"v": [LabelledFile(path)]})


def test_incompatible_files_give_a_store_error(tmp_path, query):
    first = LabelledFile(write(tmp_path / "a.parquet", row=[1]))
    second = LabelledFile(write(tmp_path / "b.parquet", row=["x"]))

    with pytest.raises(StoreError, match=r"`v` do not fit together .*int64.*string"):
        query("from v", {"v": [first, second]})


def test_a_view_without_files_is_refused(query):
    with pytest.raises(StepError, match=r"`v` has no file.*empty Arrow table"):
        query("from v", {"v": []})


def test_a_missing_label_of_a_file_is_null(tmp_path, query):
    path = write(tmp_path / "a.parquet", row=[1])
    view = [LabelledFile(path, {"corpus": "c"}), LabelledFile(path, {"search": "s"})]

    table = query("select corpus, search, row from v order by all", {"v": view})

    assert [tuple(row.values()) for row in table.to_pylist()] == [("c", None, 1), (None, "s", 1)]


def test_a_filter_on_a_label_does_not_read_other_files(tmp_path, query):
    whole = write(tmp_path / "a.parquet", row=list(range(10_000)))
    damaged = tmp_path / "b.parquet"
    content = bytearray(whole.read_bytes())
    content[4:2000] = bytes(1996)  # the pages; the footer stays
    damaged.write_bytes(content)
    view = [LabelledFile(whole, {"corpus": "a"}), LabelledFile(damaged, {"corpus": "b"})]

    table = query("select max(row) as last from v where corpus = 'a'", {"v": view})

    assert table["last"].to_pylist() == [9999]


@pytest.mark.parametrize("source", [[], pa.table({})])
def test_a_view_that_may_be_empty_has_its_columns(tmp_path, query, source):
    (tmp_path / "sql").mkdir()
    columns = "create table models (recipe varchar, seed integer);"
    (tmp_path / "sql" / "probe_empty_views.sql").write_text(columns)

    table = query("select seed, recipe from models where seed = 0", {"models": source})

    assert table.schema == pa.schema({"seed": pa.int32(), "recipe": pa.string()})
    assert table.num_rows == 0


def test_a_missing_view_is_not_treated_as_empty(tmp_path, query):
    (tmp_path / "sql").mkdir()
    (tmp_path / "sql" / "probe_empty_views.sql").write_text("create table models (seed integer);")

    with pytest.raises(StoreError, match="models does not exist"):
        query("from models", {})


def test_a_join_holds_its_right_side_in_memory(tmp_path, query):
    big = [LabelledFile(write(tmp_path / "a.parquet", row=list(range(5000))))]
    views = {"big": big, "small": pa.table({"row": [1, 2]})}

    plans = [
        query(f"explain select * from {sides} using (row)", views)["explain_value"][0].as_py()
        for sides in ("big join small", "small join big")
    ]

    assert all("Hash Join" in plan for plan in plans)
    assert plans[0] != plans[1]


def test_a_data_set_is_found_by_either_name_in_the_papers(query):
    table = query(
        "select paper_name(title) as name from titles",
        {"titles": pa.table({"title": ["LAION-200M + ImageNet-Train", "L-200M", "mine"]})},
    )

    assert table["name"].to_pylist() == ["L-200M + IN-Train", "L-200M", "mine"]


def test_a_label_never_shadows_a_column(tmp_path, query):
    path = write(tmp_path / "a.parquet", testset=["a"])

    with pytest.raises(StepError, match=r"a\.parquet: already has the column 'testset'.*'val'"):
        query("from v", {"v": [LabelledFile(path, {"testset": "val"})]})
    other = write(tmp_path / "b.parquet", row=[1])
    with pytest.raises(StepError, match=r"'testset' is a label of some files .* column of others"):
        query("from v", {"v": [LabelledFile(path), LabelledFile(other, {"testset": "val"})]})


def test_an_unknown_column_names_the_sql_file(view, published):
    views = {
        "testsets": view("testsets", []),
        "neighbors": pa.table({"corpus": ["large"]}),
        **without_checks(view),
        "published": published(None),
    }

    with pytest.raises(StoreError, match=r'similarity_table2\.sql: Binder Error.*"rank"'):
        report_table("similarity_table2", views, TABLE2)


def test_a_missing_parameter_is_named(view, published):
    views = {
        "testsets": view("testsets", []),
        "neighbors": view("neighbors", []),
        **without_checks(view),
        "published": published(None),
    }

    with pytest.raises(StoreError, match=r"similarity_table2\.sql: .*large_title"):
        report_table("similarity_table2", views, {"small": "s", "large": "l"})


def test_a_column_of_only_nulls_needs_no_type(view, published):
    """Settings without pruned rows give a `baseline` that Arrow types as null."""
    rows = [{"position": 0, "dataset": "d", "recipe": "r", "manifest": "m", "baseline": None}]
    views = {
        "rows": pa.Table.from_pylist(
            [{**row, "control": None, "indent": False, "in_grid": True} for row in rows]
        ),
        "testsets": view("testsets", [(0, "a", "A")]),
        "predictions": view("predictions", [("r", "m", "a", 0, 0, 0)]),
        "members": view("members", [("m", "large", "all")]),
        "manifest_rows": view("manifest_rows", [("large", "all", 0, 0, True)]),
        "published": published(None),
        "trainings": view("trainings", [("r", "m", "r", "m")]),
    }

    table = report_table("similarity_table1", views, {"over_seeds": False})

    assert table.select(["accuracy", "size"]).to_pylist() == [{"accuracy": 1.0, "size": 1}]


def test_the_order_and_split_of_files_do_not_affect_the_bytes(tmp_path, view, published):
    neighbors = view(
        "neighbors",
        [
            (corpus, "a", 0, row, 0, (row * factor % 97) / 97)
            for corpus, factor in (("small", 31), ("large", 57))
            for row in range(200)
        ],
    )
    whole, parts = tmp_path / "whole.parquet", []
    pq.write_table(neighbors, whole)
    for start in range(0, 400, 100):
        parts.append(tmp_path / f"{start}.parquet")
        pq.write_table(neighbors.slice(start, 100), parts[-1])

    def answer(paths):
        views = {
            "testsets": view("testsets", [(0, "a", "A")]),
            "neighbors": [LabelledFile(path) for path in paths],
            **without_checks(view),
            "published": published(None),
        }
        return report_table("similarity_table2", views, TABLE2)

    assert answer([whole]).equals(answer(parts))
    assert answer(parts).equals(answer(parts[::-1]))
    assert answer([whole])["images"].to_pylist() == [200, 200]


def test_two_processes_give_the_same_bytes(tmp_path):
    program = (
        "import hashlib, pyarrow as pa\n"
        "from clipaudit.reports.tables import report_table, published_values\n"
        "rows = pa.table({'position': [0, 1], 'dataset': ['b', 'c'], 'recipe': ['r', 'r'],\n"
        "    'manifest': ['b', 'c'], 'baseline': [None, 'b'], 'control': [None, 'b'],\n"
        "    'indent': [False, True], 'in_grid': [True, True]})\n"
        "predictions = pa.table({'recipe': ['r'] * 80, 'manifest': ['b'] * 40 + ['c'] * 40,\n"
        "    'testset': ['a'] * 80, 'shard': [0] * 80, 'row': list(range(40)) * 2,\n"
        "    'label': [0] * 80, 'top': [[n * n % 3 % 2] for n in range(80)],\n"
        "    'right_rank': [n * n % 3 % 2 for n in range(80)]})\n"
        "testsets = pa.table({'position': [0], 'testset': ['a'], 'title': ['A']})\n"
        "members = pa.table({'manifest': ['b'], 'corpus': ['l'], 'pruning': ['all']})\n"
        "kept = pa.table({'corpus': ['l'], 'pruning': ['all'], 'kept': [True]})\n"
        "table = report_table('similarity_table1', {'rows': rows, 'testsets': testsets,\n"
        "    'predictions': predictions, 'members': members, 'manifest_rows': kept,\n"
        "    'published': published_values('none'),\n"
        "    'trainings': pa.table({'recipe': ['r'] * 2, 'training': ['r'] * 2,\n"
        "        'manifest': ['b', 'c'], 'trained_on': ['b', 'c']})}, {'over_seeds': True})\n"
        "assert table['relative_change_high'][1].is_valid\n"
        "print(hashlib.sha256(repr(table.to_pylist()).encode()).hexdigest())\n"
    )
    # a file, since by -c DuckDB shows the progress of slow queries
    (tmp_path / "program.py").write_text(program)
    command = [sys.executable, "program.py"]

    outputs = {
        subprocess.run(command, check=True, capture_output=True, cwd=tmp_path).stdout
        for _ in range(2)
    }

    assert len(outputs) == 1
