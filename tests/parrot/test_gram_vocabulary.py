from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clipaudit.errors import ConfigError, StoreError
from clipaudit.parrot import vocabulary
from clipaudit.parrot.matching import match
from clipaudit.parrot.spans import Span, spans_table
from clipaudit.parrot.vocabulary import GRAMS, count_grams, merge_grams

BOX = (0.0, 0.0, 9.0, 0.0, 9.0, 9.0)
ODD_WORDS = "null nan None NA NULL inf 1e5 1.0 007 ' \\N".split()


def part(*pictures):
    """The samples, matches and spans of images given by caption and texts."""
    columns = {
        "shard": pa.array([0] * len(pictures), pa.int32()),
        "row": pa.array(range(len(pictures)), pa.int32()),
        "caption": pa.array([caption for caption, _ in pictures], pa.string()),
    }
    samples = pa.table(columns)
    spans = spans_table(
        (0, row, [Span(text, 0.5, BOX) for text in texts])
        for row, (_, texts) in enumerate(pictures)
    )
    return samples, match(samples, spans), spans


def grams(counts):
    """GRAMS of {gram: frequency}."""
    rows = [{"gram": gram, "frequency": count} for gram, count in counts.items()]
    return pa.Table.from_pylist(rows, GRAMS)


def pairs(table):
    return [(row["gram"], row["frequency"]) for row in table.to_pylist()]


def test_every_occurrence_in_a_caption_counts():
    tables = part(("A cat, a cat", []), ("cat a", []), (None, []))

    one = count_grams(*tables, source="captions", n=1, tokenization="words")
    two = count_grams(*tables, source="captions", n=2, tokenization="words")

    assert one.schema == GRAMS
    assert pairs(one) == [("a", 3), ("cat", 3)]
    assert pairs(two) == [("a cat", 2), ("cat a", 2)]


def test_plain_grams_keep_case_and_punctuation():
    tables = part(("A cat, a cat", []))

    counted = count_grams(*tables, source="captions", n=2, tokenization="plain")

    assert pairs(counted) == [("A cat,", 1), ("a cat", 1), ("cat, a", 1)]


def test_co_embedded_grams_stay_within_a_span_and_a_run_of_co_embedded_words():
    tables = part(("keep calm and love", ["KEEP calm", "and so love keep calm"]))

    two = count_grams(*tables, source="co-embedded", n=2, tokenization="words")
    three = count_grams(*tables, source="co-embedded", n=3, tokenization="words")

    assert pairs(two) == [("keep calm", 2), ("love keep", 1)]
    assert pairs(three) == [("love keep calm", 1)]


def test_words_are_co_embedded_only_through_their_own_image():
    tables = part(("keep", ["calm keep"]), ("calm", ["keep keep"]), (None, ["keep"]))

    counted = count_grams(*tables, source="co-embedded", n=1, tokenization="words")

    assert pairs(counted) == [("keep", 1)]


texts = st.lists(st.sampled_from(["a", "b", "B", "null", "d-e", ","]), max_size=8).map(" ".join)
pictures = st.lists(st.tuples(texts, st.lists(texts, max_size=3)), max_size=5)


@given(pictures, st.integers(1, 3))
def test_co_embedded_grams_equal_those_of_the_plain_definition(drawn, n):
    counted = count_grams(*part(*drawn), source="co-embedded", n=n, tokenization="plain")

    plain = Counter()
    for caption, spans in drawn:
        for words in map(str.split, spans):
            windows = [words[start : start + n] for start in range(len(words) - n + 1)]
            plain.update(" ".join(each) for each in windows if set(each) <= set(caption.split()))
    assert dict(pairs(counted)) == plain


def test_the_order_of_rows_does_not_matter():
    samples, matches, spans = part(("a b", ["a b"]), ("c a", ["c a", "a"]), ("d", []))
    order = pa.array([2, 0, 1])
    tables = samples, matches, spans
    shuffled = samples.take(order), matches.take(pa.array([1, 2, 0])), spans.take(order)

    for source in ("captions", "co-embedded"):
        options = {"source": source, "n": 1, "tokenization": "words"}
        assert count_grams(*shuffled, **options).equals(count_grams(*tables, **options))


def test_matches_of_other_images_are_refused():
    samples, matches, spans = part(("a", ["a"]), ("b", ["b"]))

    with pytest.raises(StoreError, match=r"matches of 1 images and spans of 2"):
        count_grams(
            samples, matches.slice(1), spans, source="co-embedded", n=1, tokenization="words"
        )


def test_grams_of_zero_words_are_refused():
    with pytest.raises(ConfigError, match="grams of 0 words"):
        count_grams(*part(), source="captions", n=0, tokenization="words")


def test_no_text_gives_no_grams():
    counted = count_grams(*part(), source="captions", n=1, tokenization="words")

    assert counted.equals(GRAMS.empty_table())


@pytest.mark.parametrize("source", ["captions", "co-embedded"])
def test_unusual_words_are_unchanged(source):
    text = " ".join(ODD_WORDS)
    counted = count_grams(*part((text, [text])), source=source, n=1, tokenization="plain")

    merged = merge_grams([counted, counted], most=100)

    assert pairs(counted) == [(word, 1) for word in sorted(ODD_WORDS)]
    assert pairs(merged) == [(word, 2) for word in sorted(ODD_WORDS)]


names = st.one_of(
    st.sampled_from(["a", "b", "null", "\0", "\uffff", "\U00010000"]),
    st.text(st.characters(exclude_categories=["Cs"])),
)
counts = st.dictionaries(names, st.integers(1, 3), max_size=6)


@settings(max_examples=30)  # each opens a database
@given(st.lists(counts, max_size=4), st.integers(1, 5), st.randoms(use_true_random=False))
def test_merging_keeps_the_most_frequent_of_all_parts_in_any_order(parts, most, dice):
    shuffled = dice.sample(parts, len(parts))

    merged = merge_grams(map(grams, shuffled), most=most)

    total = sum(map(Counter, parts), Counter())
    assert merged.schema == GRAMS
    assert pairs(merged) == sorted(total.items(), key=lambda item: (-item[1], item[0]))[:most]


def test_a_gram_that_is_rare_in_each_part_can_be_frequent_overall():
    parts = [grams({"rare": 2, f"own{number}": 3}) for number in range(3)]

    assert pairs(merge_grams(parts, most=1)) == [("rare", 6)]


def test_tables_may_have_chunks_metadata_and_further_columns():
    table = grams({"a": 2, "b": 1})
    chunks = pa.concat_tables([table.slice(1), table.slice(0, 1)])
    labelled = chunks.replace_schema_metadata({"part": "1"}).append_column("n", pa.array([1, 1]))

    assert merge_grams([labelled], most=9).equals(table)


def test_more_grams_than_fit_in_memory_give_the_same_merge(monkeypatch):
    parts = [grams({f"gram {row} of some length": 1 for row in range(50_000)})] * 2
    parts += [grams({f"another {row} of some length": 1 for row in range(250_000)})]
    whole = merge_grams(parts, most=1000)

    monkeypatch.setattr(vocabulary, "MEMORY", "24MiB")

    assert merge_grams(parts, most=1000).equals(whole)


def test_frequencies_beyond_32_bits_add_up():
    assert pairs(merge_grams([grams({"the": 2**40})] * 2, most=1)) == [("the", 2**41)]


def test_a_part_without_grams_is_reported():
    with pytest.raises(StoreError, match=r"grams could not be merged(.|\n)*clipaudit verify"):
        merge_grams([grams({"a": 1}), pa.table({"word": ["a"]})], most=1)


def test_merging_no_parts_gives_no_grams():
    assert merge_grams([], most=1).equals(GRAMS.empty_table())


def test_keeping_zero_grams_is_refused():
    with pytest.raises(ConfigError, match="the 0 most frequent grams"):
        merge_grams([], most=0)
