import pytest
from gapcheck import TABLE, check_gaps
from tworuns import two_runs

from clipaudit.lineage.difference.attribution import OWN, attribute
from clipaudit.lineage.difference.differences import changed_tables
from clipaudit.store.code_records import CodeRecord, write_code


@pytest.fixture
def runs(tmp_path):
    return two_runs(tmp_path)


def attributed(a, b):
    (table,) = changed_tables(a.run(), b.run(), [TABLE])
    return table, attribute(a.run(), b.run(), table)


def alone(a, b, column):
    """Return the column of the one row under each substitution, and what is left over."""
    table, found = attributed(a, b)
    (row,) = table.change.rows
    (cell,) = (cell for cell in row.cells if cell.column == column)
    return {name: values[column] for name, values in found.rows(row)}, found.left_over(row, cell)


def test_a_view_that_explains_a_cell_leaves_nothing_over(runs):
    a, b = runs
    check_gaps(a, gaps=[[0.5]], kept=[[0.25]])
    check_gaps(b, gaps=[[0.5]], kept=[[0.75]])

    assert alone(a, b, "above") == ({"view kept_neighbors": 1}, 0)


def test_an_effect_of_several_views_together_is_left_over(runs):
    a, b = runs
    check_gaps(a, gaps=[[0.5]], kept=[[0.25]])
    check_gaps(b, gaps=[[0.25]], kept=[[0.375]])

    assert alone(a, b, "above") == ({"view kept_neighbors": 0, "view neighbors": 0}, 1)
    assert alone(a, b, "below") == ({"view kept_neighbors": 1, "view neighbors": 0}, 0)


def test_a_few_files_of_a_view_are_substituted_one_by_one(runs):
    a, b = runs
    check_gaps(a, gaps=[[0.5, 0.5]], kept=[[0.25], [0.25], [0.25]][:2])
    check_gaps(b, gaps=[[0.5, 0.5]], kept=[[0.75], [0.75]])

    values, left = alone(a, b, "above")

    assert values == {
        "view kept_neighbors": 2,
        "view kept_neighbors: kept_neighbors/0.json": 1,
        "view kept_neighbors: kept_neighbors/1.json": 1,
    }
    assert left == 0


def test_a_new_file_is_substituted_by_adding_it(runs):
    a, b = runs
    check_gaps(a, gaps=[[0.5, 0.5]], kept=[[0.75]])
    check_gaps(b, gaps=[[0.5, 0.5]], kept=[[0.25], [0.75]])

    values, _ = alone(a, b, "without_neighbor")

    assert values["view kept_neighbors: kept_neighbors/1.json"] == 0


def test_many_files_are_only_substituted_together(runs):
    a, b = runs
    check_gaps(a, gaps=[[0.5] * 9], kept=[[0.25]] * 9)
    check_gaps(b, gaps=[[0.5] * 9], kept=[[0.75]] * 9)

    assert alone(a, b, "above") == ({"view kept_neighbors": 9}, 0)


def test_settings_of_the_table_are_substituted_as_one(runs):
    a, b = runs
    check_gaps(a, gaps=[[0.5]], kept=[[0.25]])
    check_gaps(b, gaps=[[0.5]], kept=[[0.25]], title="Validation")

    assert alone(a, b, "testset_title") == ({OWN: "Validation"}, None)


def test_sql_that_differs_from_disk_cannot_be_substituted(runs):
    a, b = runs
    texts = {"similarity_gap_check.sql": "select 1"}
    write_code(b.store, "other", CodeRecord({}, texts))
    check_gaps(a, gaps=[[0.5]], kept=[[0.25]])
    check_gaps(b, gaps=[[0.5]], kept=[[0.75]], code="other")

    _, found = attributed(a, b)

    assert found.not_attributed() == [
        f"{OWN} cannot be substituted: similarity_gap_check.sql on disk is not what ran"
    ]
    assert [each.name for each in found.substitutions] == ["view kept_neighbors"]


def test_no_view_is_substituted_if_the_code_does_not_reproduce_the_old_table(runs):
    a, b = runs
    check_gaps(a, gaps=[[0.5]], kept=[[0.25]], gives=[{"search": "pruned", "above": 7}])
    check_gaps(b, gaps=[[0.5]], kept=[[0.75]])

    _, found = attributed(a, b)

    assert found.not_attributed() == [
        f"no view can be substituted: the code on disk does not give {TABLE} as it was in "
        f"{a.results}"
    ]


def test_a_missing_object_is_reported(runs):
    a, b = runs
    check_gaps(a, gaps=[[0.5]], kept=[[0.25]])
    check_gaps(b, gaps=[[0.5]], kept=[[0.75]])
    lost = b.run().at("kept_neighbors/0.json").pointer.digest
    b.store.path(lost).unlink()

    _, found = attributed(a, b)

    (fault,) = found.not_attributed()
    assert fault.startswith("view kept_neighbors: kept_neighbors/0.json: ")
    assert "is missing. Run `clipaudit verify`" in fault


def test_a_table_not_made_by_sql_is_not_attributed(runs):
    a, b = runs
    a.act(TABLE, gives=[{"name": "a"}])
    b.act(TABLE, code="other", gives=[{"name": "b"}])

    _, found = attributed(a, b)

    assert found.not_attributed() == ["no SQL makes it, so nothing can be substituted"]
