from pathlib import Path
from types import SimpleNamespace

import pytest

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.parrot.wiring import ParrotFiles
from clipaudit.reports.wiring import ReportFiles
from clipaudit.wiring.corpora import CorpusFiles
from clipaudit.wiring.models import ModelFiles

MICRO = Path(__file__).parents[2] / "config/micro_parrot.yaml"


@pytest.fixture
def files():
    run = parse_settings(read_settings(MICRO))
    corpora = CorpusFiles(run)
    return ParrotFiles(run.parrot, ModelFiles(corpora), ReportFiles(corpora))


def job(curated):
    return SimpleNamespace(corpus="posters", curated=curated, part="00000")


def test_held_out_sets_leave_out_none_and_others_leave_out_both(files):
    heldout, others = files.curated[0], files.curated[-1]

    assert files.held_out(job(heldout)) == []
    assert files.curate_inputs(job(heldout))["heldout"] == []
    assert [each["name"] for each in files.held_out(job(others))] == files.curated[:2]


def test_only_the_debiased_subset_reads_duplicates(files):
    reading = [name for name in files.curated if "duplicates" in files.curate_inputs(job(name))]

    assert reading == ["debiased"]
    assert files.duplicate_threshold(job("debiased")) == files.audit.deduplication.threshold
    assert files.duplicate_threshold(job(files.curated[0])) is None


def test_candidates_are_picked_by_what_the_debiased_subset_is_picked_by(files):
    picked = files.candidate_inputs(SimpleNamespace(corpus="posters", part="00000"))

    of_subset = files.curate_inputs(job("debiased"))
    assert picked == {name: of_subset[name] for name in picked}
    assert "scores" in picked


def test_a_vocabulary_is_named_by_its_source_and_the_words_of_a_gram(files):
    pairs = SimpleNamespace(vocabulary="co-embedded-2")

    assert (files.gram_source(pairs), files.gram_length(pairs)) == ("co-embedded", 2)
