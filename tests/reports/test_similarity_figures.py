"""Which figures the similarity audit has, given the settings, and what they are made from."""

import pyarrow as pa
import pytest

from clipaudit.config.loading import parse_settings
from clipaudit.errors import ConfigError
from clipaudit.reports.drawings import draw_figure
from clipaudit.reports.tables import report_table
from clipaudit.similarity.reports.figures import similarity_figures

WEB = "laion-deduplicated"
SECTIONS = {"near_far": None, "supervised": None, "other_encoders": []}
SPLIT = {"of": "celeba", "where": "true", "captions": "none"}


@pytest.fixture
def figures(settings):
    """A function: the figures, with some settings of the audit replaced."""

    def build(**changes):
        settings["similarity"] |= changes
        return similarity_figures(parse_settings(settings))

    return build


@pytest.fixture
def with_pair(settings):
    settings["corpora"]["celeba"] = {"shards": "celeba/{0..1}.tar", "captions": "none"}
    settings["corpora"]["no-hat"] = SPLIT
    settings["corpora"]["hat"] = {**SPLIT, "labels": "imagenet", "label": "1"}


def titles(figure):
    return [row["title"] for row in figure.table.relations["testsets"]]


def points(figure, **wanted):
    rows = figure.table.relations["points"]
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def curve(figure, **wanted):
    return [row["manifest"].removeprefix(f"{WEB}.") for row in points(figure, **wanted)]


def test_figures_exist_for_enabled_sections(figures):
    names = [name.removeprefix("similarity_") for name in figures()]
    assert names == "fig3_left fig3 fig4 fig6 fig6_right fig7 fig8 fig9 fig10 fig13 fig14".split()

    names = [name.removeprefix("similarity_") for name in figures(**SECTIONS)]
    assert names == "fig3_left fig4 fig6 fig6_right fig14".split()


def test_without_the_audit_there_is_no_figure(settings):
    del settings["similarity"]

    assert similarity_figures(parse_settings(settings)) == {}


@pytest.mark.parametrize(
    ("chosen", "first", "rest"),
    [
        (["sketch", "r", "val"], ["Sketch", "R", "Val"], ["A", "V2", "ObjectNet"]),
        (None, ["Val", "Sketch", "A"], ["R", "V2", "ObjectNet"]),
    ],
)
def test_the_main_test_sets_are_separate_from_the_rest(figures, chosen, first, rest):
    made = figures(main_sets=chosen)

    shown = {
        name: [title.removeprefix("ImageNet-") for title in titles(made[f"similarity_{name}"])]
        for name in ("fig3_left", "fig4", "fig6", "fig6_right")
    }
    assert shown == {"fig3_left": first, "fig4": first, "fig6": rest, "fig6_right": rest}


def test_without_further_test_sets_there_is_no_figure_6(figures):
    assert "similarity_fig6" not in figures(test_sets=["val", "sketch", "r"])


def test_a_main_test_set_is_one_of_the_test_sets(figures):
    with pytest.raises(ConfigError, match=r"main_sets: 'mnist' is not among similarity\.test_sets"):
        figures(main_sets=["mnist"])


def test_accuracy_by_similarity_to_the_whole_large_set_uses_a_released_model(figures):
    figure = figures(recipe=None)["similarity_fig6_right"]

    assert figure.table.inputs["neighbors"] == ["neighbors/b16-plus/laion.json"]
    assert figure.table.inputs["predictions"][0] == "predictions/pretrained/laion-b32/a.json"
    assert "of the released model L-400M, open_clip's, by the similarity" in figure.caption


def test_without_a_released_model_a_model_is_trained_on_the_whole_large_set(figures):
    figure = figures(large_model=None)["similarity_fig6_right"]

    assert figure.table.inputs["predictions"][0] == "predictions/paper/laion/a.json"


def test_accuracy_by_similarity_uses_the_unpruned_model_and_its_training_set(figures):
    inputs = figures()["similarity_fig3_left"].table.inputs

    assert inputs["neighbors"] == ["kept_neighbors/b16-plus/deduplicated/laion.json"]
    assert inputs["predictions"][0] == f"predictions/paper/{WEB}/sketch.json"

    inputs = figures(deduplication=None, core_set=None)["similarity_fig3_left"].table.inputs

    assert inputs["neighbors"] == ["neighbors/b16-plus/laion.json"]
    assert inputs["predictions"][0] == "predictions/paper/laion/sketch.json"


def test_histograms_show_the_whole_large_set_and_the_small_one(figures):
    made = figures()

    inputs = made["similarity_fig4"].table.inputs
    assert inputs["first_neighbors"] == ["neighbors/b16-plus/laion.json"]
    assert inputs["second_neighbors"] == ["neighbors/b16-plus/imagenet-train.json"]
    inputs = made["similarity_fig13"].table.inputs
    assert inputs["second_neighbors"] == ["neighbors/l14/imagenet-train.json"]


def test_figure_3_has_one_panel_per_query_evaluated_on_that_query(figures):
    figure = figures()["similarity_fig3"]

    assert {(row["panel_title"], row["testset"]) for row in points(figure)} == {
        ("ImageNet-Sketch", "sketch"),
        ("ImageNet-Val", "val"),
    }
    sizes = [f"kept-{million}000000" for million in (150, 100, 50)]
    assert curve(figure, testset="sketch", pruning="near") == [
        WEB,
        *(f"sketch-near-{size}" for size in sizes),
    ]
    assert curve(figure, testset="val", pruning="rand") == [WEB, *(f"rand-{n}" for n in sizes)]


def test_figure_7_has_both_queries_on_every_test_set_and_one_random_curve(figures):
    rows = points(figures()["similarity_fig7"], panel_position=5)

    assert list(dict.fromkeys(row["series_title"] for row in rows)) == [
        "near-pruned, ImageNet-Sketch",
        "near-pruned, ImageNet-Val",
        "far-pruned, ImageNet-Sketch",
        "far-pruned, ImageNet-Val",
        "rand-pruned",
    ]
    assert {row["testset"] for row in rows} == {"objectnet"}


def test_figure_8_shows_control_sets(figures):
    figure = figures()["similarity_fig8"]

    assert {row["panel_title"] for row in points(figure)} == {"MNIST", "SVHN"}
    assert f"predictions/paper/{WEB}/mnist.json" in figure.table.inputs["predictions"]


def test_figures_9_and_10_compare_classifiers_with_clip(figures):
    made = figures()

    rows = points(made["similarity_fig9"], group_title="supervised", pruning="near", testset="val")
    assert [(row["recipe"], row["manifest"]) for row in rows] == [
        ("resnet18", "imagenet-train"),
        *(("resnet18", f"imagenet-train.val-near-{n}pct") for n in (25, 50, 75)),
    ]
    assert {row["baseline"] for row in rows} == {"imagenet-train"}
    assert made["similarity_fig9"].table == made["similarity_fig10"].table
    assert made["similarity_fig10"].options == {"x": "share", "y": "relative_change"}


def test_classifiers_are_evaluated_only_on_test_sets_of_their_classes(figures, settings):
    settings["label_sets"]["others"] = settings["label_sets"]["imagenet"]
    settings["corpora"]["sketch"]["labels"] = "others"

    figure = figures()["similarity_fig9"]

    assert points(figure, testset="sketch", group_title="supervised") == []
    assert points(figure, testset="val", group_title="supervised") != []


def test_a_figure_shows_the_models_in_the_grid_and_its_caption_names_the_others(figures):
    figure = figures(grid=[WEB, f"{WEB}.sketch-near-kept-50000000"])["similarity_fig3"]

    assert curve(figure, testset="sketch", pruning="near") == [WEB, "sketch-near-kept-50000000"]
    assert {row["testset"] for row in points(figure)} == {"sketch"}  # val has no pruned model
    assert f" Not trained in this run: {WEB}.sketch-near-kept-" in figure.caption
    assert figure.table.inputs["predictions"] == [
        f"predictions/paper/{WEB}/sketch.json",
        f"predictions/paper/{WEB}.sketch-near-kept-50000000/sketch.json",
    ]


def test_with_an_empty_grid_there_are_no_figures_of_trained_models(figures):
    made = figures(grid=[])

    asked = [path for each in made.values() for path in each.table.inputs.get("predictions", [])]
    assert all(path.startswith("predictions/pretrained/") for path in asked)
    assert not {"similarity_fig3_left", "similarity_fig3", "similarity_fig7"} & made.keys()


def test_manifests_are_read_once_and_belong_to_the_points(figures):
    table = figures()["similarity_fig7"].table

    files, members = table.inputs["manifest_rows"], table.relations["members"]
    assert len(set(files)) == len(files)
    assert len({row["manifest"] for row in members}) == len(members) == 16
    assert {row["manifest"] for row in members} == {
        row["manifest"] for row in table.relations["points"]
    }


def test_each_test_set_of_figure_14_has_its_own_pruned_set(figures):
    table = figures()["similarity_fig14"].table

    assert table.relations["pruned"][1] == {"testset": "sketch", "manifest": f"{WEB}.sketch-pruned"}
    assert table.relations["members"][1] == {
        "manifest": f"{WEB}.sketch-pruned",
        "corpus": "laion",
        "pruning": "deduplicated.sketch-pruned",
    }
    assert table.inputs["neighbors"] == ["neighbors/b16-plus/imagenet-train.json"]


@pytest.mark.usefixtures("with_pair")
def test_a_pair_has_the_figure_it_requests(figures):
    made = figures(pairs={"hats": {"figure": 12, "small": "no-hat", "test": "hat"}})

    histograms = made["similarity_fig12_hats"].table.inputs
    assert histograms == {
        "first_neighbors": ["kept_neighbors/b16-plus/pair-hats/laion.json"],
        "second_neighbors": ["kept_neighbors/b16-plus/pair-hats/no-hat.json"],
    }
    correlation = made["similarity_fig12_hats_right"].table.inputs
    assert correlation["neighbors"] == histograms["first_neighbors"]
    assert correlation["predictions"] == ["predictions/pretrained/laion-b32/hat.json"]


@pytest.mark.usefixtures("with_pair")
def test_a_pair_does_not_take_the_name_of_another_figure(figures):
    pair = {"figure": 12, "small": "no-hat", "test": "hat"}

    with pytest.raises(ConfigError, match=r"pairs\.hats_right: .* similarity_fig12_hats_right, wh"):
        figures(pairs={"hats": pair, "hats_right": pair})


def test_every_figure_is_drawn_from_its_table_even_without_data(figures, view, published):
    for name, figure in figures(grid=[], large_model=None).items():
        columns = {"first_neighbors": "neighbors", "second_neighbors": "neighbors"}
        views = {key: view(columns.get(key, key), []) for key in figure.table.inputs}
        relations = {
            key: pa.Table.from_pylist(rows) for key, rows in figure.table.relations.items()
        }
        views |= relations | {"published": published(name)}
        table = report_table(figure.table.sql, views, figure.table.parameters)

        drawn = draw_figure(figure.form, table, figure.options)

        panels = [axes for axes in drawn.axes if axes.get_visible()]
        assert all(axes.texts for axes in panels), name
        assert figure.caption.endswith("."), name


def test_each_other_encoder_has_its_own_figure_13(figures):
    made = figures(other_encoders=["l14", "openai"])

    further = made["similarity_fig13_openai"].table
    assert further.inputs["second_neighbors"] == ["neighbors/openai/imagenet-train.json"]
    assert [row["title"] for row in further.relations["series"]] == ["ViT-B/16+", "OpenAI"]


@pytest.mark.usefixtures("with_pair")
def test_an_encoder_does_not_take_the_name_of_a_pairs_figure(figures):
    pairs = {"openai": {"figure": 13, "small": "no-hat", "test": "hat"}}

    with pytest.raises(
        ConfigError, match="other_encoders: the figure of openai would be similarity"
    ):
        figures(pairs=pairs, other_encoders=["l14", "openai"])
