"""The fuzzy rates at several thresholds: what they are read from, their means, how they print."""

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from clipaudit.catalog.columns import column_comments, meaning
from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.parrot.reports.layouts import LAYOUTS
from clipaudit.parrot.reports.profile import profile_tables
from clipaudit.parrot.sweep_fuzzy import FUZZY_SWEEP
from clipaudit.reports.tables import published_values, report_table

MICRO = Path(__file__).parents[2] / "config/micro_parrot.yaml"
SCHEMA = pa.schema([("corpus", pa.string()), *FUZZY_SWEEP])


@pytest.fixture
def asked():
    def build(thresholds):
        settings = read_settings(MICRO)
        settings["parrot"]["fuzzy_sweep"] = thresholds
        settings["corpora"]["posters"]["title"] = "LAION-2B"
        return profile_tables(parse_settings(settings))

    return build


@pytest.fixture
def rows(asked):
    """The table of two parts of one corpus, and of another one without images."""
    table = asked([0.6, 0.8])["parrot_fuzzy"]
    parts = [
        ("posters", 0.6, "words", True, 2, Decimal("1.5")),
        ("posters", 0.6, "words", False, 2, Decimal(0)),
        ("posters", 0.6, "words", True, 1, Decimal("0.75")),
        ("posters", 0.8, "words", True, 3, Decimal("0.75")),
    ]
    views = {name: pa.Table.from_pylist(list(each)) for name, each in table.relations.items()}
    views["fuzzy_sweep"] = pa.Table.from_pylist(
        [dict(zip(SCHEMA.names, part, strict=True)) for part in parts], schema=SCHEMA
    )
    views["published"] = published_values("parrot_fuzzy")
    return report_table("parrot_fuzzy", views, {}).to_pylist()


def test_without_thresholds_there_is_no_table(asked):
    assert "parrot_fuzzy" not in asked([])


def test_the_sweeps_of_all_parts_are_read(asked):
    files = asked([0.6])["parrot_fuzzy"].inputs["fuzzy_sweep"]

    parts = ["posters/00000", "posters/00001", "notices/00000"]
    assert files == [f"fuzzy_sweep/{part}.json" for part in parts]


def test_means_are_over_captions_with_words_of_all_parts(rows):
    first = rows[0]

    assert (first["threshold"], first["tokenization"], first["corpus"]) == (0.6, "words", "posters")
    assert (first["captions"], first["rate"]) == (5, 0.45)
    assert (first["captions_with_text"], first["rate_with_text"]) == (3, 0.75)


def test_each_threshold_has_both_tokenizations_and_all_corpora(rows):
    titles = ["0.6", "0.8", "0.6 (to the letter)", "0.8 (to the letter)"]
    assert [row["threshold_title"] for row in rows[::2]] == titles
    assert [row["corpus"] for row in rows[:2]] == ["posters", "notices"]


def test_the_papers_numbers_are_at_every_threshold_of_its_corpus(rows):
    papers = [(row["published_rate"], row["published_rate_with_text"]) for row in rows]

    assert papers == [(0.3046, 0.5579), (None, None)] * 4


def test_a_corpus_without_captions_has_no_rate(rows):
    assert (rows[1]["captions"], rows[1]["rate"], rows[1]["rate_with_text"]) == (0, None, None)


def test_every_column_has_a_meaning(rows):
    stated = column_comments("parrot_fuzzy")

    assert [n for n in rows[0] if not (stated.get(n) or meaning("parrot_fuzzy", n))] == []


def test_rates_are_printed_above_those_of_the_paper(rows):
    lines = [line.body(rows[0]) for line in LAYOUTS["parrot_fuzzy"].lines]

    assert lines == ["45.00", "75.00", "30.46", "55.79"]
