import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.corpora.samples import SAMPLES
from clipaudit.demo.shard_writer import TRUTH
from clipaudit.errors import StepError
from clipaudit.parrot.matching import match
from clipaudit.parrot.spans import Span, spans_table
from clipaudit.parrot.spotted_truth import SPOTTED_TRUTH, compare

BOX = (0.0, 0.0, 9.0, 0.0, 9.0, 9.0)


def truth_table(pictures):
    """Return TRUTH of (written word or None, caption or None), rows 0, 1, ... of shard 3."""
    rows = [
        {"shard": 3, "row": row, "key": f"{row:06d}", "style": "photo", "labels": []}
        | {"text": word, "text_height": word and 12, "caption": caption}
        | {"text_repeats_caption": False}
        for row, (word, caption) in enumerate(pictures)
    ]
    return pa.Table.from_pylist(rows, TRUTH)


def read_tables(pictures, texts):
    """Return the SPANS and the MATCHES of the images that have texts; None: not readable."""
    found = [
        (3, row, [Span(text, 0.9, BOX) for text in read])
        for row, read in enumerate(texts)
        if read is not None
    ]
    samples = [
        {"shard": 3, "row": row, "key": "k", "uid": "0" * 32, "caption": caption}
        | {"image_sha256": "", "image_format": "png", "width": 9, "height": 9, "image_bytes": 1}
        for row, (_, caption) in enumerate(pictures)
    ]
    spans = spans_table(found)
    return spans, match(pa.Table.from_pylist(samples, SAMPLES), spans)


@pytest.fixture
def compared():
    def build(pictures, texts):
        return compare(truth_table(pictures), *read_tables(pictures, texts))

    return build


def test_a_word_is_found_in_any_case_and_next_to_other_words(compared):
    (row,) = compared([("star", "a red star")], [["STAR wars", "Star"]]).to_pylist()

    assert (row["word"], row["word_height"], row["found"]) == ("star", 12, True)
    assert (row["spans"], row["spotted"], row["right"]) == (2, 2, 1)
    assert (row["truth_rate"], row["spotted_rate"]) == (1 / 3, 1 / 3)


def test_a_word_that_is_misread_is_not_found(compared):
    (row,) = compared([("star", "a star")], [["stor"]]).to_pylist()

    assert (row["found"], row["spotted"], row["right"]) == (False, 1, 0)
    assert (row["truth_rate"], row["spotted_rate"]) == (0.5, 0.0)


def test_without_written_text_every_spotted_word_is_wrong(compared):
    clean, alarm = compared([(None, "a star"), (None, None)], [[], ["x", "y z"]]).to_pylist()

    assert (clean["word"], clean["found"], clean["spans"], clean["spotted"]) == (None, None, 0, 0)
    assert (clean["truth_rate"], clean["spotted_rate"]) == (0.0, 0.0)
    assert (alarm["word_height"], alarm["spans"], alarm["spotted"], alarm["right"]) == (
        *(None, 2, 3, 0),
    )
    assert (alarm["truth_rate"], alarm["spotted_rate"]) == (None, None)


def test_every_word_of_a_text_must_be_spotted(compared):
    pictures = [("red star", None), ("red star", None), ("--", None)]

    table = compared(pictures, [["star", "red"], ["red"], ["--"]])

    assert table["found"].to_pylist() == [True, False, False]


def test_rows_follow_the_spans_for_any_order_of_the_other_tables(compared):
    pictures = [("star", "star"), ("moon", "a moon"), (None, "x")]
    truth, (spans, matches) = truth_table(pictures), read_tables(pictures, [["star"], None, []])

    table = compare(truth.take([2, 0, 1]), spans, matches.take([1, 0]))

    assert table.equals(compare(truth, spans, matches))
    assert table["row"].to_pylist() == [0, 2]
    assert table["found"].to_pylist() == [True, None]


def test_no_images_give_no_rows():
    table = compare(truth_table([]), *read_tables([], []))

    assert table.equals(SPOTTED_TRUTH.empty_table())


def test_an_image_missing_in_the_truth_is_refused():
    pictures = [("star", "a star"), ("moon", "a moon")]
    spans, matches = read_tables(pictures, [["star"], ["moon"]])

    with pytest.raises(
        StepError, match="truth: row 1 of shard 3 was spotted but is not among its 1 rows"
    ):
        compare(truth_table(pictures[:1]), spans, matches)
    with pytest.raises(
        StepError, match="matches: row 0 of shard 3 was spotted but is not among its 1 rows"
    ):
        compare(truth_table(pictures), spans, matches.slice(1))


WORDS = st.sampled_from(["star", "moon", "a", "null"])


@given(word=WORDS, caption=st.lists(WORDS), read=st.lists(WORDS))
def test_perfect_spotting_gives_the_true_rate(word, caption, read):
    pictures = [(word, " ".join(caption))]

    for texts in ([word], [word, *read]):
        (row,) = compare(truth_table(pictures), *read_tables(pictures, [texts])).to_pylist()
        assert row["found"]
        assert row["right"] == 1
        if set(texts) == {word}:
            assert row["truth_rate"] == row["spotted_rate"]
