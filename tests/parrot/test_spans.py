import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.parrot.spans import (
    SPANS,
    Span,
    Word,
    pictures_without_text,
    polygon_fault,
    spans_of,
    spans_table,
)

SQUARE = (0.0, 0.0, 4.0, 0.0, 4.0, 4.0, 0.0, 4.0)

coordinates = st.floats(-1e6, 1e6, width=32)
polygons = st.lists(st.tuples(coordinates, coordinates), min_size=3, max_size=5).map(
    lambda corners: tuple(number for corner in corners for number in corner)
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
words = st.builds(Word, texts, polygons)
spans = st.builds(
    Span,
    texts,
    st.floats(0, 1, width=32),
    polygons,
    st.none() | st.lists(words, max_size=3).map(tuple),
)


@given(st.lists(st.lists(spans, max_size=3), max_size=4))
def test_spans_survive_a_round_trip(lists):
    table = spans_table((0, row, each) for row, each in enumerate(lists))

    assert table.schema == SPANS
    assert list(spans_of(table)) == lists
    assert pictures_without_text(table) == sum(not each for each in lists)


def test_no_images_give_an_empty_table():
    table = spans_table([])

    assert table.equals(SPANS.empty_table())
    assert pictures_without_text(table) == 0
    assert list(spans_of(table)) == []


def test_slices_and_joined_tables_are_read_correctly():
    table = spans_table((0, row, [Span("a", 1.0, SQUARE)] * (row % 2)) for row in range(6))

    joined = pa.concat_tables([table.slice(4, 2), table.slice(1, 2)])

    assert [len(each) for each in spans_of(joined)] == [0, 1, 1, 0]
    assert pictures_without_text(joined) == 2


def test_no_words_and_unknown_words_are_distinguished():
    told = [Span("a", 1.0, SQUARE, ()), Span("a", 1.0, SQUARE, None)]

    table = spans_table([(3, 7, told)])

    assert [span.words for span in next(spans_of(table))] == [(), None]


def test_negative_zero_is_stored_as_zero():
    negative = tuple(-number for number in SQUARE[:6])

    table = spans_table([(0, 0, [Span("a", 1.0, negative)])])

    assert "-0.0" not in str(next(spans_of(table)))


@pytest.mark.parametrize(
    ("polygon", "fault"),
    [
        (SQUARE, None),
        (SQUARE[:7], "7 coordinates, which is odd"),
        (SQUARE[:4], "2 corners, at least 3 are needed"),
        ((*SQUARE[:7], float("nan")), "a coordinate of nan"),
        ((*SQUARE[:7], 1e39), "a coordinate of 1e\\+39"),
    ],
)
def test_polygons_are_checked(polygon, fault):
    rows = [(0, 0, [Span("sale", 1.0, SQUARE, (Word("sale", polygon),))])]

    if fault is None:
        assert polygon_fault(polygon) is None
        spans_table(rows)
    else:
        with pytest.raises(ValueError, match=f"the polygon of 'sale' has {fault}"):
            spans_table(rows)


def test_images_are_sorted():
    with pytest.raises(AssertionError, match="sorted"):
        spans_table([(0, 1, []), (0, 0, [])])
