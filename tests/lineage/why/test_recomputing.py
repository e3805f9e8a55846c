import pyarrow as pa
import pytest

from clipaudit.lineage.why.cells import Cells
from clipaudit.lineage.why.parts import Views
from clipaudit.lineage.why.recomputing import gives_again, naming_columns
from clipaudit.store.store import Store

TABLE = pa.table(
    {
        "position": [0, 1, 2, 3],
        "dataset": ["a", "a", "b", "b"],
        "title": ["A", "A", "B", "B"],
        "k": [10, 20, 10, 20],
        "value": [0.5, 0.25, 0.5, float("nan")],
    }
)
RELATIONS = {"relations": {"rows": [{"dataset": "a", "k": 1}]}}


def cells(*rows, column="value"):
    chosen = [TABLE.slice(row, 1).to_pylist()[0] for row in rows]
    return Cells(TABLE.column_names, chosen, len(rows), column)


def naming(tmp_path, chosen, settings=RELATIONS):
    return naming_columns(TABLE, chosen, Views(Store(tmp_path), {}), settings)


def test_rows_are_named_by_columns_that_the_settings_also_have(tmp_path):
    assert naming(tmp_path, cells(1)) == ["dataset", "k"]


def test_rows_are_named_by_their_position_only_as_a_last_resort(tmp_path):
    assert naming(tmp_path, cells(1), {"relations": {}}) == ["dataset", "k"]
    assert naming(tmp_path, cells(1, column="k"), {"relations": {}}) == ["dataset", "position"]


def test_whole_rows_are_named_by_all_columns(tmp_path):
    assert naming(tmp_path, cells(0, column=None)) == TABLE.column_names


def test_other_rows_may_be_missing_and_other_columns_may_differ():
    again = TABLE.slice(1, 1).set_column(0, "position", [[0]])

    assert gives_again(again, cells(1), ["dataset", "k"])


def test_every_chosen_row_must_be_present():
    assert not gives_again(TABLE.slice(1, 1), cells(0, 1), ["dataset", "k"])


def test_a_difference_in_the_last_bit_counts():
    again = TABLE.set_column(4, "value", [[0.5, 0.25 + 2**-54, 0.5, 0.0]])

    assert gives_again(again, cells(0), ["dataset", "k"])
    assert not gives_again(again, cells(1), ["dataset", "k"])


@pytest.mark.parametrize("gone", ["value", "k"])
def test_a_removed_column_is_not_reproduced(gone):
    assert not gives_again(TABLE.drop_columns([gone]), cells(0), ["dataset", "k"])


def test_nan_is_reproduced():
    assert gives_again(TABLE, cells(3), ["dataset", "k"])
