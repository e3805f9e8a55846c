"""The SQL of the figures of the synthetic probe and of the tracks, over rows worked by hand."""

import random

import numpy as np
import pyarrow as pa
import pytest

from clipaudit.parrot.probing import PROBES
from clipaudit.parrot.vocabulary import GRAMS
from clipaudit.reports.over_seeds import mean_over_seeds
from clipaudit.reports.tables import report_table

TEXT, REAL = pa.string(), pa.float64()
LABELLED_PROBES = PROBES.append(pa.field("encoder", TEXT)).append(pa.field("vocabulary", TEXT))
LABELLED_GRAMS = GRAMS.append(pa.field("vocabulary", TEXT))
TASK_RESULTS = pa.schema(
    [("encoder", TEXT), ("position", pa.int32())]
    + [(name, TEXT) for name in ("task", "title", "track", "metric")]
    + [("value", REAL)]
)


def grams(frequencies, vocabulary="captions-1"):
    return [
        {"gram": gram, "frequency": frequency, "vocabulary": vocabulary}
        for gram, frequency in frequencies.items()
    ]


def probes(found, *, encoder="clip", vocabulary="captions-1", mismatched=0.0):
    """The rows of (gram, frequency, similarity of each style)."""
    layout = {
        "mismatched": mismatched,
        "rank": 0,
        "right": 1.0,
        "choices": 9,
        "lines": 1,
        "type_size": 32,
        "missing_glyphs": 0,
        "cut": 0,
    }
    labels = {"encoder": encoder, "vocabulary": vocabulary}
    return [
        {"gram": gram, "frequency": frequency, "style": str(n), "similarity": value}
        | layout
        | labels
        for gram, frequency, *values in found
        for n, value in enumerate(values)
    ]


def query(sql, parameters, **views):
    return report_table(sql, views, parameters).to_pylist()


def listed(*rows):
    return pa.Table.from_pylist(list(rows))


# --- the vocabularies ----------------------------------------------------------------------------


def tails(*rows):
    vocabularies = listed(
        {"position": 0, "vocabulary": "captions-1", "title": "captions"},
        {"position": 1, "vocabulary": "co-embedded-1", "title": "co-embedded text"},
    )
    found = pa.Table.from_pylist(list(rows), LABELLED_GRAMS)
    return [
        (row["vocabulary"], row["low"], row["high"], row["grams"], row["occurrences"])
        for row in query("parrot_fig5a", {}, vocabularies=vocabularies, grams=found)
    ]


def test_words_are_counted_in_powers_of_two_if_none_is_frequent():
    rows = tails(
        *grams({"a": 1, "b": 2, "c": 3, "d": 4}), *grams({"a": 4, "e": 1}, "co-embedded-1")
    )

    assert rows == [
        *(("captions-1", 1, 1, 1, 1), ("captions-1", 2, 3, 2, 5), ("captions-1", 4, 7, 1, 4)),
        ("co-embedded-1", 1, 1, 1, 1),
        ("co-embedded-1", 2, 3, 0, 0),
        ("co-embedded-1", 4, 7, 1, 4),
    ]


@pytest.mark.parametrize(("largest", "last"), [(999, (512, 1023)), (1000, (1000, 9999))])
def test_frequencies_of_a_thousand_or_more_use_powers_of_ten(largest, last):
    rows = tails(*grams({"a": largest, "b": 9}))

    assert rows[-1][1:3] == last
    assert sum(grams for *_, grams, _ in rows) == 2


def test_vocabularies_without_words_have_one_interval():
    assert tails() == [("captions-1", 1, 1, 0, 0), ("co-embedded-1", 1, 1, 0, 0)]


# --- similarities by frequency and by length -----------------------------------------------------


def ranges(by, *rows, width=3, most=10):
    series = [
        {"position": n, "encoder": "clip", "encoder_position": 0, "encoder_title": "CLIP"}
        | {"vocabulary": name, "vocabulary_position": n, "vocabulary_title": name}
        for n, name in enumerate(("captions-1", "co-embedded-1"))
    ]
    return query(
        "parrot_fig5",
        {"by": by, "width": width, "most": most},
        series=listed(*series),
        probes=pa.Table.from_pylist(list(rows), LABELLED_PROBES),
    )


def own(rows):
    return [row for row in rows if row["vocabulary"] == "captions-1"]


def test_a_gram_counts_with_its_mean_over_styles():
    rows = probes([("a", 1, 0.25, 0.75), ("b", 1, 0.0, 0.0), ("c", 1, 1.0, 0.0)])

    (row,) = own(ranges("frequency", *rows))

    assert (row["low"], row["high"], row["grams"]) == (1, 1, 3)
    assert (row["low_quartile"], row["median"], row["high_quartile"]) == (0.25, 0.5, 0.5)
    assert (row["low_tail"], row["high_tail"]) == (pytest.approx(0.05), 0.5)
    assert row["mean"] == pytest.approx(1 / 3)


def test_the_difference_from_other_texts_counts():
    found = [("a", 1, 0.5), ("b", 1, 0.75)]

    (row,) = own(ranges("frequency", *probes(found, mismatched=0.25)))
    (lone,) = own(ranges("frequency", *probes(found[:1], mismatched=None)))

    assert (row["grams"], row["median"]) == (2, 0.375)
    assert (lone["grams"], lone["median"]) == (0, None)


def test_lengths_are_in_letters_including_spaces():
    rows = ranges("length", *probes([("été", 5, 0.5), ("a bc", 5, 0.25), ("abcdefg", 5, 0.75)]))

    assert [(row["low"], row["high"], row["median"]) for row in own(rows)] == [
        *((1, 3, 0.5), (4, 6, 0.25), (7, 9, 0.75))
    ]


def test_the_last_length_interval_is_open_if_texts_are_longer():
    found = [("a", 1, 0.5), ("abcdef", 1, 0.5), ("abcdefg", 1, 0.5)]

    longer = own(ranges("length", *probes(found), most=2))
    fitting = own(ranges("length", *probes(found[:2]), most=2))

    assert [(row["low"], row["high"], row["grams"]) for row in longer] == [(1, 3, 1), (4, None, 2)]
    assert [(row["low"], row["high"], row["grams"]) for row in fitting] == [(1, 3, 1), (4, 6, 1)]


def test_an_interval_without_grams_has_no_spread():
    found = probes([("a", 1, 0.5), ("b", 4, 0.5)])

    rows = ranges("frequency", *found, *probes([("a", 2, 0.5)], vocabulary="co-embedded-1"))

    counts = [(row["vocabulary"], row["low"], row["grams"], row["median"]) for row in rows]
    assert counts == [
        *(("captions-1", 1, 1, 0.5), ("captions-1", 2, 0, None), ("captions-1", 4, 1, 0.5)),
        ("co-embedded-1", 1, 0, None),
        ("co-embedded-1", 2, 1, 0.5),
        ("co-embedded-1", 4, 0, None),
    ]


@pytest.mark.parametrize("by", ["frequency", "length"])
def test_without_grams_there_is_one_empty_interval(by):
    assert [(row["low"], row["grams"]) for row in ranges(by)] == [(1, 0), (1, 0)]


def test_the_order_of_probes_does_not_matter():
    values = np.random.default_rng(0).random((40, 5), np.float32)
    rows = probes([(f"{n:x}", 1 + n % 9, *row.tolist()) for n, row in enumerate(values)])
    shuffled = random.Random(0).sample(rows, len(rows))

    assert ranges("frequency", *shuffled) == ranges("frequency", *rows)
    assert ranges("length", *shuffled) == ranges("length", *rows)


# --- trained models ------------------------------------------------------------------------------


def model(position, encoder, *, in_grid=True):
    same = {"panel_position": 0, "panel_title": "RN50", "group_position": 0, "group_title": "text"}
    return same | {
        "row_position": position,
        "row_title": encoder.upper(),
        "encoder": encoder,
        "in_grid": in_grid,
    }


def test_own_and_other_words_and_their_difference_are_side_by_side():
    found = [
        *probes([("a", 9, 0.5, 1.0), ("b", 1, 0.0, 0.5)], encoder="random", mismatched=0.25),
        *probes([("a", 9, 0.25, 0.25), ("b", 1, 0.5, 0.5)]),
    ]
    kinds = ("matched", "mismatched", "reading")

    rows = query(
        "parrot_fig6",
        {"reference": "clip"},
        models=listed(model(1, "with-text", in_grid=False), model(0, "random")),
        series=listed(*({"position": n, "series": s, "title": s} for n, s in enumerate(kinds))),
        probes=pa.Table.from_pylist(found, LABELLED_PROBES),
    )

    low, high = mean_over_seeds(np.array([0.25]), np.var([0.5, 0.0], ddof=1) / 2, 2)
    numbers = ("encoder", "series_title", "grams", "value", "low", "high", "reference")
    assert [tuple(row[name] for name in numbers) for row in rows] == [
        ("random", "matched", 2, 0.5, 0.375, 0.625, 0.375),
        ("random", "mismatched", 2, 0.25, 0.25, 0.25, 0.375),
        ("random", "reading", 2, 0.25, low, high, 0.375),
        *(("with-text", series, None, None, None, None, 0.375) for series in kinds),
    ]


def task(encoder, position, track, value):
    named = {"task": f"t{position}", "title": f"Task {position}", "metric": "acc1"}
    return {"encoder": encoder, "position": position, "track": track, "value": value} | named


def tracks(*results):
    models = [
        {"panel_position": 0, "panel_title": "RN50, 3M", "series_position": n}
        | {"series_title": encoder, "encoder": encoder, "in_grid": encoder != "absent"}
        for n, encoder in enumerate(("random", "absent"))
    ]
    names = ({"position": n, "track": t, "title": t} for n, t in enumerate(("imagenet", "vtab")))
    rows = query(
        "parrot_fig11",
        {},
        models=listed(*models),
        tracks=listed(*names),
        task_results=pa.Table.from_pylist(list(results), TASK_RESULTS),
    )
    return [(row["encoder"], row["group_title"], row["row_title"], row["value"]) for row in rows]


def test_tasks_are_grouped_by_track_and_models_outside_the_grid_have_none():
    rows = tracks(
        *(task("random", 2, "imagenet", 0.5), task("random", 0, "vtab", None)),
        *(task("random", 1, "imagenet", 0.25), task("other", 1, "imagenet", 1.0)),
    )

    assert rows == [
        ("random", "imagenet", "Task 1", 0.25),
        ("random", "imagenet", "Task 2", 0.5),
        ("random", "vtab", "Task 0", None),
        ("absent", None, None, None),
    ]


def test_models_without_results_are_kept():
    assert tracks() == [("random", None, None, None), ("absent", None, None, None)]


# --- the most frequent words ---------------------------------------------------------------------


def parts(rows, limit=60):
    found = query(
        "parrot_fig10",
        {"limit": limit},
        parts=listed(*({"position": n, "title": t} for n, t in enumerate("HMT"))),
        grams=pa.Table.from_pylist(rows, LABELLED_GRAMS),
    )
    numbers = ("part_title", "words", "most", "least", "place", "gram")
    return [tuple(row[name] for name in numbers) for row in found]


def test_a_vocabulary_is_split_at_its_roots_and_ties_are_alphabetical():
    rows = parts(grams({"h": 1, "g": 1, "f": 2, "e": 2, "d": 3, "c": 4, "a": 8, "b": 8}), limit=2)

    # the third root of 8 is 2, that of 64 is 4
    assert rows == [
        *(("H", 2, 8, 8, 1, "a"), ("H", 2, 8, 8, 2, "b")),
        *(("M", 2, 4, 3, 3, "c"), ("M", 2, 4, 3, 4, "d")),
        *(("T", 4, 2, 1, 5, "e"), ("T", 4, 2, 1, 6, "f")),
    ]


def test_a_part_without_words_keeps_a_row():
    assert parts(grams({"a": 3})) == [
        ("H", 1, 3, 3, 1, "a"),
        ("M", 0, None, None, None, None),
        ("T", 0, None, None, None, None),
    ]
