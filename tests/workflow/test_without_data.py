"""Plans of runs whose data is not here, such as the papers' settings, on any laptop."""

import os

import pytest

PLAN = ("--dry-run", "--config", "without_data=true")
MOST_MEGABYTES = 2_000


@pytest.fixture
def absent(fresh):
    """Return a project whose settings name a missing shard."""
    fresh.use_own_shard(b"")
    (fresh.folder / "own.tar").unlink()
    return fresh


def test_absent_data_is_named_unless_only_a_plan_is_requested(absent):
    assert "corpora.large.shards: own.tar" in absent.run("--dry-run", ok=False)
    assert "index" in absent.run(*PLAN)


def test_a_run_without_data_computes_nothing(absent):
    target = "results_micro/samples/large/00000.json"

    output = absent.run("--config", "without_data=true", target=target, ok=False)

    assert "without_data, which is only for plans: nothing is computed" in output
    assert not absent.computed()


def test_the_demo_is_planned_without_errors(fresh):
    output = fresh.run("--dry-run", "--quiet", "rules", config="config/demo.yaml")

    assert "report_table" in output
    assert "Exception" not in output


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings", ["config/laion400m.yaml", "config/dejavu.yaml", "config/dejavu_small.yaml"]
)
def test_a_papers_run_is_planned_within_two_gigabytes(fresh, settings):
    planning = fresh.start(*PLAN, "--quiet", "rules", config=settings, target="all_tables")
    with planning.stdout:
        output = planning.stdout.read()

    _, status, used = os.wait4(planning.pid, 0)  # by itself, not the largest of all children
    planning.returncode = os.waitstatus_to_exitcode(status)
    assert planning.returncode == 0, output
    assert "report_table" in output
    assert used.ru_maxrss < MOST_MEGABYTES * 1024


TARGETS = """\
architectures: {b32: {open_clip: ViT-B-32}}
encoders:
  mine: {architecture: b32, pretrained: laion400m_e32}
  other: {architecture: b32, pretrained: openai}
corpora: {pairs: {shards: "data/pairs/{00000..00003}.tar"}}
memorization:
  sources: {pairs: {train: 1_000, holdout: 1_000}}
  targets: [mine]
  reference: other
  augmented: 4
  augmented_pictures: 2
"""


def test_targets_are_planned_without_training_or_object_detection(fresh):
    (fresh.folder / "targets.yaml").write_text(TARGETS)

    output = fresh.run(*PLAN, config="targets.yaml")

    words = set(output.split())
    assert {"pair_test", "score_pairs", "score_augmented"} <= words
    assert {"embed_augmented_pictures", "score_augmented_pictures"} <= words
    assert not {"train", "detect", "count_objects"} & words


def test_default_models_of_all_seeds_get_pair_tests(fresh):
    settings = "config/micro_memorization.yaml"
    fresh.edit(settings, "recipe: brief-scenes", "recipe: brief-scenes\n  seeds: 2")
    fresh.edit(settings, "scenes: {train: 0.2,", "scenes: {train: 0.2, sizes: [0.1],")
    fresh.edit(settings, "grid: []", "grid: [size-10pct]")

    output = fresh.run(*PLAN, config=settings)

    jobs = dict(line.split() for line in output.splitlines() if len(line.split()) == 2)
    assert jobs["pair_tests_over_seeds"] == "2"  # sources
    assert jobs["pair_test"] == "12"  # both sources, both models of two seeds and one more size
    assert jobs["one_model_over_seeds"] == "2"
    assert jobs["one_model"] == "4"  # both sources, the model of A of two seeds


def test_given_spans_are_planned_without_reading_images(fresh):
    settings = "config/micro_parrot.yaml"
    given = "{posters: {files: p.parquet, join_on: uid}, notices: {files: n.jsonl}}"
    asked = f"  spotting: {{spotter: given, given: {given}}}\n  encoder: own\n"
    fresh.edit(settings, "  encoder: own\n", asked)

    words = set(fresh.run(*PLAN, config=settings, target="all_tables").split())

    assert {"sort_spans", "take_spans", "match"} <= words
    assert not {"spot", "read_spans"} & words


def test_given_scores_are_sorted_once_for_the_sets_chosen_by_them(fresh):
    settings, files = "config/micro_parrot.yaml", "{files: 's-{0..1}.parquet', join_on: uid}"
    asked = f"    filters: [stated, text]\n    filter_scores: {files}\n    filter_words: w.txt\n"
    fresh.edit(settings, "    rates: [0.2]\n", f"    rates: [0.2]\n{asked}")
    fresh.edit(settings, "grid: [", "grid: [brief/top-stated-8, brief/text-based-8, ")

    planned = fresh.run(*PLAN, config=settings, target="all_tables")

    jobs = dict(line.split() for line in planned.splitlines() if len(line.split()) == 2)
    assert (jobs["sort_scores"], jobs["curate"]) == ("1", "6")


def test_a_given_vocabulary_is_planned_without_counting_grams(fresh):
    settings = "config/micro_parrot.yaml"
    fresh.edit(settings, "most: 40}", "most: 40, vocabulary: words.txt}")

    words = set(fresh.run(*PLAN, config=settings, target="all_tables all_figures").split())

    assert {"read_grams", "probe"} <= words
    assert not {"count_grams", "merge_grams"} & words
