"""A run with two seeds and random sets, its Tables 1 and 4 once more by pandas."""

import json

import pandas as pd
import pytest

WEB = "large-deduplicated"
BASES = {"similarity_table1": f"{WEB}-and-small", "similarity_table4": WEB}
TABLES = " ".join(f"results_micro/tables/{name}.json" for name in BASES)
GRID = [name for base in BASES.values() for name in (base, f"{base}.sketch-pruned")]
SEEDS = {"seeds": 2, "with_small": [True, False], "grid": GRID}
SETTINGS = ("--config", f"similarity={json.dumps(SEEDS)}")


@pytest.fixture(scope="module")
def seeded(made_once, finished):
    return made_once("seeded", *SETTINGS, start=finished, target=TABLES)


def mean_accuracy(project, manifest, testset):
    """Of two seeds: the mean over all predictions of both."""
    paths = [
        project.results / f"predictions/{recipe}/{manifest}/{testset}.parquet"
        for recipe in ("brief", "brief.seed-1")
    ]
    return (pd.concat(map(pd.read_parquet, paths)).right_rank == 0).mean()


def size(project, pruning):
    parts = (project.results / f"manifests/large/{pruning}").glob("*.parquet")
    return pd.concat(map(pd.read_parquet, parts)).kept.sum()


@pytest.mark.parametrize("name", BASES)
def test_a_table_of_two_seeds_is_what_the_predictions_say(seeded, name):
    table = pd.read_parquet(seeded.results / f"tables/{name}.parquet")
    shown = table[(table.recipe == "brief") & table.in_grid]

    pruned = {f"{BASES[name]}.{what}" for what in ("sketch-pruned", "random-as-sketch")}
    assert {BASES[name], *pruned} <= set(shown.manifest)
    assert set(shown.seeds) == {2}
    for row in shown.itertuples():
        accuracy = mean_accuracy(seeded, row.manifest, row.testset)
        assert row.accuracy == pytest.approx(accuracy, abs=1e-12)
        for other, change in ((row.baseline, "relative"), (row.control, "control")):
            base = mean_accuracy(seeded, other, row.testset) if pd.notna(other) else 0
            if base:
                assert getattr(row, f"{change}_change") == pytest.approx(accuracy / base - 1)


def test_the_random_set_is_as_large_as_the_pruned_one_and_another(seeded):
    assert size(seeded, "deduplicated.random-as-sketch") == size(
        seeded, "deduplicated.sketch-pruned"
    )
    digests = seeded.digests()
    pruned, random = (
        digests[f"sealed/{WEB}.{what}.json"] for what in ("sketch-pruned", "random-as-sketch")
    )
    assert pruned != random


def test_seeds_give_different_models_and_the_first_is_the_one_of_a_single_seed(seeded, finished):
    first, second = (
        f"models/{recipe}/{BASES['similarity_table1']}.json" for recipe in ("brief", "brief.seed-1")
    )

    assert seeded.digests()[first] == finished.digests()[first]
    assert seeded.digests()[second] != seeded.digests()[first]


def test_the_plan_counts_the_trainings(seeded):
    asked = ("plan", "--configfile", "config/micro.yaml", *SETTINGS, "--format", "json")
    jobs = json.loads(seeded.clipaudit(*asked, *TABLES.split()))["jobs"]

    # four sets and two random ones, twice; the encoder
    assert [job["rule"] for job in jobs].count("train") == 13
