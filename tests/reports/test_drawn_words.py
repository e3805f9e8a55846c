import itertools

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from clipaudit.reports.drawing import figure_bytes, text_sizes
from clipaudit.reports.forms.words import draw_words

SCHEMA = pa.schema(
    [(name, pa.int64()) for name in ("part_position", "words", "most", "least", "frequency")]
    + [("part_title", pa.string()), ("gram", pa.string())]
)
OPTIONS = {"empty": "no words"}


def part(position, title, frequencies, *, words=None):
    same = {"part_position": position, "part_title": title, "words": words or len(frequencies)}
    if not frequencies:
        return [same | {"most": None, "least": None, "gram": None, "frequency": None}]
    same |= {"most": max(frequencies.values()), "least": min(frequencies.values())}
    return [same | {"gram": gram, "frequency": often} for gram, often in frequencies.items()]


def draw(*parts):
    rows = [row for each in parts for row in each]
    return draw_words(pa.Table.from_pylist(rows, SCHEMA), OPTIONS)


def texts(figure):
    return [text.get_text() for text in figure.texts]


def boxes(figure):
    """The boxes of all texts but the titles."""
    figure.draw_without_rendering()
    return [text.get_window_extent() for text in figure.texts if ":" not in text.get_text()]


def test_words_follow_the_title_of_their_part_in_the_order_of_the_table():
    figure = draw(part(0, "head", {"the": 90, "and": 30}), part(1, "tail", {"b": 1, "a": 1}))

    assert texts(figure) == [
        *("head: 2 words of frequency 30 to 90", "the", "and"),
        *("tail: 2 words of frequency 1", "b", "a"),
    ]


def test_the_size_grows_with_the_logarithm_of_the_frequency():
    figure = draw(part(0, "head", {"a": 100, "b": 10, "c": 1}))

    sizes = {text: points for points, text in text_sizes(figure)}
    assert sizes["a"] > sizes["b"] > sizes["c"]
    assert sizes["a"] - sizes["b"] == sizes["b"] - sizes["c"]


def test_equally_frequent_words_have_the_same_size():
    figure = draw(part(0, "tail", {"a": 1, "b": 1}))

    (size,) = {points for points, text in text_sizes(figure) if text in "ab"}
    assert size == 12


def test_a_part_without_words_says_so():
    assert texts(draw(part(0, "middle", {}))) == ["middle", "no words"]


def test_a_part_states_how_many_of_its_words_are_shown():
    figure = draw(part(0, "tail", {"a": 2, "b": 1}, words=400_000))

    (title, *_) = texts(figure)
    assert title.endswith("; the first 2")


def test_words_that_make_the_figure_too_high_are_omitted():
    long = {f"{n:03}" + "m" * 300: 1 for n in range(60)}

    title, *words = texts(draw(part(0, "tail", long)))

    assert title.endswith("; the first 12")
    assert all(word.endswith("…") for word in words)


def test_letters_missing_in_the_font_and_dollars_are_drawn_without_warnings():
    figure = draw(part(0, "head", {"書籍": 3, "$a$": 2, "$\\x$": 1}))

    assert texts(figure)[1:] == ["\N{REPLACEMENT CHARACTER}" * 2, "$a$", "$\\x$"]
    figure_bytes(figure)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(st.text("abmWig'é書", min_size=1, max_size=40), st.integers(1, 10**9)),
        min_size=1,
        max_size=60,
        unique_by=lambda word: word[0],
    )
)
def test_no_word_overlaps_another_or_leaves_the_page(words):
    figure = draw(part(0, "head", dict(words)), part(1, "tail", dict(words[:3])))

    found = boxes(figure)
    width = figure.get_figwidth() * figure.dpi
    assert all(box.x0 >= 0 and box.x1 <= width + 1 and box.y0 >= 0 for box in found)
    for one, other in itertools.combinations(found, 2):
        apart = one.x1 <= other.x0 or other.x1 <= one.x0
        assert apart or one.y0 >= other.y1 - 1 or other.y0 >= one.y1 - 1


def test_drawing_twice_gives_the_same_bytes():
    parts = [part(0, "head", {"the": 90, "and": 30}), part(1, "tail", {})]

    assert figure_bytes(draw(*parts)) == figure_bytes(draw(*parts))
