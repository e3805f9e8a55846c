"""Which figures the probe and the tracks have, given the settings, and what they show."""

from pathlib import Path

import pytest

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.parrot.curated import model_encoder
from clipaudit.parrot.reports.probe_figures import probe_figures
from clipaudit.steps.reportfiles import report_file

MICRO = Path(__file__).parents[2] / "config/micro_parrot.yaml"
ALL = ("fig5a", "fig5b", "fig5c", "fig5d", "fig6", "fig9", "fig10")
TRACKS = ("fig11", "fig12")


@pytest.fixture
def figures():
    """A function: the figures of the micro audit, by short name, with some settings replaced."""

    def build(curations=None, **changes):
        settings = read_settings(MICRO)
        settings["parrot"] |= changes
        if curations is not None:
            settings["parrot"]["curations"] |= curations
        found = probe_figures(parse_settings(settings))
        return {name.removeprefix("parrot_"): figure for name, figure in found.items()}

    return build


def rows(figure, view, *names):
    return [tuple(row[name] for name in names) for row in figure.table.relations[view]]


def test_figures_have_the_order_of_the_paper(figures):
    assert tuple(figures()) == ALL + TRACKS


def test_without_the_audit_there_is_no_figure():
    settings = read_settings(MICRO)
    del settings["parrot"]

    assert probe_figures(parse_settings(settings)) == {}


def test_without_curations_pretrained_models_remain():
    settings = read_settings(MICRO)
    for name in ("curations", "evidence", "deduplication"):
        del settings["parrot"][name]

    found = probe_figures(parse_settings(settings))

    assert [name.removeprefix("parrot_") for name in found] == [*ALL[:4], "fig10"]


def test_one_size_has_no_figure_9(figures):
    found = figures({"sizes": [8], "grid": None})

    assert "fig6" in found
    assert "fig9" not in found


def test_a_vocabulary_that_is_not_requested_has_no_figure(figures):
    probe = {"side": 64, "type_size": 12, "most": 40}

    assert "fig5d" not in figures(probe=probe | {"lengths": [1]})
    assert tuple(figures(probe=probe | {"lengths": [2]})) == ("fig5d", *TRACKS)


def test_without_tasks_there_are_no_tracks(figures):
    assert tuple(figures(test_sets=[], retrieval=[])) == ALL


def test_every_figure_has_its_sql(figures):

    assert all(report_file("sql", f"{f.table.sql}.sql").is_file() for f in figures().values())


def test_both_vocabularies_are_probed_with_every_inspected_encoder(figures):
    figure = figures(encoders=["own"])["fig5d"]

    assert figure.table.inputs["probes"] == [
        "probes/own/posters/captions-2.json",
        "probes/own/posters/co-embedded-2.json",
    ]
    assert rows(figure, "series", "position", "encoder", "vocabulary") == [
        (0, "own", "captions-2"),
        (1, "own", "co-embedded-2"),
    ]


def test_figure_6_lists_the_sets_of_the_smallest_size_by_family(figures):
    figure = figures()["fig6"]

    assert rows(figure, "models", "group_title", "row_title") == [
        ("embedded text", "random"),
        ("embedded text", "w/o emb. text"),
        ("embedded text", "w/ emb. text only"),  # for the evidence
        ("CoTR", "CoTR ≥ 0.2"),
    ]


def test_a_caption_names_the_untrained_models(figures):
    sets = "CoTR = 0; RSA < 0.0; RSA ≥ 0.0; RSC < 0.0; RSC ≥ 0.0"

    assert figures()["fig6"].caption.endswith(f" Not trained in this run: {sets}.")
    assert "Not trained" not in figures({"grid": None})["fig6"].caption


def test_probes_outside_the_grid_are_not_read(figures):
    found = figures()

    assert found["fig9"].table.inputs["probes"] == [
        "probes/own/posters/captions-1.json",
        "probes/brief.with-text-10/posters/captions-1.json",
    ]
    assert found["fig9"].table.parameters == {"reference": "own"}
    assert len(found["fig6"].table.inputs["probes"]) == 5


def test_models_of_the_evidence_are_drawn_like_those_of_the_grid(figures):
    found = figures({"grid": [], "sizes": [8]})

    evidence = ["brief.without-text-8", "brief.with-text-8"]
    for name in ("fig6", "fig11"):
        assert [encoder for (encoder,) in rows(found[name], "models", "encoder")] == evidence
        assert "w/ emb. text" not in found[name].caption.partition("Not trained")[2]


def test_each_recipe_and_size_has_a_panel_of_tracks(figures):
    figure = figures({"recipes": ["brief", "brief-1"], "grid": None})["fig11"]

    panels = dict(rows(figure, "models", "panel_position", "panel_title"))
    assert panels == {0: "brief, 8", 1: "brief, 10", 2: "brief-1, 8", 3: "brief-1, 10"}
    (first, *_) = rows(figure, "models", "series_position", "series_title", "encoder")
    assert first == (0, "random", model_encoder("brief", "random-8"))
    assert len(figure.table.inputs["task_results"]) == 12


def test_a_family_without_a_trained_model_has_no_figure(figures):
    assert "fig13_rsc" not in figures()
    assert "fig13_rsc" in figures({"grid": None})


def test_a_family_without_sets_has_no_tracks(figures):
    assert "fig13_rsa" not in figures({"rsa": [], "grid": None})
