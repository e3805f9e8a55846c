"""Which figures of inspected models the parrot audit has, given the settings, and their tables."""

from pathlib import Path

import pytest

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.parrot.reports.inspected_figures import inspected_figures
from clipaudit.steps.reportfiles import report_file

CONFIG = Path(__file__).parents[2] / "config"
PARTS = ("00000", "00001")


@pytest.fixture
def figures():
    """A function: the figures of a small run, with some settings of the audit replaced."""

    def build(curations=(), **changes):
        settings = read_settings(CONFIG / "micro_parrot.yaml")
        settings["encoders"]["other"] = {"model": "brief/posters", "title": "Other"}
        settings["corpora"]["posters"]["title"] = "LAION-2B"
        settings["parrot"] |= changes
        settings["parrot"]["curations"] |= dict(curations)
        return inspected_figures(parse_settings(settings))

    return build


def titles(figure, name):
    return [row["title"] for row in figure.table.relations[name]]


def test_every_corpus_has_its_own_figures_and_the_held_out_sets_have_one(figures):
    assert [name.removeprefix("parrot_") for name in figures()] == [
        *("fig1_posters", "fig1_notices", "fig3_posters", "fig3_notices"),
        *("fig4_posters", "fig4_posters_differences"),
        *("fig4_notices", "fig4_notices_differences", "fig7"),
    ]


def test_without_the_audit_there_are_no_figures():
    settings = read_settings(CONFIG / "micro.yaml")

    assert inspected_figures(parse_settings(settings)) == {}


def test_without_curations_there_is_no_held_out_set():
    settings = read_settings(CONFIG / "micro_parrot.yaml")
    for name in ("curations", "deduplication", "evidence"):
        del settings["parrot"][name]

    assert "parrot_fig7" not in inspected_figures(parse_settings(settings))


def test_every_figure_has_its_sql(figures):

    for figure in figures().values():
        assert report_file("sql", f"{figure.table.sql}.sql").is_file()


def test_the_top_pairs_are_those_of_every_inspected_model(figures):
    figure = figures(encoders=["other"], tokenization="plain")["parrot_fig1_posters"]

    assert titles(figure, "models") == ["own", "Other"]
    assert figure.table.inputs == {
        "scores": [
            f"caption_scores/{encoder}/posters/{part}.json"
            for encoder in ("own", "other")
            for part in PARTS
        ],
        "matches": [f"matches/posters/{part}.json" for part in PARTS],
    }
    assert figure.table.parameters == {"tokenization": "plain", "top": 5}


@pytest.mark.parametrize(
    ("name", "views"),
    [
        ("fig3_posters", {"matches", "placed", "samples"}),
        ("fig4_posters", {"matches", "placed", "samples", "scores"}),
        ("fig4_posters_differences", {"scores"}),
    ],
)
def test_groups_and_removals_are_those_of_the_audits_own_encoder(figures, name, views):
    table = figures(encoders=["other"])[f"parrot_{name}"].table

    folders = {"placed": "placed/own", "scores": "caption_scores/own"}
    assert table.inputs == {
        view: [f"{folders.get(view, view)}/posters/{part}.json" for part in PARTS] for view in views
    }


def test_captions_name_the_corpus_and_the_model(figures):
    found = figures(encoder="other")

    for name in ("fig3_posters", "fig4_posters", "fig4_posters_differences", "fig7"):
        caption = found[f"parrot_{name}"].caption
        assert "LAION-2B" in caption
        assert "Other" in caption


def test_held_out_images_are_scored_by_the_audits_encoder_and_the_grid(figures):
    figure = figures()["parrot_fig7"]

    rows = figure.table.relations["models"]
    assert [(row["encoder"], row["title"]) for row in rows] == [
        ("own", "own"),
        ("brief.random-8", "random, 8"),
        ("brief.without-text-8", "w/o emb. text, 8"),
        ("brief.cotr-0.2-8", "CoTR ≥ 0.2, 8"),
        ("brief.debiased", "debiased"),
        ("brief.with-text-10", "w/ emb. text only, 10"),
    ]
    paths = figure.table.inputs["scores"]
    assert paths[1] == "heldout_scores/brief.random-8/posters/all.json"
    assert len(paths) == len(rows)


def test_both_held_out_sets_are_read(figures):
    table = figures()["parrot_fig7"].table

    sets = ("heldout-without-text", "heldout-parrot")
    assert table.inputs["heldout"] == [
        f"manifests/posters/{name}/{part}.json" for name in sets for part in PARTS
    ]
    assert [(row["series"], row["curated"]) for row in table.relations["series"]] == [
        ("none", sets[0]),
        *((series, sets[1]) for series in ("raw", "co", "random_co", "all", "random_all")),
    ]


def test_the_caption_names_the_untrained_models(figures):
    # 3 of text, 2 by CoTR, 2 by RSA, 2 by RSC, each of two sizes, and the debiased one; the
    # evidence trains two of text
    one = figures({"grid": ["brief/random-8"]})["parrot_fig7"].caption

    assert " Not trained in this run: CoTR = 0, 8; CoTR ≥ 0.2, 8; " in one
    assert one.endswith(" and 4 more.")
    assert "Not trained" not in figures({"grid": None})["parrot_fig7"].caption


def test_recipes_are_named_if_there_are_several(figures):
    figure = figures({"recipes": ["brief", "brief-1"], "grid": ["brief-1/random-8"]})["parrot_fig7"]

    assert titles(figure, "models") == ["own", "random, 8, brief-1"]


def test_model_names_are_unique(figures):
    found = titles(
        figures({"recipes": ["brief", "brief-1"], "grid": None})["parrot_fig7"], "models"
    )

    assert len(set(found)) == len(found)
