"""Which figures the memorization audit has, given the settings, and what they are made from."""

from pathlib import Path

import pytest

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.memorization.reports.figures import memorization_figures
from clipaudit.steps.reportfiles import report_file

ROOT = Path(__file__).parents[2]


def build(name, **changes):
    settings = read_settings(ROOT / f"config/{name}.yaml")
    settings["memorization"] |= changes
    return memorization_figures(parse_settings(settings))


@pytest.fixture
def demo():
    """A function: the figures of the demo, with some settings of the audit replaced."""
    return lambda **changes: build("demo", **changes)


@pytest.fixture
def full():
    """A function: the figures of the whole demo, with some settings of the audit replaced."""
    return lambda **changes: build("demo_full", **changes)


@pytest.fixture
def paper():
    """A function: the figures at the paper's scale, with some settings of the audit replaced."""
    return lambda **changes: build("dejavu", **changes)


def groups(figure, **wanted):
    """The titles of groups of bars, with an asterisk for the default one."""
    return [
        row["group_title"] + "*" * row["is_default"]
        for row in figure.table.relations["groups"]
        if all(row[name] == value for name, value in wanted.items())
    ]


def test_a_public_set_has_figures_of_its_own(paper):
    assert [name.removeprefix("memorization_") for name in paper()] == [
        *("fig2", "fig3_imagenet-train", "fig3_filtered-laion"),
        *("fig4_imagenet-train", "fig5_imagenet-train", "fig7"),
        *("fig8_filtered-laion", "fig9_filtered-laion", "trade_off"),
    ]


def test_further_public_sets_have_the_figure_numbers_of_the_second(demo):
    sources = {
        "scenes": {"train": 600, "public": 3000},
        "small": {"public": 1.0, "duplicates": "none"},
        "album": {"public": 1.0, "duplicates": "none"},
    }

    figures = demo(sources=sources, grid=["epochs-10"])
    names = [name.removeprefix("memorization_") for name in figures]

    assert names[-5:-1] == ["fig8_small", "fig9_small", "fig8_album", "fig9_album"]


def test_without_the_audit_there_is_no_figure():
    settings = read_settings(ROOT / "config/demo.yaml")
    del settings["memorization"]

    assert memorization_figures(parse_settings(settings)) == {}


def test_a_setting_with_only_its_default_value_is_not_compared(demo):
    figures = demo(grid=[])

    assert not {"memorization_fig5_scenes", "memorization_fig9_small"} & figures.keys()
    assert "Not trained" not in figures["memorization_fig2"].caption


def test_caption_selection_is_drawn_if_there_are_sets(full):
    assert "memorization_fig7" in full()
    assert "memorization_fig7" not in full(selections={})


def test_caption_selection_names_baselines_only_if_there_are_some(full):
    some, none = (full(**changes)["memorization_fig7"] for changes in ({}, {"baselines": []}))

    for figure, named in ((some, True), (none, False)):
        titles = [row["panel_title"] for row in figure.table.relations["groups"]]
        assert ("baselines" in figure.caption) == ("baselines" in titles[0]) == named


def test_every_figure_has_its_sql(paper, demo):

    for figure in (paper() | demo()).values():
        assert report_file("sql", f"{figure.table.sql}.sql").is_file()


def test_sizes_are_ascending_and_include_the_default(paper):
    figure = paper()["memorization_fig2"]

    assert groups(figure, public="filtered-laion") == ["1M", "10M*", "50M"]
    titles = {row["panel_title"] for row in figure.table.relations["groups"]}
    assert titles == {"public set: filtered LAION", "public set: IN-Train"}


def test_sizes_that_are_not_trained_are_named_in_the_caption(paper):
    figure = paper(grid=["size-50000000"])["memorization_fig2"]

    assert groups(figure, panel_column=0) == ["10M*", "50M"]
    assert figure.caption.endswith(" Not trained in this run: size-1000000.")
    inputs = figure.table.inputs
    assert inputs["gaps"] == [
        f"gaps/{public}/{point}.json"
        for public in ("imagenet-train", "filtered-laion")
        for point in ("default", "size-50000000")
    ]
    assert len(inputs["utility"]) == 4
    assert "utility/dejavu.set-b-50000000/val.json" in inputs["utility"]
    assert {row["point"] for row in figure.table.relations["models"]} == {
        "default",
        "size-50000000",
    }


def test_sizes_may_be_shares(demo):
    sources = {
        "scenes": {"train": 0.2, "sizes": [0.05], "public": 0.5},
        "small": {"public": 1.0, "duplicates": "none"},
    }

    figure = demo(sources=sources, grid=["size-5pct"])["memorization_fig2"]

    assert groups(figure, panel_column=0) == ["5 %", "20 %*"]


def test_a_family_of_points_has_a_panel_with_the_default_at_its_position(paper):
    figure = paper()["memorization_fig5_imagenet-train"]

    shown = [groups(figure, panel_column=n) for n in range(4)]
    assert shown == [
        ["20", "40", "100", "200*"],
        ["25", "100*", "200"],
        ["0.03", "0.1*", "0.3"],
        ["0*", "0.3", "0.5"],
    ]
    assert {row["public"] for row in figure.table.relations["groups"]} == {"imagenet-train"}


def panels(figure):
    """The panels of bars of gaps: row, column and title."""
    names = ("panel_row", "panel_column", "panel_title")
    rows = figure.table.relations["groups"]
    return list(dict.fromkeys(tuple(row[name] for name in names) for row in rows))


def test_captions_and_noise_have_panels_if_requested(paper):
    plain, asked = (
        paper(mitigations=more, grid=None)["memorization_fig9_filtered-laion"]
        for more in ({}, {"captions": [1, 5], "text_noise": [0.1]})
    )

    assert [title for *_, title in panels(plain)][2:] == ["token masking"]
    assert panels(asked)[2:] == [
        *((0, 2, "token masking"), (2, 0, "captions of a record")),
        (2, 1, "noise on text embeddings"),
    ]
    assert groups(asked, panel_title="captions of a record") == ["1*", "5"]
    assert groups(asked, panel_title="noise on text embeddings") == ["0*", "0.1"]


def test_all_captions_come_after_some():
    settings = read_settings(ROOT / "config/dejavu.yaml")
    settings["recipes"]["dejavu"]["caption_choice"] = "random"
    settings["memorization"]["mitigations"] = {"captions": [5, 2]}

    figure = memorization_figures(parse_settings(settings))["memorization_fig5_imagenet-train"]

    assert groups(figure, panel_title="captions of a record") == ["2", "5", "all*"]


def test_gaps_are_paired_with_utility_only_for_points_in_the_grid(demo):
    figure = demo(grid=["epochs-10"])["memorization_trade_off"]

    points = [
        (row["point"], row["family_title"], row["title"], row["is_default"])
        for row in figure.table.relations["points"]
    ]
    assert points == [("default", "default", "default", True), ("epochs-10", "epochs", "10", False)]
    assert figure.table.inputs["gaps"] == [
        f"gaps/{public}/{point}.json"
        for public in ("scenes", "small")
        for point in ("default", "epochs-10")
    ]
    assert len(figure.table.inputs["utility"]) == 4
    assert "memorization_trade_off" not in demo(utility=[])
    assert "memorization_trade_off" not in demo(grid=[])  # one point has no trade-off


def test_a_setting_with_one_trained_value_has_no_panel(demo):
    figure = demo(grid=["epochs-10"])["memorization_fig9_small"]

    assert panels(figure) == [(0, 0, "epochs")]
    assert groups(figure) == ["10", "40*"]
    assert " Not trained in this run: temperature-25; " in figure.caption
    # the default point is in each panel and is read once
    assert figure.table.inputs["gaps"] == [
        "gaps/small/epochs-10.json",
        "gaps/small/default.json",
    ]


def test_utility_is_that_of_both_models_on_the_first_test_set(demo):
    figure = demo(utility=["val", "sketch"], grid=[])["memorization_fig2"]

    assert figure.table.inputs["utility"] == [
        "utility/scenes.set-a/val.json",
        "utility/scenes.set-b/val.json",
    ]
    assert figure.table.parameters == {"k": 10, "testset": "val"}
    measures = figure.table.relations["measures"]
    assert [row["series"] for row in measures] == ["ppg", "prg", "aucg", "utility"]
    assert measures[-1]["title"] == "accuracy on Glyph-Val"
    assert "accuracy on Glyph-Val" in figure.caption


def test_without_a_test_set_there_is_no_utility(demo):
    figure = demo(utility=[])["memorization_fig2"]

    assert figure.table.inputs["utility"] == []
    assert {row["panel_row"] for row in figure.table.relations["measures"]} == {0}
    assert "accuracy" not in figure.caption


def test_recalls_have_a_panel_for_each_size(paper):
    figure = paper(grid=["size-1000000"])["memorization_fig3_imagenet-train"]

    panels = figure.table.relations["panels"]
    assert [(row["panel_title"], row["is_default"]) for row in panels] == [
        *(("1M", False), ("10M", True)),
    ]
    read = ["imagenet-train/size-1000000.json", "imagenet-train/default.json"]
    assert figure.table.inputs == {
        kind: [f"{kind}/{path}" for path in read] for kind in ("survival", "gaps")
    }
    assert "IN-Train" in figure.caption


def test_top_records_are_compared_with_the_hold_out_set_if_it_exists(demo):
    sources = {"scenes": {"train": 600, "public": 3000}}
    caption, without = (
        figures["memorization_fig4_scenes"].caption for figures in (demo(), demo(sources=sources))
    )

    assert "a line across a bar is the gap of the hold-out" in caption
    assert "without a hold-out its size is unknown" in without


def test_the_order_by_the_gap_counts_all_objects_of_the_neighbours(demo):
    caption = demo()["memorization_fig4_scenes"].caption

    assert "(b) by the number of these objects that" in caption
    assert "correctly than the reference model, among all objects of the neighbours. " in caption


def test_a_figure_of_one_direction_names_the_hold_out_set_and_the_place_of_the_mean(demo):
    sources = {"scenes": {"train": 600, "public": 3000}}
    caption, without = (
        figures["memorization_fig3_scenes"].caption for figures in (demo(), demo(sources=sources))
    )

    assert "minus that of the hold-out" in caption
    assert "hold-out" not in without
    assert all("mean of both directions" in each for each in (caption, without))


def test_the_most_exposed_records_are_those_of_the_default_models(demo):
    figures = demo(neighbors=[20])

    for name, public in (("fig4", "scenes"), ("fig8", "small")):
        table = figures[f"memorization_{name}_{public}"].table
        assert table.inputs == {"sample_gaps": [f"sample_gaps/{public}/default.json"]}
        assert table.parameters == {"k": 20, "public": public, "point": "default"}
        assert [row["sort"] for row in table.relations["panels"]] == [
            "similarity",
            "correct",
            "gap",
        ]


def test_the_mean_of_f_scores_is_in_the_table_but_not_drawn(demo):
    measures = demo()["memorization_fig4_scenes"].table.relations["measures"]

    assert [(row["series"], row["series_position"]) for row in measures] == [
        *(("precision", 0), ("recall", 1), ("f_of_means", 2), ("mean_f", None)),
    ]


def test_baselines_come_before_our_models(paper):
    figure = paper()["memorization_fig7"]

    above = groups(figure, panel_row=0)
    assert above[2:] == [f"filtered LAION + COCO, {size}" for size in ("1M", "10M*", "50M")]
    rows = [row for row in figure.table.relations["groups"] if row["panel_row"] == 0]
    assert [row["point"] for row in rows[:2]] == ["encoder openai", "encoder laion-b32"]
    assert [row["group_position"] for row in rows] == list(range(5))


def test_all_models_of_a_group_select_captions(full):
    table = full(grid=["token-masking-0.5"])["memorization_fig7"].table

    models = {}
    for row in table.relations["encoders"]:
        models.setdefault(row["point"], []).append(row["encoder"])
    masked = "scenes.token-masking-0.5"
    assert models == {
        "encoder own": ["own"],
        "default": ["scenes.set-a", "scenes.set-b"],
        "token-masking-0.5": [f"{masked}.set-a", f"{masked}.set-b"],
    }
    sets = ("relation", "attribution", "order")
    assert [row["selection"] for row in table.relations["sets"]] == list(sets)
    assert table.inputs["selections"] == [
        f"selections/{model}/{name}.json"
        for members in models.values()
        for model in members
        for name in sets
    ]


def test_earlier_checkpoints_select_no_captions(full):
    figure = full()["memorization_fig7"]  # its grid has one

    shown = {row["panel_title"] for row in figure.table.relations["groups"]}
    assert "epochs" not in shown
    assert not any("epoch-" in path for path in figure.table.inputs["selections"])
