import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import beta, ttest_1samp

from clipaudit.corpora.drops import DROPS
from clipaudit.parrot.matching import MATCHES
from clipaudit.parrot.reports.profile import HEIGHTS, score_rows, statistic_rows
from clipaudit.parrot.spotted_truth import SPOTTED_TRUTH
from clipaudit.parrot.tokens import TOKENIZATIONS
from clipaudit.reports.intervals import exact_interval
from clipaudit.reports.rendering import to_csv
from clipaudit.reports.tables import published_values, report_table

TEXT, INT, FLOAT = pa.string(), pa.int32(), pa.float32()
SCORES = pa.schema(
    [("encoder", TEXT), ("corpus", TEXT), ("shard", INT), ("row", INT)]
    + [(name, FLOAT) for name in ("raw", "all", "co", "random_all", "random_co")]
)
SAMPLES = pa.schema([(name, TEXT) for name in ("corpus", "key", "caption")])
SAMPLES = SAMPLES.append(pa.field("shard", INT)).append(pa.field("row", INT))


def matches(rows):
    """Return a view of (corpus, row, spans, caption words, co-embedded ones, fuzzy ones).

    Tokenized as `plain`, no word is co-embedded.
    """
    found = []
    for corpus, row, spans, caption, co, fuzzy in rows:
        numbers = {"words": (co, fuzzy), "plain": ([], 0)}
        found.append({"corpus": corpus, "shard": 0, "row": row, "spans": spans})
        for prefix, (words, nearly) in numbers.items():
            found[-1] |= {
                f"{prefix}_caption": caption,
                f"{prefix}_co": words,
                f"{prefix}_rate": len(words) / caption if caption else None,
                f"{prefix}_fuzzy": nearly,
                f"{prefix}_fuzzy_rate": nearly / caption if caption else None,
            }
    return pa.Table.from_pylist(found, MATCHES.append(pa.field("corpus", TEXT)))


def corpora(*titles):
    rows = [
        {"position": position, "corpus": title.lower(), "title": title}
        for position, title in enumerate(titles)
    ]
    return pa.Table.from_pylist(rows)


def known(rows, name, kind):
    """Return a view of (row, value), known facts about images of shard 0 of the corpus web."""
    columns = [("corpus", TEXT), ("shard", INT), ("row", INT), (name, kind)]
    found = [{"corpus": "web", "shard": 0, "row": row, name: value} for row, value in rows]
    return pa.Table.from_pylist(found, pa.schema(columns))


WEB = [  # without text; half a rate; a fuzzy word; a caption without words; all but one of four
    ("web", 0, 0, 2, [], 0),
    ("web", 1, 1, 2, ["star"], 1),
    ("web", 2, 3, 2, [], 1),
    ("web", 3, 1, 0, [], 0),
    ("web", 4, 2, 4, ["a", "b", "c"], 4),
]


@pytest.fixture
def table1():
    def build(rows, *, dropped=(), titles=("Web",), paper=None, truths=(), checked=()):
        drops = [
            {"corpus": corpus, "shard": 9, "row": row, "key": "k", "stage": "spot", "reason": "r"}
            | {"detail": ""}
            for row, corpus in enumerate(dropped)
        ]
        views = {
            "corpora": corpora(*titles),
            "measures": pa.Table.from_pylist(statistic_rows()),
            "matches": matches(rows),
            "drops": pa.Table.from_pylist(drops, DROPS.append(pa.field("corpus", TEXT))),
            "published": published_values(paper or "none"),
            "truths": known(truths, "word", TEXT),
            "checked": known(checked, "has_text", pa.bool_()),
        }
        return report_table("parrot_table1", views, {})

    return build


def by_measure(table, *columns, **where):
    return {
        (row["measure"], row["unit"], row["tokenization"]): tuple(row[name] for name in columns)
        for row in table.to_pylist()
        if all(row[name] == value for name, value in where.items())
    }


def test_five_images_match_a_hand_calculation(table1):
    cells = by_measure(table1(WEB, dropped=["web", "web"]), "value", "pictures")

    assert cells["images", "count", None] == (5, 5)
    assert cells["unreadable", "count", None] == (2, 7)
    assert cells["with_text", "count", None] == (4, 5)
    assert cells["with_text", "share", None] == (0.8, 5)
    # rates 0, 1/2, 0, none, 3/4; fuzzy 0, 1/2, 1/2, none, 1
    assert cells["without_words", "count", "words"] == (1, 5)
    assert cells["rate", "share", "words"] == (1.25 / 4, 4)
    assert cells["rate_with_text", "share", "words"] == (pytest.approx(1.25 / 3, abs=1e-15), 3)
    assert cells["fuzzy_rate", "share", "words"] == (2 / 4, 4)
    assert cells["fuzzy_rate_with_text", "share", "words"] == (pytest.approx(2 / 3, abs=1e-15), 3)
    assert cells["parroting", "share", "words"] == (2 / 3, 3)


@pytest.mark.parametrize(
    "given",
    [
        {"truths": [(0, "star"), (1, None), (2, None), (3, "a")]},
        {"checked": [(0, True), (1, False), (2, False), (3, True), (99, False)]},
    ],
)
def test_mistakes_are_counted_if_the_image_content_is_known(table1, given):
    table = table1([*WEB, ("web", 9, 0, 2, [], 0)], **given)

    cells = by_measure(table, "value", "pictures", "value_low", "value_high")
    # images 1 and 2 have spans but no text; images 0 and 3 have text, but 0 has no spans
    assert cells["false_alarms", "share", None][:2] == (1, 2)
    assert cells["false_alarms", "share", None][2:] == pytest.approx((0.1581, 1), abs=1e-4)
    assert cells["missed", "share", None][:2] == (0.5, 2)


def test_each_share_has_an_interval_over_its_images(table1):
    cells = by_measure(table1(WEB), "value_low", "value_high")

    exact = beta.ppf([0.025, 0.975], [4, 5], [2, 1])  # 4 of 5
    assert cells["with_text", "share", None] == pytest.approx(exact, abs=1e-9)
    # four images miss a kind that 1 - 0.025 ** (1 / 4) of all are in 2.5 % of draws
    of_mean = 0, 1.25 / 4 + 1 - 0.025 ** (1 / 4)
    assert cells["rate", "share", "words"] == pytest.approx(of_mean, abs=1e-9)
    assert cells["images", "count", None] == (None, None)


def test_intervals_of_mean_rates_are_as_wide_as_rates_vary(table1):
    repeated = np.random.default_rng(0).binomial(1, 0.5, 400)  # of four words of each caption
    rows = [("web", row, 1, 4, ["a"][:one], int(one)) for row, one in enumerate(repeated)]

    cells = by_measure(table1(rows), "value_low", "value_high")

    of_mean = ttest_1samp(repeated / 4, 0).confidence_interval()
    assert cells["rate", "share", "words"] == pytest.approx(tuple(of_mean), abs=1e-4)
    assert cells["fuzzy_rate_with_text", "share", "words"] == cells["rate", "share", "words"]


def test_the_mean_rate_of_one_image_has_an_interval(table1):
    cells = by_measure(table1(WEB[1:2]), "value_low", "value_high")

    exact = beta.ppf([0.025, 0.975], [0.5, 1.5], [1.5, 0.5])  # a rate of one half, of one
    assert cells["rate", "share", "words"] == pytest.approx(exact, abs=1e-9)


def test_mistakes_are_unknown_for_unchecked_images(table1):
    cells = by_measure(table1(WEB), "value", "pictures")

    assert cells["false_alarms", "share", None] == cells["missed", "share", None] == (None, 0)


def test_exact_tokenization_has_its_own_numbers(table1):
    cells = by_measure(table1(WEB), "value")

    assert cells["without_words", "count", "plain"] == (1,)
    assert cells["rate_with_text", "share", "plain"] == (0,)
    assert cells["parroting", "share", "plain"] == (0,)


def test_a_corpus_without_images_has_counts_but_no_shares(table1):
    cells = by_measure(table1(WEB, titles=("Web", "Empty")), "value", corpus="empty")

    assert cells["images", "count", None] == (0,)
    assert cells["with_text", "share", None] == (None,)
    assert cells["rate", "share", "words"] == (None,)


def test_means_do_not_depend_on_the_order_of_images(table1):
    thirds = [("web", row, 1, 3 + row, ["x"], 1) for row in range(40)]

    assert table1(thirds).equals(table1(thirds[::-1]))


def test_the_papers_numbers_are_next_to_the_corpus_of_that_title(table1):
    table = table1(WEB, titles=("LAION-2B", "Web"), paper="parrot_table1")

    laion = by_measure(table, "published_value", corpus="laion-2b")
    assert laion["images", "count", None] == (1_985_284_122,)
    assert laion["with_text", "share", None] == (0.546,)
    assert laion["fuzzy_rate_with_text", "share", "words"] == (0.5579,)
    assert laion["parroting", "share", "plain"] == (0.9,)
    assert set(by_measure(table, "published_value", corpus="web").values()) == {(None,)}


def test_every_number_of_the_paper_has_a_cell(table1):
    table = table1(WEB, titles=("LAION-2B", "MMC4", "CC12M"), paper="parrot_table1")

    placed = [row for row in table.to_pylist() if row["published_value"] is not None]
    of_words = [row for row in placed if row["tokenization"] != "plain"]
    assert len(of_words) == len(published_values("parrot_table1")) == 22


@pytest.fixture
def table9():
    def build(rows, *, encoder="b32", paper=None):
        names = SCORES.names
        models = {(corpus, model): None for model, corpus, *_ in rows}
        views = {
            "models": pa.Table.from_pylist(
                [
                    {"position": position, "corpus": corpus, "corpus_title": corpus.upper()}
                    | {"encoder": model, "title": f"{corpus}, {model}"}
                    for position, (corpus, model) in enumerate(models)
                ]
            ),
            "measures": pa.Table.from_pylist(score_rows()),
            "scores": pa.Table.from_pylist(
                [dict(zip(names, row, strict=True)) for row in rows], SCORES
            ),
            "published": published_values(paper or "none"),
        }
        return report_table("parrot_table9", views, {"encoder": encoder, "unused": 1})

    return build


SCORED = [  # exact in float32: without text; with text; with co-embedded text; without a donor
    ("b32", "cc12m", 0, 0, 0.5, None, None, None, None),
    ("b32", "cc12m", 0, 1, 0.5, 0.25, None, 0.375, None),
    ("b32", "cc12m", 0, 2, 0.75, 0.5, 0.25, 0.75, 0.5),
    ("b32", "cc12m", 0, 3, 0.25, 0.5, 0.75, None, None),
]


def test_four_scores_match_a_hand_calculation(table9):
    rows = table9(SCORED).to_pylist()

    assert {row["measure"]: (row["value"], row["pictures"]) for row in rows} == {
        "raw": (0.5, 4),
        "all": (1.75 / 4, 4),  # 0.5, 0.25, 0.5, 0.5
        "co": (2 / 4, 4),  # 0.5, 0.5, 0.25, 0.75
        "random_all": (pytest.approx(1.375 / 3, abs=1e-15), 3),  # the last keeps its score
        "random_co": (0.75 / 2, 2),
        "rsa": (pytest.approx(0.25 / 3, abs=1e-15), 3),  # 0.25, 0.25, -0.25
        "random_rsa": (0.125 / 2, 2),
        "rsa_negative": (1 / 3, 3),
        "rsc": (0.0, 2),  # 0.5, -0.5
        "random_rsc": (0.25, 1),
        "rsc_negative": (1 / 2, 2),
        "spared": (0.0, 2),  # co less all: -0.25, 0.25
        "spared_positive": (1 / 2, 2),
    }


def test_the_cost_of_erasing_has_students_interval_over_images(table9):
    rows = {row["measure"]: row for row in table9(SCORED).to_pylist()}

    expected = ttest_1samp([0.25, 0.25, -0.25], 0).confidence_interval(0.95)
    bounds = [(row["value_low"], row["value_high"]) for row in rows.values()]
    found = dict(zip(rows, bounds, strict=True))
    assert found["rsa"] == pytest.approx(tuple(expected))
    assert found["random_rsc"] == (None, None)  # one image
    assert found["rsa_negative"] == tuple(exact_interval(np.array([1]), np.array([3]))[0])
    assert {found[name] for name in ("all", "co", "random_all", "random_co")} == {(None, None)}


def test_a_corpus_without_text_has_no_relative_scores(table9):
    rows = table9(SCORED[:1]).to_pylist()

    values = {row["measure"]: row["value"] for row in rows}
    assert (values["raw"], values["all"]) == (0.5, 0.5)
    assert {values[name] for name in ("rsa", "rsc_negative", "random_all")} == {None}


def test_the_papers_scores_are_next_to_the_audits_own_encoder(table9):
    other = [("other", *row[1:]) for row in SCORED]

    table = table9([*SCORED, *other], paper="parrot_table9")

    shown = [
        (row["encoder"], row["measure"], row["published_value"])
        for row in table.to_pylist()
        if row["published_value"] is not None
    ]
    assert shown == [("b32", "raw", 0.3021), ("b32", "all", 0.2912), ("b32", "co", 0.2892)]


@pytest.fixture
def table14():
    def build(
        rows, captions, raws, *, limit=21, tokenization="words", titles=("Web",), plain_co=None
    ):
        scores = [
            ("b32", corpus, 0, row, raw, None, None if spans == 0 else 0.125, None, 0.1875)
            for (corpus, row, spans, *_), raw in zip(rows, raws, strict=True)
        ]
        samples = [
            {"corpus": corpus, "shard": 0, "row": row, "key": f"{row:06d}", "caption": caption}
            for (corpus, row, *_), caption in zip(rows, captions, strict=True)
        ]
        matched = matches(rows)
        if plain_co is not None:
            matched = matched.drop_columns(["plain_co", "plain_rate"])
            matched = matched.append_column("plain_co", pa.array([plain_co], pa.list_(TEXT)))
            matched = matched.append_column("plain_rate", pa.array([0.75]))
        views = {
            "corpora": corpora(*titles),
            "matches": matched,
            "scores": pa.Table.from_pylist(
                [dict(zip(SCORES.names, row, strict=True)) for row in scores], SCORES
            ),
            "samples": pa.Table.from_pylist(samples, SAMPLES),
        }
        return report_table("parrot_table14", views, {"tokenization": tokenization, "limit": limit})

    return build


CAPTIONS = ["no text", "a star", "some staar", "", "C-a, d: b"]


def test_parrot_captions_are_sorted_by_score(table14):
    rows = table14(WEB, CAPTIONS, [0.9, 0.25, 0.8, 0.7, 0.5]).to_pylist()

    assert [(row["position"], row["row"], row["caption"]) for row in rows] == [
        *((0, 4, "C-a, d: b"), (1, 1, "a star")),
    ]
    assert [(row["co_words"], row["rate"], row["caption_words"]) for row in rows] == [
        *(("c a b", 0.75, 4), ("star", 0.5, 2)),
    ]
    assert [(row["score"], row["rsc"], row["random_rsc"], row["key"]) for row in rows] == [
        *((0.5, 0.375, 0.3125, "000004"), (0.25, 0.125, 0.0625, "000001")),
    ]


def test_the_list_is_limited_and_ties_are_sorted_by_corpus_and_row(table14):
    rows = [(corpus, row, 1, 1, ["a"], 1) for corpus in ("web", "album") for row in (2, 1)]

    table = table14(rows, ["a"] * 4, [0.5] * 4, limit=3, titles=("Web", "Album"))

    found = [(row["corpus"], row["row"]) for row in table.to_pylist()]
    assert found == [("web", 1), ("web", 2), ("album", 1)]


def test_words_that_sql_cannot_find_in_the_caption_come_last(table14):
    rows = [("web", 0, 1, 3, ["a", "strasse", "z"], 3)]  # casefolding makes ss of the sharp s

    (row,) = table14(rows, ["z Straße a"], [0.5]).to_pylist()

    assert row["co_words"] == "z a strasse"


def test_the_audits_tokenization_determines_which_captions_parrot(table14):
    assert len(table14(WEB, CAPTIONS, [0.5] * 5, tokenization="plain")) == 0
    assert len(table14(WEB, CAPTIONS, [0.5] * 5, tokenization="words")) == 2


def test_exact_tokenization_splits_captions_at_spaces(table14):
    rows, co = [("web", 0, 1, 4, [], 0)], ["A|b,", "c-d", "z"]

    table = table14(rows, ["z\u2003A|b, x c-d"], [0.5], tokenization="plain", plain_co=co)

    (found,) = table.to_pylist()
    assert (found["co_words"], found["rate"]) == ("z A|b, c-d", 0.75)


@pytest.mark.parametrize("word", ["null", "nan", "None", "NA"])
def test_words_that_look_like_missing_values_are_kept(table14, word):
    table = table14([("web", 0, 1, 1, [word.lower()], 1)], [word], [0.5])

    assert table["caption"].to_pylist() == [word]
    assert f",{word},1,{word.lower()}," in to_csv(table)


@pytest.fixture
def truths():
    def build(rows):
        names = [*SPOTTED_TRUTH.names, "corpus"]
        found = [dict(zip(names, (0, *row, "glyphs"), strict=True)) for row in rows]
        classes = [
            {"position": position, "corpus": "glyphs", "title": "Glyphs", "height": height}
            | {"height_title": title}
            for position, (height, title) in enumerate(HEIGHTS.items())
        ]
        views = {
            "classes": pa.Table.from_pylist(classes),
            "truths": pa.Table.from_pylist(found, SPOTTED_TRUTH.append(pa.field("corpus", TEXT))),
        }
        return report_table("parrot_truth", views, {"small": 10})

    return build


READ = [  # row, word, height, found, spans, spotted, right, truth_rate, spotted_rate
    (0, "star", 9, False, 1, 1, 0, 0.5, 0.0),
    (1, "moon", 10, True, 2, 2, 1, 0.5, 0.5),
    (2, None, None, None, 3, 2, 0, 0.0, 0.25),
    (3, None, None, None, 0, 0, 0, None, None),
]


def test_four_read_images_match_a_hand_calculation(truths):
    small, large, both = truths(READ).to_pylist()

    assert [row["recall"] for row in (small, large, both)] == [0, 1, 0.5]
    assert (both["words"], both["with_spans"], both["pictures"]) == (2, 3, 4)
    assert both["recall_low"] == pytest.approx(0.012579, abs=1e-6)
    assert (both["spotted"], both["right_words"], both["precision"]) == (5, 1, 0.2)
    assert (both["truth_rate"], both["spotted_rate"]) == (
        pytest.approx(1 / 3, abs=1e-15),
        pytest.approx(0.25, abs=1e-15),
    )
    assert (both["captions"], both["equal_rates"]) == (3, pytest.approx(1 / 3))
    assert (both["false_pictures"], both["false_spans"]) == (1, 3)
    assert (small["false_pictures"], small["equal_rates"], large["precision"]) == (None, 0, 0.5)


def test_a_corpus_without_words_has_no_recall(truths):
    small, _, both = truths(READ[3:]).to_pylist()

    assert (small["pictures"], small["recall"], small["precision"]) == (0, None, None)
    assert (both["recall"], both["truth_rate"], both["false_spans"]) == (None, None, 0)


def test_both_tokenizations_are_in_the_table(table1):
    found = {row["tokenization"] for row in table1(WEB).to_pylist()}

    assert found == {None, *TOKENIZATIONS}
