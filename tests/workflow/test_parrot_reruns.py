"""What a changed setting or corpus changes in a run of the parrot audit, and what it does not."""

import shutil
from collections import Counter

import numpy as np
import pytest
from microproject import Project, read
from parrotworld import MADE, SETTINGS, pictures
from tinyclip import picture, write_shard


@pytest.fixture
def project(parroted, tmp_path):
    """Return a copy of the project with a profile, curated sets and one model, for changes."""
    folder = tmp_path / "project"
    shutil.copytree(parroted.folder, folder, symlinks=True)
    return Project(folder)


def add_corpus(project, name, shards):
    """Profile one more corpus, which no world generates."""
    project.edit(SETTINGS, "corpora: [posters, notices]", f"corpora: [posters, notices, {name}]")
    project.edit(SETTINGS, "\narchitectures:", f"  {name}: {{shards: {shards}}}\n\narchitectures:")


def suite(folder):
    """Write one of DataComp's tasks in CLIP_benchmark's form: twelve images of three classes."""
    rng = np.random.default_rng(0)
    samples = [{"cls": str(row % 3).encode(), "png": picture(rng)} for row in range(12)]
    (folder / "vtab/flowers/test").mkdir(parents=True)
    for name, text in {
        "classnames.txt": "rose\nlily\npoppy",
        "zeroshot_classification_templates.txt": "a photo of a {c}",
        "test/nshards.txt": "1",
    }.items():
        (folder / "vtab/flowers" / name).write_text(text)
    write_shard(folder / "vtab/flowers/test/0.tar", samples)


def test_a_set_larger_than_its_corpus_starts_no_job(project):
    project.edit(SETTINGS, "sizes: [8, 10]", "sizes: [8, 10, 10000]")
    before, target = project.computed(), "results_micro/curation_cuts/posters/with-text-10000.json"

    output = project.run(config=SETTINGS, target=target, ok=False)
    config = ("--configfile", SETTINGS, "--profile", "profiles/local")
    planned = project.clipaudit("plan", *config, target, ok=False)

    message = "parrot.curations.sizes: sets of 10,000 samples, but corpora.posters has at most 120"
    for told in (output, planned):
        assert message in told
        assert "Traceback" not in told
    assert project.computed() == before


def test_an_image_spotted_in_another_corpus_is_not_read_again(project):
    add_corpus(project, "again", "data/words/posters/00000.tar")

    project.run(config=SETTINGS, target="results_micro/spans/again/00000.json")

    again = read(project, "spans/again/*")
    posters = read(project, "spans/posters/*").filter(shard=0)
    assert again.equals(posters)
    log = (project.folder / "logs/spot/again/00000.log").read_text()
    assert f" of {len(again)} images show no text, {len(again)} were known" in log


def test_spotted_text_outlives_results_and_actions(project):
    before = project.digests()["spans/posters/00000.json"]
    shutil.rmtree(project.results)
    shutil.rmtree(project.store / "actions")

    project.run(config=SETTINGS, target="results_micro/spans/posters/00000.json")

    assert project.digests()["spans/posters/00000.json"] == before
    log = (project.folder / "logs/spot/posters/00000.log").read_text()
    assert " of 80 images show no text, 80 were known" in log


@pytest.mark.long
def test_a_changed_fuzzy_threshold_reads_and_trains_nothing(project):
    before, digests = project.computed(), project.digests()
    project.edit(SETTINGS, "  encoder: own\n", "  encoder: own\n  fuzzy_threshold: 0.2\n")

    model, table = "models/brief/cotr-0.2-8.json", "tables/parrot_table1.json"
    project.run(config=SETTINGS, target=f"results_micro/{model} results_micro/{table}")

    assert Counter(project.computed_steps(before)) == {
        "match": 3,
        "score_captions": 2,  # they read the matches, so any change counts
        "cut_curation": 7,  # of all training sets and the held-out ones
        "curate_together": 2,
        "compare_spotted": 3,
        "report_table": 1,
    }
    log = (project.folder / "logs/train/brief/cotr-0.2-8.log").read_text()
    assert "from the store" in log
    after = project.digests()
    assert after[table] != digests[table]
    assert after[model] == digests[model]


@pytest.mark.slow
def test_spans_that_samples_state_are_read_without_ocr(project):
    rng = np.random.default_rng(0)
    stated = b'{"spans": [{"text": "red cat", "bbox": [1, 2, 30, 8]}]}'
    texts = [{"json": stated, "txt": b"a cat"}, {"txt": b"a dog"}]
    write_shard(project.folder / "stated.tar", [{"png": picture(rng), **text} for text in texts])
    add_corpus(project, "stated", "stated.tar")
    project.edit(SETTINGS, "  encoder: own\n", "  encoder: own\n  spotting: {spotter: dataset}\n")

    before, parts = project.computed(), ("stated/00000", "posters/00000", "posters/00001")

    target = " ".join(f"results_micro/matches/{part}.json" for part in parts)
    project.run(config=SETTINGS, target=target)

    assert pictures(project, "stated")["words_co"].to_list() == [["cat"], []]
    assert set(pictures(project, "posters")["spans"]) == {0}  # their JSON has none
    assert "spot" not in project.computed_steps(before)


@pytest.mark.slow
def test_a_task_of_the_suite_is_listed_with_the_others(project):
    suite(project.folder / "suite")
    project.edit(SETTINGS, "  retrieval: [album]\n", "  suite: {folder: suite}\n")

    project.run(config=SETTINGS, target="results_micro/task_results/own.json")

    results = read(project, "task_results/own")
    ranks = read(project, "tasks/own/val")["right_rank"]
    main = read(project, "suite/own/vtab-flowers").filter("main")["value"]
    assert results["task"].to_list() == ["val", "vtab/flowers"]
    assert results["value"].to_list() == [(ranks == 0).mean(), main.item()]


def test_a_missing_suite_is_one_clear_error(project):
    project.edit(SETTINGS, "  examples: 2\n", "  examples: 2\n  suite: {folder: nowhere}\n")

    output = project.run("--dry-run", config=SETTINGS, target=MADE, ok=False)

    assert output.count("parrot.suite.folder: nowhere") == 1
    assert "Traceback" not in output
