from pathlib import Path

import pytest

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.reports.gallery_options import Sources
from clipaudit.similarity.reports.galleries import similarity_galleries

ROOT = Path(__file__).parents[2]


@pytest.fixture
def settings():
    return read_settings(ROOT / "config/demo.yaml")


def test_every_test_set_has_a_gallery_before_and_after_pruning(settings):
    run = parse_settings(settings)

    names = list(similarity_galleries(run))

    sets = run.similarity.test_sets
    assert names[:2] == ["similarity_fig1", "similarity_fig2"]
    assert names[2:] == [f"similarity_fig{n}_{name}" for n in (15, 21) for name in sets]


def test_figure_1_shows_the_main_test_sets(settings):
    settings["similarity"]["main_sets"] = ["sketch", "r"]

    gallery = similarity_galleries(parse_settings(settings))["similarity_fig1"]

    assert [shown.corpus for shown in gallery.options.testsets] == ["sketch", "r"]


def test_without_the_section_there_are_no_galleries(settings):
    settings["similarity"]["galleries"] = None

    assert similarity_galleries(parse_settings(settings)) == {}


def test_a_gallery_after_pruning_shows_the_remaining_images(settings):
    gallery = similarity_galleries(parse_settings(settings))["similarity_fig21_sketch"]

    assert gallery.inputs["neighbors"] == [
        "neighbors/own/small.json",
        "kept_neighbors/own/deduplicated/large.json",
        "kept_neighbors/own/sketch-pruned/large.json",
    ]
    assert gallery.options.nearer == (1, 0)  # nearer to the web set than to the small


def test_without_permission_to_show_images_there_are_uids_and_no_tars(settings):
    run = parse_settings(settings | {"report": {"pictures": False}})

    for name, gallery in similarity_galleries(run).items():
        before = similarity_galleries(parse_settings(settings))[name]
        assert gallery.options == before.options
        assert gallery.sources == Sources(pictures=False, tars=())
        assert gallery.inputs.keys() - before.inputs.keys() == {"samples"}
        shown = {path.split("/")[1] for path in gallery.inputs["samples"]}
        assert shown == {each.corpus for each in before.sources.tars}


def test_the_settings_count_the_tars_of_each_corpus(settings):
    run = parse_settings(settings)

    for gallery in similarity_galleries(run).values():
        assert gallery.sources.tars
        for each in gallery.sources.tars:
            assert each.shards == len(run.shards(each.corpus))
