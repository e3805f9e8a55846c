"""A run with two seeds and random sets; test_recomputed.py recomputes its tables by polars."""

import json

import pytest
from microproject import read
from seededworld import BASES, SETTINGS, TABLES, WEB

pytestmark = pytest.mark.slow


def size(project, pruning):
    return read(project, f"manifests/large/{pruning}/*")["kept"].sum()


def test_the_random_set_has_the_size_of_the_pruned_one_but_other_samples_each_seed(seeded):
    assert size(seeded, "deduplicated.random-as-sketch") == size(
        seeded, "deduplicated.sketch-pruned"
    )
    digests = seeded.digests()
    whats = ("sketch-pruned", "random-as-sketch", "random-draw-2-as-sketch")
    assert len({digests[f"sealed/{WEB}.{what}.json"] for what in whats}) == 3


def test_seeds_give_different_models_and_the_first_equals_a_single_seed_run(seeded, finished):
    first, second = (
        f"models/{recipe}/{BASES['similarity_table1']}.json" for recipe in ("brief", "brief.seed-1")
    )

    assert seeded.digests()[first] == finished.digests()[first]
    assert seeded.digests()[second] != seeded.digests()[first]


def test_the_plan_counts_the_training_runs(seeded):
    asked = ("plan", "--configfile", "config/micro.yaml", *SETTINGS, "--format", "json")
    jobs = json.loads(seeded.clipaudit(*asked, *TABLES.split()))["jobs"]

    # four sets and two random ones, twice; a core set; the encoder
    assert [job["rule"] for job in jobs].count("train") == 14
