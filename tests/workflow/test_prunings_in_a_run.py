"""A run with another encoder and a dose response, with its prunings recomputed by polars."""

import json

import numpy as np
import polars as pl
import pytest
from microproject import read

pytestmark = pytest.mark.slow
MARGINS = (-2e-5, 1e-4)  # the encoder is not trained: similarities are close together
SETTINGS = {
    "encoders": {"thumbnail": {"plugin": "pillow"}},
    "similarity": {
        "other_encoders": ["thumbnail"],
        "dose_response": {"test_set": "sketch", "margins": MARGINS},
    },
}
TARGETS = (
    "results_micro/tables/similarity_table5.json "
    "results_micro/figures/similarity_dose_response.json"
)
WHATS = ("sketch-plus-0-0001", "sketch", "sketch-minus-2e-05")


@pytest.fixture(scope="module")
def compared(made_once, finished):
    config = [f"{name}={json.dumps(value)}" for name, value in SETTINGS.items()]
    return made_once("compared", "--config", *config, start=finished, target=TARGETS)


def addresses(rows):
    return set(rows.select("shard", "row").iter_rows())


def kept(project, pruning):
    return addresses(read(project, f"manifests/large/{pruning}/*").filter("kept"))


def pruned_by(project, encoder, testset):
    rows = read(project, f"similarities/{encoder}/large/*").filter(testset=testset)
    return addresses(rows.filter(pl.col("gap_similarity") > pl.col("gap")))


def test_table_5_counts_what_each_encoder_prunes(compared):
    base = kept(compared, "deduplicated")
    table = read(compared, "tables/similarity_table5")

    assert list(table["testset"]) == ["val", "sketch"]
    for row in table.iter_rows(named=True):
        own, other = (
            base & pruned_by(compared, name, row["testset"]) for name in ("own", "thumbnail")
        )
        found = [row[f"by_{who}"] for who in ("both", "first_alone", "other_alone", "neither")]
        assert found == [*map(len, (own & other, own - other, other - own, base - own - other))]
        assert row["samples"] == len(base)
    assert table["by_other_alone"].sum() > 0


def test_the_set_pruned_to_the_gap_itself_has_the_same_bytes_as_without_margins(compared, finished):
    for part in ("00000", "00001"):
        name = f"manifests/large/deduplicated.sketch-pruned/{part}.json"
        assert compared.digests()[name] == finished.digests()[name]


def test_lower_margins_prune_more_and_random_sets_have_the_same_sizes(compared):
    sets = [kept(compared, f"deduplicated.{what}-pruned") for what in WHATS]

    assert sets[0] >= sets[1] > sets[2]
    random = [kept(compared, f"deduplicated.random-as-{what}") for what in WHATS]
    assert list(map(len, random)) == list(map(len, sets))


def test_a_shifted_pruning_removes_samples_beyond_the_shifted_gap(compared):
    rows = read(compared, "similarities/own/large/*").filter(testset="sketch")
    beyond = addresses(rows.filter(pl.col("gap_similarity") - pl.col("gap") > MARGINS[0]))

    assert kept(compared, "deduplicated.sketch-minus-2e-05-pruned") == (
        kept(compared, "deduplicated") - beyond
    )


def test_the_figure_has_an_accuracy_of_both_arms_at_each_margin(compared):
    table = read(compared, "figures/similarity_dose_response")

    assert len(table) == 2 * 2 * 4  # test sets, arms, margins with the unpruned set
    assert np.isfinite(table["accuracy"].to_numpy()).all()
    removed = table.select("pruning", "panel_position", "removed")
    near, rand = (removed.filter(pruning=arm).drop("pruning") for arm in ("near", "rand"))
    assert len(near) == 2 * 4
    assert near.equals(rand, null_equal=False)
