from pathlib import Path
from types import SimpleNamespace

import pytest

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.parrot.curated import HELDOUT
from clipaudit.parrot.reports.curated import curated_tables
from clipaudit.parrot.reports.inspected_figures import inspected_figures
from clipaudit.parrot.reports.probe_figures import probe_figures
from clipaudit.parrot.reports.profile import profile_tables
from clipaudit.parrot.wiring import ParrotFiles
from clipaudit.reports.wiring import ReportFiles
from clipaudit.wiring.corpora import CorpusFiles
from clipaudit.wiring.models import ModelFiles

MICRO = Path(__file__).parents[2] / "config/micro_parrot.yaml"


def files_of(settings):
    run = parse_settings(settings)
    corpora = CorpusFiles(run)
    return ParrotFiles(run.parrot, ModelFiles(corpora), ReportFiles(corpora))


@pytest.fixture
def files():
    return files_of(read_settings(MICRO))


def job(curated):
    return SimpleNamespace(corpus="posters", curated=curated, part="00000")


def test_held_out_sets_exclude_nothing_and_other_sets_exclude_both(files):
    heldout, others = files.curated[0], files.curated[-1]

    assert files.held_out(job(heldout)) == []
    assert files.curate_inputs(job(heldout))["heldout"] == []
    assert [each["name"] for each in files.held_out(job(others))] == files.curated[:2]


def test_only_the_debiased_subset_reads_duplicates(files):
    reading = [name for name in files.curated if "duplicates" in files.curate_inputs(job(name))]

    assert reading == ["debiased"]
    assert files.duplicate_threshold(job("debiased")) == files.audit.deduplication.threshold
    assert files.duplicate_threshold(job(files.curated[0])) is None


def test_candidates_and_the_debiased_subset_are_selected_from_the_same_inputs(files):
    picked = files.candidate_inputs(SimpleNamespace(corpus="posters", part="00000"))

    of_subset = files.curate_inputs(job("debiased"))
    assert picked == {name: of_subset[name] for name in picked}
    assert "scores" in picked


def test_a_vocabulary_is_named_after_its_source_and_the_words_per_gram(files):
    pairs = SimpleNamespace(vocabulary="co-embedded-2")

    assert (files.gram_source(pairs), files.gram_length(pairs)) == ("co-embedded", 2)


def test_sets_for_trained_models_are_curated_together_except_the_debiased_subset(files):
    part = SimpleNamespace(corpus="posters", part="00001")

    inputs = files.inputs_of(files.together)(part)

    assert set(files.together) == {
        "random-8", "without-text-8", "with-text-8", "cotr-0.2-8", "with-text-10"
    }  # fmt: skip
    assert inputs["cotr-0.2-8_cut"] == ["results_micro/curation_cuts/posters/cotr-0.2-8.json"]
    assert inputs["scores"] == ["results_micro/caption_scores/own/posters/00001.json"]
    assert not {*files.together, *HELDOUT} & {*files.apart}
    assert {*files.together, *HELDOUT, *files.apart} == {*files.curated}


def test_held_out_sets_are_curated_by_scores_and_exclude_nothing(files):
    inputs = files.inputs_of(HELDOUT)(SimpleNamespace(corpus="posters", part="00000"))

    assert "scores" in inputs
    assert inputs["heldout"] == []


def test_a_repacked_control_reads_all_parts_of_its_set():
    settings = read_settings(MICRO)
    settings["parrot"]["curations"]["controls"] = ["erased", "swapped"]
    files = files_of(settings)
    erased, swapped = (
        SimpleNamespace(manifest=f"cotr-0.2-8.{control}") for control in ("erased", "swapped")
    )

    inputs = files.repack_inputs(erased)

    assert inputs["manifests"] == [
        f"results_micro/manifests/posters/cotr-0.2-8/{part}.json" for part in ("00000", "00001")
    ]
    assert inputs["collected"] == [
        f"results_micro/collected/posters/{part}.json" for part in ("00000", "00001")
    ]
    assert files.repacked_erasing(erased)["radius"] == files.audit.erasing.radius
    assert files.repacked_erasing(swapped) is None
    assert files.repack_libraries(swapped) == []


def test_a_given_vocabulary_replaces_all_counted_ones():
    content = read_settings(MICRO)
    content["parrot"]["probe"]["vocabulary"] = "words.txt"

    files = files_of(content)

    assert files.vocabularies == ["given-1", "given-2"]
    assert files.given_vocabulary() == ["words.txt"]
    figures = probe_figures(files.run)
    inputs = {str(each) for figure in figures.values() for each in figure.table.inputs.values()}
    assert any("given-1" in each for each in inputs)
    assert not any("captions-1" in each for each in inputs)
    assert "the given vocabulary" in figures["parrot_fig10"].caption


def test_a_split_has_as_many_captions_per_image_as_its_source():
    content = read_settings(MICRO)
    content["corpora"]["half"] = {"of": "album", "where": "row < 8"}
    files = files_of(content)

    for corpus in ("album", "half"):
        assert files.several_captions(SimpleNamespace(corpus=corpus))
    assert not files.several_captions(SimpleNamespace(corpus="posters"))


def test_probed_encoders_appear_in_probe_figures_and_score_no_captions():
    content = read_settings(MICRO)
    content["encoders"]["extra"] = {"model": "brief-1/posters"}
    content["parrot"]["probed"] = ["extra"]

    run = files_of(content).run

    found = {**probe_figures(run), **inspected_figures(run)}
    tables = {**curated_tables(run), **profile_tables(run)}
    naming = [name for name, each in found.items() if "extra" in str(each.table)]
    naming += [name for name, each in tables.items() if "extra" in str(each.inputs)]
    assert naming == ["parrot_fig5b", "parrot_fig5c", "parrot_fig5d", "parrot_table8"]
    assert "caption_scores/extra" not in str([*found.values(), *tables.values()])
