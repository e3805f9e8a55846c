"""Which images with text are shown, and what is looked up for them."""

import random

import pyarrow as pa
import pytest

from clipaudit.errors import StoreError
from clipaudit.parrot.caption_scores import SCORES
from clipaudit.parrot.example_texts import EXAMPLE_TEXTS, describe_examples, example_addresses
from clipaudit.parrot.examples import SPOTTED_EXAMPLES, ScoredPart, pick_examples
from clipaudit.parrot.matching import MATCHES
from clipaudit.parrot.spans import Span, spans_table
from clipaudit.parrot.spotted_options import ExampleList

BOX = (0.0, 0.0, 9.0, 0.0, 9.0, 9.0)
INT = pa.int32()


def scores(*rows):
    """SCORES of shard 0 from (row, raw, all, co), each in quarters: exact."""
    found = [
        {"shard": 0, "row": row}
        | {name: None if value is None else value / 4 for name, value in values.items()}
        | dict.fromkeys(["random_all", "random_co", "donor_row", "co_donor_row"])
        for row, *three in rows
        for values in [dict(zip(("raw", "all", "co"), three, strict=True))]
    ]
    return pa.Table.from_pylist(found, SCORES)


def matches_of(scored):
    """MATCHES in which an image has text, and co-embedded words, as its scores say."""
    found = []
    for row in scored.to_pylist():
        co = [] if row["co"] is None else ["red"]
        same = {"caption": 2, "co": co, "rate": len(co) / 2, "fuzzy": 0, "fuzzy_rate": 0.0}
        columns = {f"{prefix}_{name}": same[name] for prefix in ("words", "plain") for name in same}
        spans = 0 if row["all"] is None else 1
        found.append({"shard": row["shard"], "row": row["row"], "spans": spans} | columns)
    return pa.Table.from_pylist(found, MATCHES)


def part(*rows, corpus="web", clusters=None):
    scored = scores(*rows)
    placed = None
    if clusters is not None:
        placed = pa.table(
            {"shard": scored["shard"], "row": scored["row"], "cluster": pa.array(clusters, INT)}
        )
    return ScoredPart(corpus, scored, matches_of(scored), placed)


def picked(parts, *asked, corpora=("web", "news")):
    return pick_examples(parts, asked, corpora=corpora, tokenization="words")


def listed(what, count, clusters=0):
    return ExampleList(what, count, "a list", "nothing", clusters)


def rows_of(table):
    return [(row["corpus"], row["row"]) for row in table.to_pylist()]


FIVE = [(0, 1, None, None), (1, 3, 2, None), (2, 3, 4, 1), (3, 2, 2, 2), (4, 0, 1, -1)]


@pytest.mark.parametrize(
    ("what", "rows"),
    [
        ("highest", [1, 2, 3, 0, 4]),
        ("parroting", [2, 3, 4]),
        ("repeating", [2, 4, 3]),
        ("distracted", [2, 4]),  # with all text erased, 2 and 4 score a quarter more
        ("dependent", [1]),
    ],
)
def test_each_list_has_its_order_and_contains_only_relevant_images(what, rows):
    table = picked([part(*FIVE)], listed(what, 9))

    assert [row for _, row in rows_of(table)] == rows
    assert table["what"].to_pylist() == [what] * len(rows)


def test_ties_are_sorted_by_corpus_and_then_by_address():
    web = part((4, 2, None, None), (3, 2, None, None))
    news = part((0, 2, None, None), corpus="news")

    table = picked([news, web], listed("highest", 9))

    assert rows_of(table) == [("web", 3), ("web", 4), ("news", 0)]


@pytest.mark.parametrize("what", ["highest", "repeating", "clustered"])
def test_parts_and_their_order_do_not_matter(what):
    rng = random.Random(what)
    rows = [(row, rng.randint(0, 4), 1, rng.choice([None, 1, 2])) for row in range(40)]
    clusters = [rng.randint(0, 3) for _ in rows]
    cut = [part(*rows[at : at + 7], clusters=clusters[at : at + 7]) for at in range(0, 40, 7)]
    asked = listed(what, 3, clusters=4)

    whole = picked([part(*rows, clusters=clusters)], asked)

    assert picked(reversed(cut), asked).to_pylist() == whole.to_pylist()


def test_clusters_with_most_text_come_first_and_small_ones_are_omitted():
    rows = [(row, row, None if row in (0, 1, 2, 6) else 1, None) for row in range(8)]
    clusters = [0, 0, 1, 1, 2, 2, None, 3]  # text: 0 of 2, 1 of 2, 2 of 2, a row nowhere, 1 of 1

    table = picked([part(*rows, clusters=clusters)], listed("clustered", 2, clusters=9))

    assert table["cluster"].to_pylist() == [2, 2, 1, 1]
    assert table["row"].to_pylist() == [5, 4, 3, 2]
    assert table["cluster_pictures"].to_pylist() == [2, 2, 2, 2]
    assert table["cluster_with_text"].to_pylist() == [2, 2, 1, 1]


def test_positions_continue_across_consecutive_lists():
    table = picked([part(*FIVE)], listed("distracted", 1), listed("dependent", 1))

    assert list(zip(table["what"].to_pylist(), table["position"].to_pylist(), strict=True)) == [
        ("distracted", 0),
        ("dependent", 1),
    ]


def test_without_parts_lists_are_empty():
    table = picked([], listed("highest", 3), listed("clustered", 3, clusters=2))

    examples, texts = describe_examples(table, {}, {}, tokenization="words")

    assert (len(examples), examples.schema) == (0, SPOTTED_EXAMPLES)
    assert (len(texts), texts.schema) == (0, EXAMPLE_TEXTS)


def test_a_score_without_a_match_is_refused():
    scored = scores((0, 1, None, None), (1, 1, None, None))
    lacking = ScoredPart("web", scored, matches_of(scored.slice(0, 1)))

    with pytest.raises(StoreError, match=r"web: \(shard, row\) \(0, 1\) has a score"):
        picked([lacking], listed("highest", 1))


@pytest.fixture
def material():
    """Four captioned images, cut into two pieces."""
    samples = pa.table(
        {
            "shard": pa.array([0] * 4, INT),
            "row": pa.array(range(4), INT),
            "caption": ["a cat", "a dog", "Red cat red", None],
            "width": pa.array([10, 20, 30, 40], INT),
            "height": pa.array([1, 2, 3, 4], INT),
        }
    )
    spans = spans_table((0, row, [Span("red", 1.0, BOX)] * row) for row in range(4))
    return {"web": [samples[:2], samples[2:]]}, {"web": [spans]}


def test_captions_words_and_spans_of_examples_and_donors_are_looked_up(material):
    scored = scores((2, 3, 2, 1)).set_column(7, SCORES.field("donor_row"), pa.array([3], INT))
    part_ = ScoredPart("web", scored, matches_of(scored))

    table, texts = describe_examples(
        picked([part_], listed("repeating", 1)), *material, tokenization="words"
    )

    assert table.schema == SPOTTED_EXAMPLES
    assert table.select(["caption", "co_words"]).to_pylist() == [
        {"caption": "Red cat red", "co_words": "red"}
    ]
    assert (texts["row"].to_pylist(), texts["width"].to_pylist()) == ([2, 3], [30, 40])
    assert [len(spans) for spans in texts["spans"].to_pylist()] == [2, 3]
    assert {
        name: each.tolist() for name, each in example_addresses(table, donors=False).items()
    } == {"web": [2]}


def test_an_example_without_a_sample_is_refused(material):
    table = picked([part((9, 1, None, None))], listed("highest", 1))

    with pytest.raises(StoreError, match=r"web: samples: \(shard, row\) \(0, 9\)"):
        describe_examples(table, *material, tokenization="words")
