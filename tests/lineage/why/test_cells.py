import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clipaudit.errors import InputError
from clipaudit.lineage.why.cells import MOST_ROWS, chosen_cells


@pytest.fixture
def table(tmp_path):
    columns = {"dataset": ["pruned", "whole", "whole"], "k": [1, 2, 3], "accuracy": [0.5, 0.25, 1]}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def test_rows_keep_the_order_of_the_table(table):
    cells = chosen_cells(table, "t", "dataset = 'whole'", "accuracy")

    assert [row["accuracy"] for row in cells.rows] == [0.25, 1]
    assert (cells.count, cells.asked) == (2, ["accuracy"])


def test_all_rows_are_chosen_without_a_condition(table):
    assert chosen_cells(table, "t", None, None).count == 3


def test_only_the_first_of_many_rows_are_held_but_all_are_counted(tmp_path):
    pq.write_table(pa.table({"n": range(MOST_ROWS + 5)}), tmp_path / "t.parquet")

    cells = chosen_cells(tmp_path / "t.parquet", "t", None, None)

    assert (len(cells.rows), cells.count) == (MOST_ROWS, MOST_ROWS + 5)


def test_an_unknown_column_is_answered_with_the_nearest(table):
    with pytest.raises(InputError, match=r"t: no column 'acuracy'\. Did you mean accuracy\?"):
        chosen_cells(table, "t", None, "acuracy")


def test_an_unknown_column_in_a_condition_is_answered_with_the_nearest(table):
    with pytest.raises(InputError, match=r"t: no column 'datset'\. Did you mean dataset\?"):
        chosen_cells(table, "t", "datset = 'pruned'", None)


def test_a_condition_without_rows_is_answered_with_existing_values(table):
    message = r"no row satisfies dataset = 'prund'.*Its columns: dataset, k, accuracy\. "
    with pytest.raises(InputError, match=message + r"No dataset is 'prund'\. Did you mean pruned"):
        chosen_cells(table, "t", "dataset = 'prund'", None)


def test_a_condition_of_existing_values_without_rows_names_only_the_columns(table):
    with pytest.raises(InputError, match=r"Its columns: dataset, k, accuracy\.$"):
        chosen_cells(table, "t", "dataset = 'pruned' and k = 2", None)


def test_a_condition_that_is_not_sql_is_answered_with_the_database_error(table):
    with pytest.raises(
        InputError, match=r"t: dataset = is not a valid condition: Parser Error.*syntax"
    ):
        chosen_cells(table, "t", "dataset =", None)


def test_hostile_names_are_escaped(tmp_path):
    pq.write_table(pa.table({"a\x1b[31m": ["\x1b]0;x"]}), tmp_path / "t.parquet")

    with pytest.raises(InputError, match=r"Its columns: a\\x1b\[31m"):
        chosen_cells(tmp_path / "t.parquet", "t", "false", None)
