import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tworuns import two_runs

from clipaudit.lineage.difference.differences import (
    CellChange,
    changed_tables,
    grain_words,
    key_columns,
    rows_by_key,
    table_changes,
)

values = st.one_of(st.none(), st.sampled_from(["a", "b"]))
sizes = st.integers(0, 2)
measures = st.one_of(st.none(), st.sampled_from([0.5, math.nan, math.inf]))
rows = st.builds(lambda *row: dict(zip(SCHEMA.names, row, strict=True)), values, sizes, measures)
SCHEMA = pa.schema([("name", pa.string()), ("size", pa.int32()), ("value", pa.float64())])


def table(*given_rows):
    return pa.Table.from_pylist(list(given_rows))


def made(given_rows):
    return pa.Table.from_pylist(given_rows, schema=SCHEMA)


def cells(change):
    return {(*row.name[:-1], cell.column): (cell.before, cell.after)
            for row in change.rows for cell in row.cells}  # fmt: skip


@given(st.lists(rows, max_size=6))
def test_a_table_does_not_differ_from_itself(some):
    change = table_changes(made(some), made(some))

    assert (change.rows, change.is_moved) == ((), False)


@given(st.lists(rows, max_size=5), st.lists(rows, max_size=5))
def test_reversed_differences_mirror_the_forward_ones(old, new):
    there, back = table_changes(made(old), made(new)), table_changes(made(new), made(old))

    mirrored = {name: (after, before) for name, (before, after) in cells(back).items()}
    assert str(sorted(cells(there).items(), key=str)) == str(sorted(mirrored.items(), key=str))
    assert {row.name for row in there.rows} == {row.name for row in back.rows}


@given(st.lists(rows, max_size=5), st.lists(rows, max_size=5))
def test_changes_applied_to_the_old_table_give_the_new_one(old, new):
    change = table_changes(made(old), made(new))

    found = {name: dict(row) for name, row in rows_by_key(made(old), change.key).items()}
    for row in change.rows:
        if row.after is None:
            del found[row.name]
        elif row.before is None:
            found[row.name] = dict(row.after)
        for cell in row.cells:
            found[row.name][cell.column] = cell.after
    assert {str(row) for row in found.values()} == {str(row) for row in new}


def test_a_changed_cell_has_both_values_and_their_difference():
    change = table_changes(
        table({"testset": "val", "right": 3}, {"testset": "sketch", "right": 1}),
        table({"testset": "val", "right": 5}, {"testset": "sketch", "right": 1}),
    )

    (row,) = change.rows
    assert row.key == {"testset": "val"}
    assert row.cells == (CellChange("right", 3, 5),)
    assert row.cells[0].difference == 2


@pytest.mark.parametrize(("before", "after"), [("a", "b"), (None, 1.0), (True, False)])
def test_a_value_that_is_not_a_number_has_no_difference(before, after):
    assert CellChange("x", before, after).difference is None


@pytest.mark.parametrize("value", [math.nan, None, [1.0, math.nan]])
def test_nan_equals_nan_and_null_equals_null(value):
    version = pa.table({"name": ["a"], "value": pa.array([value])})

    assert table_changes(version, version).rows == ()


def test_null_and_nan_differ():
    change = table_changes(
        table({"name": "a", "value": math.nan}), pa.table({"name": ["a"], "value": [None]})
    )

    assert [len(row.cells) for row in change.rows] == [1]


def test_an_inserted_row_is_new_and_other_rows_stay_matched():
    change = table_changes(
        table({"position": 0, "title": "a", "v": 1.0}, {"position": 1, "title": "c", "v": 3.0}),
        table({"position": 0, "title": "a", "v": 1.0}, {"position": 1, "title": "b", "v": 2.0},
              {"position": 2, "title": "c", "v": 3.0}),
    )  # fmt: skip

    assert [(row.key["title"], row.before is None) for row in change.rows] == [
        ("b", True),
        ("c", False),
    ]
    assert cells(change) == {("c", "position"): (1, 2)}


def test_a_column_in_one_version_only_is_named_once():
    change = table_changes(table({"name": "a", "old": 1}), table({"name": "a", "new": 1}))

    assert (change.removed, change.added, change.rows) == (("old",), ("new",), ())


def test_a_changed_type_of_equal_values_is_reported():
    change = table_changes(
        pa.table({"name": ["a"], "n": pa.array([1], pa.int32())}),
        pa.table({"name": ["a"], "n": pa.array([1], pa.int64())}),
    )

    assert (change.types, change.rows) == ({"n": ("int32", "int64")}, ())


def test_a_changed_order_of_rows_is_reported():
    one, other = {"name": "a", "v": 1.0}, {"name": "b", "v": 2.0}

    change = table_changes(table(one, other), table(other, one))

    assert (change.is_moved, change.rows) == (True, ())


def test_rows_with_the_same_key_are_matched_in_order():
    change = table_changes(
        table({"name": "a", "v": 1.0}, {"name": "a", "v": 2.0}),
        table({"name": "a", "v": 1.0}, {"name": "a", "v": 3.0}, {"name": "a", "v": 4.0}),
    )

    assert [dict(row.key) for row in change.rows] == [
        {"name": "a", "nth": 2},
        {"name": "a", "nth": 3},
    ]


def test_the_grain_names_the_key():
    version = table(
        {"set": "x", "size": 1, "k": 1, "v": 0.5}, {"set": "y", "size": 2, "k": 1, "v": 0.5}
    )

    assert key_columns(version, version, ["k", "set"]) == ("set", "k")
    assert key_columns(version, version, []) == ("set",)


def test_a_measured_number_is_not_part_of_the_key():
    version = table(
        {"name": "a", "share": 0.5, "found": 1}, {"name": "a", "share": 0.5, "found": 2}
    )

    assert key_columns(version, version, []) == ("name",)


def test_the_address_of_a_sample_is_reported_in_full():
    version = table({"corpus": "c", "shard": 0, "row": 1}, {"corpus": "c", "shard": 0, "row": 2})

    assert key_columns(version, version, []) == ("corpus", "shard", "row")


def test_bins_are_identified_by_their_bounds():
    version = table(
        {"set": "a", "bin_low": 0.0, "share": 0.5},
        {"set": "a", "bin_low": 0.1, "share": 0.5},
        {"set": "b", "bin_low": 0.1, "share": 0.5},
    )

    assert key_columns(version, version, []) == ("set", "bin_low")


def test_a_nan_bound_matches_in_both_versions():
    version = table({"bin_low": math.nan, "share": 0.5}, {"bin_low": 0.1, "share": 0.5})

    assert table_changes(version, version).rows == ()


def test_tables_without_labels_have_no_key():
    assert key_columns(table({"v": 0.5}), table({"v": 0.25}), []) == ()


@pytest.mark.parametrize("sql", [None, "", "select 1", "-- One row per model, sorted."])
def test_sql_without_a_grain_in_brackets_has_no_words(sql):
    assert grain_words(sql) == []


def test_equal_tables_are_never_opened(tmp_path):
    a, b = two_runs(tmp_path)
    for run in (a, b):
        run.act("tables/same.json", gives=[{"name": "a"}])
    digest = a.run().tables()["tables/same.json"].pointer.digest
    a.store.path(digest).unlink()

    assert changed_tables(a.run(), b.run(), ["tables/same.json"]) == []


def test_a_missing_object_is_reported_and_the_table_still_differs(tmp_path):
    a, b = two_runs(tmp_path)
    a.act("tables/t.json", gives=[{"name": "a"}])
    b.act("tables/t.json", code="other", gives=[{"name": "b"}])
    a.store.path(a.run().tables()["tables/t.json"].pointer.digest).unlink()

    (found,) = changed_tables(a.run(), b.run(), ["tables/t.json"])

    assert found.change is None
    assert "the object is missing" in found.fault
