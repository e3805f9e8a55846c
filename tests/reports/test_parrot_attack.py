"""The cost of printed class names: the table, how it prints, and the report's answer."""

from pathlib import Path

import pyarrow as pa
import pytest

from clipaudit.catalog.columns import column_comments, meaning
from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.parrot.attack import ATTACKED
from clipaudit.parrot.reports.answer import parrot_answer
from clipaudit.parrot.reports.curated import curated_tables
from clipaudit.parrot.reports.layouts import LAYOUTS
from clipaudit.reports.intervals import exact_interval
from clipaudit.reports.tables import report_table

MICRO = Path(__file__).parents[2] / "config/micro_parrot.yaml"
RIGHT, PRINTED, OTHER = 0, 1, 2
SCHEMA = pa.schema([("encoder", pa.string()), ("testset", pa.string()), *ATTACKED])


@pytest.fixture
def run():
    def build(**attack):
        settings = read_settings(MICRO)
        settings["parrot"]["attack"] = attack
        return parse_settings(settings)

    return build


@pytest.fixture
def attacked():
    """A function: the table of one model on one test set, of its predictions by image."""

    def build(**predicted):
        rows = [
            {"encoder": "own", "testset": "val", "shard": 0, "row": row, "variant": variant}
            | {"label": RIGHT, "printed": PRINTED, "predicted": each}
            | {"right_similarity": -each, "printed_similarity": -abs(each - PRINTED)}
            for variant, answers in predicted.items()
            for row, each in enumerate(answers)
        ]
        asked = {"position": 0, "testset": "val", "testset_title": "Val", "encoder": "own"}
        views = {
            "attacked": pa.Table.from_pylist(rows, schema=SCHEMA),
            "asked": pa.Table.from_pylist([asked | {"title": "Own"}]),
        }
        (row,) = report_table("parrot_attack", views, {}).to_pylist()
        return row

    return build


# --- SQL -----------------------------------------------------------------------------------------


def test_four_images_match_a_hand_calculation(attacked):
    row = attacked(
        plain=[RIGHT, RIGHT, RIGHT, OTHER],
        control=[RIGHT, RIGHT, OTHER, PRINTED],
        attacked=[PRINTED, PRINTED, OTHER, RIGHT],
    )

    assert [row[name] for name in ("plain", "control", "attacked")] == [0.75, 0.5, 0.25]
    assert (row["clutter"], row["harm"]) == (0.25, 0.25)
    assert (row["named"], row["named_control"], row["following"]) == (0.5, 0.25, 0.25)
    assert row["right_over_printed"] == 0.25
    low, high = exact_interval(*(pa.array([n]).to_numpy() for n in (1, 4)))[0]
    assert (row["attacked_low"], row["attacked_high"]) == (low, high)


def test_intervals_of_differences_equal_those_of_bonett_and_price(attacked):
    row = attacked(control=[RIGHT] * 40 + [OTHER] * 10, attacked=[RIGHT] * 20 + [PRINTED] * 30)

    # 20 lost, none gained, of 50: (21 - 1) / 52, and 1.96 times its deviation
    deviation = ((21 + 1) / 52 - (20 / 52) ** 2) ** 0.5 / 52**0.5
    assert row["harm"] == 0.4
    assert row["harm_low"] == pytest.approx(20 / 52 - 1.959964 * deviation, abs=1e-6)
    assert row["harm_high"] == pytest.approx(20 / 52 + 1.959964 * deviation, abs=1e-6)


def test_images_that_already_show_a_name_have_no_control_and_no_harm(attacked):
    row = attacked(attacked=[PRINTED, RIGHT])

    assert (row["images"], row["attacked"], row["named"]) == (2, 0.5, 0.5)
    assert [row[name] for name in ("plain", "control", "harm", "harm_low", "following")] == [
        None
    ] * 5


def test_a_model_without_answers_has_a_row_without_values(attacked):
    row = attacked()

    assert row["images"] == 0
    assert row["attacked"] is row["harm"] is None


def test_every_column_has_a_meaning(attacked):
    stated = column_comments("parrot_attack")

    assert [n for n in attacked() if not (stated.get(n) or meaning("parrot_attack", n))] == []


# --- what is read --------------------------------------------------------------------------------


def test_all_trained_and_inspected_models_are_attacked(run):
    table = curated_tables(run(test_sets=["val"]))["parrot_attack"]

    encoders = [row["encoder"] for row in table.relations["asked"]]
    assert encoders[-1] == "own"
    assert "brief.random-8" in encoders
    assert table.inputs["attacked"] == [f"attacked/{each}/val.json" for each in encoders]


def test_only_named_models_are_attacked(run):
    table = curated_tables(run(test_sets=["val"], encoders=["brief.random-8"]))["parrot_attack"]

    (row,) = table.relations["asked"]
    assert (row["encoder"], row["title"]) == ("brief.random-8", "8 random / atom")


def test_without_the_setting_nothing_is_attacked():
    assert "parrot_attack" not in curated_tables(parse_settings(read_settings(MICRO)))


# --- print and answer ----------------------------------------------------------------------------


def test_a_row_prints_accuracies_costs_and_answers(attacked):
    row = attacked(plain=[RIGHT] * 4, control=[RIGHT] * 4, attacked=[PRINTED] * 4)
    layout = LAYOUTS["parrot_attack"]

    cells = {name: cell(row) for name, cell in layout.fields.items()}

    assert layout.name(row) == "Val, Own"
    assert cells["Images"] == "4"
    assert cells["With the name, %"].startswith("0.0 [0.0, ")
    assert cells["The name costs"].startswith("+100.0 [+")
    assert cells["Answers name, %"] == "100.0"


def test_harm_is_claimed_only_if_its_interval_is_above_zero(attacked):
    few = attacked(control=[RIGHT] * 50, attacked=[RIGHT] * 48 + [PRINTED] * 2)
    many = attacked(control=[RIGHT] * 50, attacked=[RIGHT] * 30 + [PRINTED] * 20)

    texts = [parrot_answer({"parrot_attack": [row]}).sentences[0].text for row in (few, many)]

    assert texts[0].startswith("A wrong class name printed on Val is not shown to cost accuracy")
    assert texts[1].startswith("A wrong class name printed on Val costs accuracy beyond a meaning")
    assert "Own (100.0 % with the word, 60.0 % with the name, difference +40.0 [" in texts[1]


def test_a_fall_caused_by_any_word_is_not_harm(attacked):
    row = attacked(plain=[RIGHT] * 50, control=[OTHER] * 50, attacked=[OTHER] * 50)

    (sentence,) = parrot_answer({"parrot_attack": [row]}).sentences

    assert row["clutter_low"] > 0
    assert "is not shown to cost accuracy" in sentence.text


def test_no_harm_is_stated_for_images_that_already_show_a_name(attacked):
    row = attacked(attacked=[PRINTED] * 50)

    assert parrot_answer({"parrot_attack": [row]}).sentences == ()
