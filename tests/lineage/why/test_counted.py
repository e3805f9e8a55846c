import pyarrow as pa
import pytest

from clipaudit.lineage.why.counted import extremes, of_one_value


def table(**columns):
    return pa.table(columns)


def told(restrictions):
    return [each.words for each in restrictions]


def test_a_column_with_few_values_is_tried_value_by_value():
    rows = table(rank=[0, 1, 0], kind=["a", None, "b"], right=[True, False, True], one=[7, 7, 7])

    found = [told(each) for each in of_one_value("v", rows)]

    assert found == [
        ["rank: 0", "rank: 1"],
        ["kind: a", "kind: b"],
        ["right: false", "right: true"],
    ]


def test_floats_lists_and_columns_with_many_values_are_not_tried():
    rows = table(score=[0.1, 0.2] * 6, top=[[1], [2]] * 6, row=list(range(12)))

    assert list(of_one_value("v", rows)) == []


def test_the_highest_and_the_lowest_rows_are_tried():
    rows = table(similarity=[0.5, 0.9, None, -1.5], kind=["a", "b", "c", "d"])

    highest, lowest = extremes("v", rows, 1)

    assert told([highest, lowest]) == ["similarity: the 1 highest", "similarity: the 1 lowest"]
    assert highest.values == (frozenset({("0.9",)}),)
    assert lowest.values == (frozenset({("-1.5",)}),)


@pytest.mark.parametrize("count", [1, 4])
def test_ties_and_columns_without_more_rows_are_left_out(count):
    assert list(extremes("v", table(score=[0.5, 0.5, 0.5, 0.5]), count)) == []
