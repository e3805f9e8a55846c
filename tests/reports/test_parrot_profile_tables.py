"""What the tables of the parrot audit's profile ask for, given the settings, and how they print."""

from pathlib import Path

import pytest

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.parrot.reports.layouts import LAYOUTS
from clipaudit.parrot.reports.profile import profile_tables
from clipaudit.reports.layouts import Layout
from clipaudit.steps.reportfiles import report_file

MICRO = Path(__file__).parents[2] / "config/micro.yaml"


@pytest.fixture
def tables():
    """A function: the tables of a small run, with some settings of the audit replaced."""

    def build(**changes):
        settings = read_settings(MICRO)
        settings["corpora"]["web"] = {"shards": "web/{0..2}.tar", "shards_per_part": 2}
        settings["corpora"]["web"]["title"] = "LAION-2B"
        settings["encoders"]["other"] = {"model": "brief/small", "title": "Other"}
        settings["parrot"] = {"corpora": ["large", "web"], "encoder": "own"} | changes
        return profile_tables(parse_settings(settings))

    return build


def test_every_table_has_its_sql_and_its_layout(tables):
    found = tables()

    assert all(report_file("sql", f"{table.sql}.sql").is_file() for table in found.values())
    assert found.keys() <= LAYOUTS.keys()


def test_without_the_audit_there_are_no_tables():
    assert profile_tables(parse_settings(read_settings(MICRO))) == {}


def test_all_parts_of_all_corpora_are_counted(tables):
    table = tables()["parrot_table1"]

    parts = ["large/00000", "large/00001", "web/00000", "web/00001"]
    assert table.inputs["matches"] == [f"matches/{part}.json" for part in parts]
    assert table.inputs["drops"] == [f"drops/spot/{part}.json" for part in parts]
    assert [row["title"] for row in table.relations["corpora"]] == ["large", "LAION-2B"]


def test_every_word_measure_exists_for_both_tokenizations(tables):
    rows = tables()["parrot_table1"].relations["measures"]

    kinds = {name: [] for name in ("", "words", "plain")}
    for row in rows:
        kinds[row["tokenization"]].append(row["measure"])
    assert kinds["words"] == kinds["plain"]
    assert len({row["title"] for row in rows}) == len(rows)


def test_scores_of_all_inspected_models_are_compared(tables):
    table = tables(encoders=["other"], corpora=["web"])["parrot_table9"]

    assert table.inputs["scores"] == [
        f"caption_scores/{encoder}/web/{part}.json"
        for encoder in ("own", "other")
        for part in ("00000", "00001")
    ]
    titles = [row["title"] for row in table.relations["models"]]
    assert titles == ["LAION-2B, own", "LAION-2B, Other"]
    assert table.parameters == {"encoder": "own"}


def test_captions_are_listed_by_the_audits_own_encoder_and_tokenization(tables):
    table = tables(encoders=["other"], tokenization="plain")["parrot_table14"]

    assert {path.split("/")[1] for path in table.inputs["scores"]} == {"own"}
    assert table.parameters == {"tokenization": "plain", "limit": 21}


def test_reading_is_checked_only_in_generated_corpora(tables):
    table = tables()["parrot_truth"]

    assert table.inputs == {
        "truths": ["spotted_truth/large/00000.json", "spotted_truth/large/00001.json"]
    }
    assert [row["position"] for row in table.relations["classes"]] == [0, 1, 2]
    assert "parrot_truth" not in tables(corpora=["web"])


@pytest.mark.parametrize(
    "name", [name for name, layout in LAYOUTS.items() if isinstance(layout, Layout)]
)
def test_every_line_of_a_row_but_the_first_is_named(name):
    first, *others = LAYOUTS[name].lines

    assert first.name == ""
    assert all(line.name for line in others)


@pytest.fixture
def printed():
    """A function: the cells of a one-line table's row, or of a listing's."""

    def build(name, row):
        layout = LAYOUTS[name]
        if isinstance(layout, Layout):
            return [line.body(row) for line in layout.lines]
        return [layout.name(row), *(cell(row) for cell in layout.fields.values())]

    return build


def test_a_share_is_printed_in_percent_and_a_count_as_an_integer(printed):
    share = {"measure": "rate", "unit": "share", "value": 0.5021, "published_value": 0.546}
    counted = {"measure": "images", "unit": "count", "value": 1234.0, "published_value": None}

    assert printed("parrot_table1", share) == ["50.21", "54.60"]
    assert printed("parrot_table1", counted) == ["1\u202f234", ""]
    assert printed("parrot_table1", share | {"value": None})[0] == "\N{EN DASH}"


def test_false_alarms_are_printed_with_their_interval_or_as_not_checked(printed):
    row = {"measure": "false_alarms", "unit": "share", "published_value": None}
    known = {"value": 0.05, "value_low": 0.011, "value_high": 0.139}

    assert printed("parrot_table1", row | known)[0] == "5.0 [1.1, 13.9]"
    unknown = dict.fromkeys(known)
    assert printed("parrot_table1", row | unknown)[0] == "not checked"


def test_manual_checks_take_precedence_over_the_truth_of_a_world(tables):
    looked = tables(checked={"web": "seen.csv"})["parrot_table1"].inputs
    both = tables(checked={"large": "a.csv", "web": "b.csv"})["parrot_table1"].inputs

    assert looked["truths"] == [f"spotted_truth/large/0000{part}.json" for part in (0, 1)]
    assert looked["checked"] == ["checked_text/web.json"]
    assert both["truths"] == []
    assert both["checked"] == ["checked_text/large.json", "checked_text/web.json"]


def test_a_difference_of_scores_has_a_sign(printed):
    row = {"unit": "difference", "value": 0.01, "pictures": 7, "published_value": None}
    row |= {"value_low": 0.002, "value_high": 0.018}

    assert printed("parrot_table9", row) == ["+0.0100", "[+0.0020, +0.0180]", "7", ""]
    assert printed("parrot_table9", row | {"unit": "score"})[0] == "0.0100"
    assert printed("parrot_table9", row | {"unit": "share"})[0] == "1.00"


def test_a_parrot_caption_is_truncated_and_shown_with_its_words(printed):
    row = {"position": 0, "corpus_title": "Web", "shard": 1, "row": 2, "caption": "Be " * 40}
    row |= {"co_words": "be", "rate": 1.0, "score": 0.4, "rsc": 0.2, "random_rsc": None}

    name, *cells = printed("parrot_table14", row)

    assert name == "1. " + "Be " * 33 + "B \N{HORIZONTAL ELLIPSIS} [be] (Web; 1, 2)"
    assert cells == ["100.0", "0.4000", "+0.2000", "\N{EN DASH}"]


def test_recall_has_an_interval_and_false_alarms_only_cover_all_heights(printed):
    row = {"corpus_title": "Web", "height_title": "all", "pictures": 4, "words": 2}
    row |= {"with_spans": 3, "recall": 0.5, "recall_low": 0.01, "recall_high": 0.99}
    row |= {"spotted": 5, "precision": 0.2, "truth_rate": None, "spotted_rate": None}
    row |= {"equal_rates": None, "false_pictures": 1, "false_spans": 3}

    cells = printed("parrot_truth", row)

    assert cells[0] == "Web, all"
    assert "50.0 [1.0, 99.0]" in cells
    assert cells[-1] == "1 (3)"
    assert printed("parrot_truth", row | {"false_pictures": None})[-1] == "\N{EN DASH}"
