"""The report's numbers once more, by pandas, from the Parquet files that a run leaves."""

import numpy as np
import pandas as pd
import pytest
from plaincosines import plain_cosines

LARGE = "large"
START = "deduplicated"
WEB = "large-deduplicated"
TEST_SETS = ("val", "sketch")
PARTS = ("00000", "00001")


def read(project, pattern):
    files = sorted(project.results.glob(f"{pattern}.parquet"))
    assert files, pattern
    return pd.concat([pd.read_parquet(file) for file in files], ignore_index=True)


def kept(project, corpus, pruning):
    return read(project, f"manifests/{corpus}/{pruning}/*").kept.sum()


def nearest(project, path):
    """Each test sample's highest similarity, from all parts rather than the merged table."""
    rows = read(project, f"{path}/*")
    keys = ["testset", "test_shard", "test_row"]
    return rows.astype({"testset": str}).groupby(keys).similarity.max()


def table(project, name):
    return pd.read_parquet(project.results / f"tables/similarity_{name}.parquet")


@pytest.mark.parametrize("pruning", ["sketch-pruned", "val-pruned"])
def test_table_1_is_what_its_predictions_and_manifests_say(finished, pruning):
    rows = table(finished, "table1")
    manifest = f"{WEB}-and-small.{pruning}"
    for row in rows[rows.manifest == manifest].itertuples():
        found = read(finished, f"predictions/brief/{manifest}/{row.testset}")
        base = read(finished, f"predictions/brief/{WEB}-and-small/{row.testset}")
        right, was = (found.right_rank == 0).mean(), (base.right_rank == 0).mean()

        assert row.accuracy == right
        assert (row.relative_change == pytest.approx(right / was - 1)) if was else True
        lost = kept(finished, LARGE, START) - kept(finished, LARGE, f"{START}.{pruning}")
        assert row.removed == lost
        assert row.size == kept(finished, LARGE, f"{START}.{pruning}") + kept(
            finished, "small", "all"
        )


def test_table_2_counts_no_near_duplicates_by_an_encoder_that_tells_nothing_apart(finished):
    """This world's encoder is not trained: each of its pairs would be near duplicates."""
    for row in table(finished, "table2").itertuples():
        similarity = nearest(finished, f"neighbors/own/{row.corpus}")[row.testset]
        (check,) = read(finished, f"encoder_checks/own/{row.testset}").itertuples()

        assert (1 - similarity < 0.05).all()
        assert check.collapsed
        assert np.isnan(row.near_duplicates)
        assert row.note == "the encoder tells nothing apart"
        assert row.images == len(similarity)


def test_the_check_of_an_encoder_compares_its_embeddings(finished):
    rows = read(finished, "embeddings/own/sketch/*").embedding
    vectors = np.stack([np.frombuffer(value, "<f2") for value in rows]).astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    (check,) = read(finished, "encoder_checks/own/sketch").itertuples()
    shown = table(finished, "encoders").set_index("testset").loc["sketch"]

    pairs = (vectors @ vectors.T)[np.triu_indices(len(vectors), 1)]

    assert check.samples == len(vectors)
    assert check.random_mean == pytest.approx(pairs.mean())
    assert shown.random_q50 == check.random_q50 == pytest.approx(np.median(pairs))


def test_table_6_counts_the_samples_near_the_gap(finished):
    gaps = nearest(finished, "neighbors/own/small").rename("gap").reset_index()
    for row in table(finished, "table6").itertuples():
        similar = read(finished, f"similarities/own/{row.corpus}/*").astype({"testset": str})
        similar = similar[similar.testset == row.testset].merge(
            gaps, on=["testset", "test_shard", "test_row"], suffixes=("", "_small")
        )
        pruning = "all" if row.corpus == "small" else f"{START}.{row.testset}-pruned"
        manifest = read(finished, f"manifests/{row.corpus}/{pruning}/*")[["shard", "row", "kept"]]
        both = similar.merge(manifest, on=["shard", "row"])
        near = both.kept & (both.gap_small > 0) & (both.similarity / both.gap_small > 0.9)

        assert row.near_gap == near.sum()


def test_table_7_compares_both_nearest_neighbours(finished):
    small = nearest(finished, "neighbors/own/small")
    whole = nearest(finished, "neighbors/own/large")
    web = nearest(finished, f"kept_neighbors/own/{START}/large")
    rows = table(finished, "table7")
    for name in TEST_SETS:
        shares = rows[rows.testset == name].share.tolist()

        assert shares == [(whole[name] > small[name]).mean(), (web[name] > small[name]).mean()]


def test_the_deduplication_table_counts_removal_similarities(finished):
    similarity = read(finished, "duplicates/own/large/*").similarity
    for row in table(finished, "deduplication").itertuples():
        assert row.removed == (similarity > row.threshold).sum()
        assert row.kept + row.removed == len(similarity)


def test_no_kept_neighbour_is_nearer_than_the_gap(finished):
    """And the nearest kept one is found anew here, among all embeddings."""
    embeddings = read(finished, "embeddings/own/large/*")
    manifest = read(finished, f"manifests/large/{START}.sketch-pruned/*")
    rows = embeddings.merge(manifest[manifest.kept], on=["shard", "row"])
    tests = read(finished, "embeddings/own/sketch/*")
    train, test = (
        np.stack([np.frombuffer(value, "<f2") for value in table.embedding])
        for table in (rows, tests)
    )
    best = plain_cosines(test, train).max(axis=1)

    gaps = nearest(finished, "neighbors/own/small")["sketch"].to_numpy()
    found = nearest(finished, "kept_neighbors/own/sketch-pruned/large")["sketch"].to_numpy()
    check = table(finished, "gap_check")
    (row,) = check[(check.search == "sketch-pruned") & (check.testset == "sketch")].itertuples()

    np.testing.assert_array_equal(found, best)
    assert (found <= gaps).all()
    assert (row.above, row.below, row.ties) == (0, (found < gaps).sum(), (found == gaps).sum())


def test_near_and_far_of_half_the_samples_part_them(project):
    folders = [f"manifests/large/{START}.sketch-{order}-50pct" for order in ("near", "far")]
    parts = [f"results_micro/{folder}/{part}.json" for folder in folders for part in PARTS]
    project.run(target=" ".join(parts))

    near, far = (read(project, f"{folder}/*") for folder in folders)
    base = read(project, f"manifests/large/{START}/*").kept

    assert ((near.kept | far.kept) == base).all()
    overlap = (near.kept & far.kept).sum()  # half of an odd number is rounded
    assert overlap == near.kept.sum() + far.kept.sum() - base.sum() <= 1
