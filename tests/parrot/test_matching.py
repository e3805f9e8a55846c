import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from table14 import TABLE_14

from clipaudit.errors import ConfigError, StoreError
from clipaudit.parrot.matching import MATCHES, co_embedded, match, span_texts
from clipaudit.parrot.rates import cotr
from clipaudit.parrot.spans import SPANS, Span, Word, spans_table
from clipaudit.parrot.tokens import TOKENIZATIONS, tokens

BOX, LEFT, RIGHT = (0.0, 0.0, 9.0, 0.0, 9.0, 9.0), (0.0, 0.0, 4.0, 0.0, 4.0, 9.0), (
    5.0, 0.0, 9.0, 0.0, 9.0, 9.0,
)  # fmt: skip


def captioned(captions):
    """The columns of SAMPLES that matching reads, row after row of shard 3."""
    columns = {
        "shard": pa.array([3] * len(captions), pa.int32()),
        "row": pa.array(range(len(captions)), pa.int32()),
        "caption": pa.array(captions, pa.string()),
    }
    return pa.table(columns)


def spotted(pictures):
    """SPANS of images, each given by its texts, row after row of shard 3."""
    return spans_table(
        (3, row, [Span(text, 0.5, BOX) for text in texts]) for row, texts in enumerate(pictures)
    )


def matched(caption, *texts, **settings):
    """The row of MATCHES of one image."""
    return match(captioned([caption]), spotted([texts]), **settings).to_pylist()[0]


spaces = st.sampled_from(" \t\n\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2003\u2028\u2029\u202f\u3000")
# few letters, so that words match; no half of a surrogate pair, since UTF-8 cannot encode it
characters = st.one_of(
    spaces, st.sampled_from("abAB'\u2019-éß\u0301\u200b"), st.characters(exclude_categories=["Cs"])
)
captions = st.text(characters, max_size=30)
pictures = st.tuples(captions, st.lists(st.text(characters, max_size=15), max_size=4))


@pytest.mark.parametrize("tokenization", TOKENIZATIONS)
@given(drawn=st.lists(pictures, max_size=4))
def test_rates_of_texts_alone_equal_those_of_a_run(tokenization, drawn):
    captions, texts = [pair[0] for pair in drawn], [pair[1] for pair in drawn]

    found = cotr(captions, texts, tokenization=tokenization)

    rates = match(captioned(captions), spotted(texts))[f"{tokenization}_rate"]
    assert [None if np.isnan(rate) else rate for rate in found] == rates.to_pylist()


@given(st.lists(pictures, max_size=4))
def test_the_plain_rate_equals_that_of_algorithm_1(drawn):
    table = match(captioned([pair[0] for pair in drawn]), spotted([pair[1] for pair in drawn]))

    assert table.schema == MATCHES
    for row, (caption, texts) in zip(table.to_pylist(), drawn, strict=True):
        ocr_text = " ".join(texts)
        cap_words = set(caption.split())
        ocr_words = set(ocr_text.split())
        co_emb_text = cap_words.intersection(ocr_words)
        rate = len(co_emb_text) / len(cap_words) if cap_words else None
        assert row["plain_rate"] == rate
        assert row["plain_co"] == sorted(co_emb_text)


def edit_distance(left, right):
    """Levenshtein's distance by its recurrence."""
    above = range(len(right) + 1)
    for i, a in enumerate(left, 1):
        row = [i]
        for j, b in enumerate(right, 1):
            row.append(min(row[j - 1] + 1, above[j] + 1, above[j - 1] + (a != b)))
        above = row
    return above[-1]


words = st.text(st.sampled_from("abc"), min_size=1, max_size=12)


@given(st.lists(words, min_size=1), st.lists(words), st.integers(1, 10))
def test_fuzzy_words_equal_those_of_the_plain_definition(caption, texts, tenths):
    row = matched(" ".join(caption), *texts, fuzzy_threshold=tenths / 10)

    near = [
        word
        for word in set(caption)
        if any(
            10 * (max(len(word), len(other)) - edit_distance(word, other))
            >= tenths * max(len(word), len(other))
            for other in texts
        )
    ]
    for prefix in TOKENIZATIONS:
        assert row[f"{prefix}_fuzzy"] == len(near)
        assert row[f"{prefix}_fuzzy_rate"] == len(near) / len(set(caption))


@given(pictures)
def test_the_fuzzy_rate_is_never_below_the_exact_one(picture):
    row = matched(picture[0], *picture[1])

    for prefix in TOKENIZATIONS:
        assert row[f"{prefix}_caption"] >= row[f"{prefix}_fuzzy"] >= len(row[f"{prefix}_co"])
        assert (row[f"{prefix}_rate"] is None) == (row[f"{prefix}_fuzzy_rate"] is None)


@pytest.mark.parametrize(("spotted_word", "fuzzy"), [("hauses", 1), ("haus", 1), ("haut", 0)])
def test_one_differing_letter_of_five_is_within_0_8(spotted_word, fuzzy):
    assert matched("hause", spotted_word, fuzzy_threshold=0.8)["words_fuzzy"] == fuzzy


def test_a_threshold_of_1_gives_only_exact_matches():
    row = matched("house mouse", "house", "mous", fuzzy_threshold=1)

    assert (row["words_co"], row["words_fuzzy"]) == (["house"], 1)


@pytest.mark.parametrize(("caption", "text"), TABLE_14)
def test_the_papers_examples_have_a_rate(caption, text):
    row = matched(caption, text)

    assert row["words_rate"] > 0
    assert row["words_co"] == sorted(set(tokens(text, "words")))  # all of the listed text


def test_splitting_at_white_space_gives_the_papers_second_example_no_rate():
    row = matched(*TABLE_14[1])

    assert (row["plain_rate"], row["words_rate"]) == (0, 1)


def test_the_paper_prints_21_examples():
    assert len(TABLE_14) == 21


@given(pictures, st.randoms(use_true_random=False))
def test_the_order_of_spans_does_not_matter(picture, dice):
    caption, texts = picture
    shuffled = dice.sample(texts, len(texts))

    assert matched(caption, *shuffled) == matched(caption, *texts)


def test_the_order_and_chunks_of_the_tables_do_not_matter():
    samples = captioned([f"word{row} nan" for row in range(6)])
    spans = spotted([[f"word{row}"] * (row % 3) for row in range(6)])
    order = pa.array([4, 1, 5, 0, 3, 2])
    shuffled = pa.concat_tables([spans.take(order).slice(0, 2), spans.take(order).slice(2)])

    assert match(samples.take(order), shuffled).equals(match(samples, spans))


@pytest.mark.parametrize("caption", [None, "", " \t\u2003"])
def test_a_caption_without_words_has_no_rate(caption):
    row = matched(caption, "text")

    for prefix in TOKENIZATIONS:
        columns = ("caption", "co", "rate", "fuzzy", "fuzzy_rate")
        assert [row[f"{prefix}_{name}"] for name in columns] == [0, [], None, 0, None]


def test_a_caption_of_punctuation_has_only_a_plain_rate():
    row = matched("- !", "!")

    assert (row["plain_rate"], row["words_rate"]) == (0.5, None)


def test_an_image_without_text_has_a_rate_of_0():
    row = matched("a cat")

    assert (row["spans"], row["words_rate"], row["words_fuzzy_rate"]) == (0, 0, 0)


def test_words_count_once_and_names_of_missing_values_are_words():
    row = matched("null nan None NA null", "null", "null NA", "inf")

    assert (row["spans"], row["plain_caption"]) == (3, 4)
    assert row["plain_co"] == ["NA", "null"]
    assert row["words_co"] == ["na", "null"]


def test_no_images_give_no_rows():
    assert match(captioned(["a"]), SPANS.empty_table()).equals(MATCHES.empty_table())


def test_samples_not_read_for_text_are_omitted():
    table = match(captioned(["a", "b", "c"]), spotted([["a"], ["b"]]))

    assert table["row"].to_pylist() == [0, 1]


def test_an_image_without_a_sample_is_named():
    with pytest.raises(StoreError, match=r"\(3, 1\) is not among the 1 samples"):
        match(captioned(["a"]), spotted([[], []]))


def test_a_sample_that_occurs_twice_is_named():
    samples = captioned(["a", "b"]).take(pa.array([0, 1, 1]))

    with pytest.raises(StoreError, match=r"samples: \(shard, row\) \(3, 1\) occurs twice"):
        match(samples, spotted([[]]))


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.01, float("nan"), float("inf")])
def test_a_threshold_out_of_range_is_refused(threshold):
    with pytest.raises(ConfigError, match=r"give a number above 0 and at most 1"):
        matched("a", "a", fuzzy_threshold=threshold)


def test_span_texts_reads_slices_and_chunks():
    pictures = [["a"], [], ["b", "c"], ["d"]]
    spans = spotted(pictures)
    chunks = pa.concat_tables([spans.slice(1, 2), spans.slice(3)])

    assert list(span_texts(chunks)) == pictures[1:]
    assert list(span_texts(SPANS.empty_table())) == []


def two_words(text, left, right):
    return Span(text, 0.9, BOX, (Word(left, LEFT), Word(right, RIGHT)))


@pytest.mark.parametrize(
    ("span", "polygons"),
    [
        (two_words("BE mine", "BE", "mine"), [LEFT]),
        (two_words("be be", "be", "be"), [BOX]),  # all words, so the whole span
        (
            Span("be no be", 0.9, BOX, (Word("be", LEFT), Word("no", BOX), Word("be", RIGHT))),
            [LEFT, RIGHT],
        ),
        (Span("be mine", 0.9, BOX), [BOX]),  # the words are not given
        (Span("be mine", 0.9, BOX, ()), [BOX]),
        (two_words("be mine", "b", "e mine"), [BOX]),  # the word is split in two
        (two_words("be and b-e be", "be", "and"), [BOX]),  # the second "be" is not given
        (two_words("yours mine", "yours", "mine"), []),
        (two_words("yours mine", "be", "mine"), []),  # the span's text decides
        (Span("yours", 0.9, BOX), []),
    ],
)
def test_co_embedded_text_is_covered_by_its_words_or_by_its_span(span, polygons):
    assert co_embedded([span], {"be"}, "words") == polygons


def test_polygons_have_the_order_of_the_spans():
    spans = [Span("be", 0.9, RIGHT), Span("no", 0.9, BOX), Span("be", 0.9, LEFT)]

    assert co_embedded(spans, {"be"}, "plain") == [RIGHT, LEFT]
    assert co_embedded(spans, {"Be"}, "plain") == []


@given(pictures)
def test_a_rate_above_0_implies_an_erased_polygon(picture):
    caption, texts = picture
    row = matched(caption, *texts)
    spans = [Span(text, 0.5, BOX) for text in texts]

    for prefix in TOKENIZATIONS:
        polygons = co_embedded(spans, set(row[f"{prefix}_co"]), prefix)
        assert bool(polygons) == bool(row[f"{prefix}_co"])
