"""What the galleries of the parrot audit are made from, given the settings."""

from pathlib import Path
from typing import get_args

import pytest

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.config.running import Report
from clipaudit.parrot.reports.galleries import parrot_galleries
from clipaudit.parrot.spotted_options import What

MICRO = Path(__file__).parents[2] / "config/micro_parrot.yaml"


@pytest.fixture
def run():
    return parse_settings(read_settings(MICRO))


def test_every_corpus_has_the_images_of_figure_1_and_the_first_has_the_others(run):
    assert list(parrot_galleries(run)) == [
        "parrot_fig1_posters_pictures",
        "parrot_fig1_notices_pictures",
        "parrot_fig2",
        "parrot_fig8",
        "parrot_fig14_posters",
        "parrot_fig15",
    ]


def test_tars_and_tables_belong_to_the_shown_corpora(run):
    galleries = parrot_galleries(run)

    figure = galleries["parrot_fig15"]
    assert [each.corpus for each in figure.sources.tars] == ["posters", "notices"]
    assert figure.inputs["scores"] == [
        "caption_scores/own/posters/00000.json",
        "caption_scores/own/posters/00001.json",
        "caption_scores/own/notices/00000.json",
    ]
    assert [each.shards for each in figure.sources.tars] == [3, 1]


def test_without_permission_to_show_images_no_tar_is_read_and_no_mark_is_mentioned(run):
    hidden = run.model_copy(update={"report": Report(pictures=False)})

    for name, gallery in parrot_galleries(hidden).items():
        before = parrot_galleries(run)[name]
        assert (gallery.sources.tars, gallery.inputs) == ((), before.inputs)
        assert "Spotted text" not in gallery.caption
        assert "uids" in gallery.caption


def test_cluster_assignments_are_read_only_for_cluster_galleries(run):
    galleries = parrot_galleries(run)

    reading = [name for name, gallery in galleries.items() if "placed" in gallery.inputs]
    assert reading == ["parrot_fig14_posters"]


def test_lists_are_known_and_have_the_length_in_the_settings(run):
    galleries = parrot_galleries(run)

    lists = [each for gallery in galleries.values() for each in gallery.options.lists]
    assert {each.what for each in lists} == set(get_args(What))
    assert {each.count for each in galleries["parrot_fig8"].options.lists} == {2}


def test_without_the_audit_there_are_no_galleries(run):
    assert parrot_galleries(run.model_copy(update={"parrot": None})) == {}
