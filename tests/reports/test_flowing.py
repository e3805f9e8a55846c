import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.reports.flowing import UNKNOWN, Word, printable, set_in_lines, width_of, words_of


def lines_of(text, width, lines=100):
    found = set_in_lines(words_of(text), width, lines=lines, more=lambda left: Word(f"+{left}"))
    return [[word.text for _, word in line] for line in found]


@given(st.lists(st.sampled_from(["a", "cat", "photograph", "of", "$5"]), max_size=30))
def test_no_line_exceeds_its_width_and_no_word_is_lost(words):
    found = set_in_lines(words_of(" ".join(words)), 1.0, lines=100, more=lambda left: Word("+"))

    assert [word.text for line in found for _, word in line] == words
    for line in found:
        assert width_of([word for _, word in line]) <= 1.0 + 1e-9


def test_text_that_does_not_fit_is_counted():
    assert lines_of("one two three four five six", 0.7, lines=1)[0][-1].startswith("+")


def test_a_word_wider_than_the_line_is_truncated():
    ((word,),) = lines_of("x" * 200, 1.0)

    assert word.endswith("…")
    assert width_of([Word(word)]) <= 1.0


def test_no_text_gives_no_lines():
    assert lines_of("", 1.0) == []


@pytest.mark.parametrize("text", ["$5 or $6", "a_b^c", r"\alpha", "100 %"])
def test_text_that_resembles_mathematics_is_unchanged(text):
    assert printable(text) == text


def test_characters_missing_in_the_font_are_marked():
    assert printable("日本 x") == f"{UNKNOWN}{UNKNOWN} x"


def test_bold_words_are_wider():
    assert width_of([Word("caption", bold=True)]) > width_of([Word("caption")])
