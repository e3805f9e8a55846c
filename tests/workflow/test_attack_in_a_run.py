"""Class names printed on test images in a run: the plan and the table."""

import json

import polars as pl
import pytest
from microproject import copy_project, read
from parrotworld import SETTINGS
from tinyclip import write_shard

from clipaudit.corpora.shards import raw_samples

TABLE = "results_micro/tables/parrot_attack.json"
SIGNS = "  signs: {shards: signs.tar, captions: none, labels: symbols}\n"


def attacking(project, encoders, signs=()):
    """Return the project with an attack on a test set and on one whose images already have names.

    `signs` are samples whose printed class is the one after their label.
    """
    samples = [
        {**each.members, "json": json.dumps({"word": (int(each.members["cls"]) + 1) % 8}).encode()}
        for each in signs
    ]
    write_shard(project.folder / "signs.tar", samples)
    attack = f"  attack: {{test_sets: [val], stated: {{signs: word}}, encoders: [{encoders}]}}\n"
    project.edit(SETTINGS, "\narchitectures:", f"{SIGNS}\narchitectures:")
    project.edit(SETTINGS, "  examples: 2\n", f"{attack}  examples: 2\n")
    return project


@pytest.fixture(scope="module")
def attacked(tmp_path_factory):
    """Return a project that has trained one model and attacked it."""
    project = copy_project(tmp_path_factory.mktemp("attack") / "project")
    project.run(config=SETTINGS, target="data/words/val/00000.tar")
    attacking(project, "own", signs=raw_samples(project.folder / "data/words/val/00000.tar"))
    project.run(config=SETTINGS, target=f"{TABLE} results_micro/tasks/own/val.json")
    return project


def test_each_model_is_attacked_by_one_job_for_all_test_sets(fresh):
    project = attacking(fresh, "own, brief.random-8")

    output = project.run("--dry-run", config=SETTINGS, target=TABLE)

    counts = {line.split()[1] for line in output.splitlines() if line.startswith("attack ")}
    assert counts == {"2"}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_table_counts_the_predictions(attacked):
    images = read(attacked, "attacked/own/val")
    images = images.with_columns(right=pl.col("label") == pl.col("predicted"))
    right = images.pivot("variant", index=["shard", "row"], values="right")
    shares = right.select(pl.mean("plain", "control", "attacked")).row(0, named=True)

    (row,) = read(attacked, "tables/parrot_attack").filter(testset="val").to_dicts()

    assert row["images"] == len(right) == 24
    assert {variant: row[variant] for variant in shares} == shares
    assert row["harm"] == pytest.approx(shares["control"] - shares["attacked"], abs=1e-12)
    assert row["plain"] == (read(attacked, "tasks/own/val")["right_rank"] == 0).mean()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_images_with_printed_names_are_predicted_unchanged(attacked):
    signs = read(attacked, "attacked/own/signs")
    plain = read(attacked, "attacked/own/val").filter(variant="plain")

    (row,) = read(attacked, "tables/parrot_attack").filter(testset="signs").to_dicts()

    assert list(signs["predicted"]) == list(plain["predicted"])
    assert list(signs["printed"]) == list((signs["label"] + 1) % 8)
    assert row["named"] == (signs["predicted"] == signs["printed"]).mean()
    assert row["plain"] is row["control"] is row["harm"] is None
