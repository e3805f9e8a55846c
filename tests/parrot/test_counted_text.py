import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.parrot.counted_text import Counted, counted_text
from clipaudit.parrot.spans import SPANS, Span, spans_of, spans_table

HIGH, LOW = (0.0, 0.0, 40.0, 0.0, 40.0, 20.0, 0.0, 20.0), (0.0, 0.0, 40.0, 4.0, 40.25, 2.0)
ALL = Counted(score=0, letters=0, height=0)

spans = st.builds(
    Span,
    st.text(st.sampled_from("ab5 米-"), max_size=5),
    st.sampled_from([0.0, 0.5, 0.75, 1.0]),
    st.sampled_from([HIGH, LOW]),
    st.none(),
)


@given(st.lists(st.lists(spans, max_size=4), max_size=5), st.data())
def test_text_pieces_that_meet_all_criteria_are_kept(pictures, data):
    least = data.draw(st.sampled_from([0, 0.5, 0.8])), data.draw(st.integers(0, 3))
    scripts, height = (
        data.draw(st.sampled_from([(), ("Latin",), ("Han",)])),
        data.draw(st.sampled_from([0, 3, 30])),
    )
    letters = {(): "ab米", ("Latin",): "ab", ("Han",): "米"}[scripts]
    readings = spans_table((0, row, picture) for row, picture in enumerate(pictures))
    halves = pa.concat_tables([readings.slice(0, 2), readings.slice(2)])

    counted = counted_text(halves, Counted(*least, height, scripts))

    assert counted.schema == SPANS
    assert list(spans_of(counted)) == [
        [
            span
            for span in picture
            if span.score >= least[0]
            and sum(letter in letters for letter in span.text) >= least[1]
            and (height == 0 or (height == 3 and span.polygon == HIGH))
        ]
        for picture in pictures
    ]


def test_a_score_counts_with_its_stored_precision():
    readings = spans_table([(0, 0, [Span("word", 0.8, HIGH)])])

    assert len(next(spans_of(counted_text(readings, Counted(0.8, 1, 0))))) == 1


@pytest.mark.parametrize(
    ("text", "scripts", "stays"),
    [
        ("МИР", ("Cyrillic",), True),
        ("МИР", ("Latin",), False),
        ("2012", (), False),
        ("été", ("Latin",), True),
    ],
)
def test_only_letters_of_the_given_scripts_count(text, scripts, stays):
    readings = spans_table([(0, 0, [Span(text, 1.0, HIGH)])])

    assert bool(next(spans_of(counted_text(readings, Counted(0, 2, 0, scripts))))) == stays


def test_no_images_give_no_rows():
    assert counted_text(spans_table([]), ALL).equals(spans_table([]))
