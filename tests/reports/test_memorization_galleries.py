"""What the galleries of the memorization audit are made from, given the settings."""

from pathlib import Path

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.config.running import Report
from clipaudit.memorization.reports.galleries import memorization_galleries

DEMO = Path(__file__).parents[2] / "config/demo.yaml"


def demo():
    return parse_settings(read_settings(DEMO))


def test_every_public_set_has_a_gallery_and_the_first_is_the_papers_figure_1():
    assert list(memorization_galleries(demo())) == [
        "memorization_fig1_scenes",
        "memorization_fig11_small",
    ]


def test_tars_of_the_records_and_the_public_set_are_listed_once():
    galleries = memorization_galleries(demo())

    def corpora(name):
        return [each.corpus for each in galleries[name].sources.tars]

    assert corpora("memorization_fig1_scenes") == ["scenes", "album"]
    assert corpora("memorization_fig11_small") == ["scenes", "album", "small"]


def test_samples_are_read_for_their_uids_if_images_may_not_be_shown():
    hidden = demo().model_copy(update={"report": Report(pictures=False)})

    gallery = memorization_galleries(hidden)["memorization_fig1_scenes"]

    assert gallery.sources.tars == ()
    assert {"samples/scenes/00000.json", "samples/album/00000.json"} <= {*gallery.inputs["samples"]}


def test_captions_explain_the_share_of_the_hold_out_set_if_it_exists():
    settings = read_settings(DEMO)
    for source in settings["memorization"]["sources"].values():
        source.pop("holdout", None)

    def caption(run):
        return memorization_galleries(run)["memorization_fig1_scenes"].caption

    assert "in the hold-out, which no model was trained on" in caption(demo())
    assert "without a hold-out luck may explain it" in caption(parse_settings(settings))


def test_without_the_audit_there_are_no_galleries():
    run = demo().model_copy(update={"memorization": None})

    assert memorization_galleries(run) == {}
