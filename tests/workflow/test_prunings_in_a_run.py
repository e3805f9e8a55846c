"""A run with another encoder and a dose response, with its prunings recomputed by pandas."""

import json

import pandas as pd
import pytest

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


def read(project, folder):
    files = sorted((project.results / folder).glob("*.parquet"))
    return pd.concat(map(pd.read_parquet, files))


def kept(project, pruning):
    rows = read(project, f"manifests/large/{pruning}")
    return set(rows[rows.kept][["shard", "row"]].itertuples(index=False, name=None))


def pruned_by(project, encoder, testset):
    rows = read(project, f"similarities/{encoder}/large")
    rows = rows[(rows.testset == testset) & (rows.gap_similarity > rows.gap)]
    return set(rows[["shard", "row"]].itertuples(index=False, name=None))


def test_table_5_counts_what_each_encoder_prunes(compared):
    base = kept(compared, "deduplicated")
    table = pd.read_parquet(compared.results / "tables/similarity_table5.parquet")

    assert list(table.testset) == ["val", "sketch"]
    for row in table.itertuples():
        own, other = (
            base & pruned_by(compared, name, row.testset) for name in ("own", "thumbnail")
        )
        found = (row.by_both, row.by_first_alone, row.by_other_alone, row.by_neither)
        assert found == tuple(map(len, (own & other, own - other, other - own, base - own - other)))
        assert row.samples == len(base)
    assert table.by_other_alone.sum() > 0


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
    rows = read(compared, "similarities/own/large")
    rows = rows[(rows.testset == "sketch") & (rows.gap_similarity - rows.gap > MARGINS[0])]
    beyond = set(rows[["shard", "row"]].itertuples(index=False, name=None))

    assert kept(compared, "deduplicated.sketch-minus-2e-05-pruned") == (
        kept(compared, "deduplicated") - beyond
    )


def test_the_figure_has_an_accuracy_of_both_arms_at_each_margin(compared):
    table = pd.read_parquet(compared.results / "figures/similarity_dose_response.parquet")

    assert len(table) == 2 * 2 * 4  # test sets, arms, margins with the unpruned set
    assert table.accuracy.notna().all()
    removed = table.pivot_table(
        index="panel_position", columns="pruning", values="removed", aggfunc=list
    )
    assert (removed.near == removed["rand"]).all()
