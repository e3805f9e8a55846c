"""The report's numbers recomputed by pandas from the Parquet files of a run."""

from functools import partial
from math import sqrt

import numpy as np
import pandas as pd
import pytest
import yaml
from givenembeddings import block, give_embeddings
from microproject import read
from plaincosines import plain_cosines
from scipy import stats

LARGE = "large"
START = "deduplicated"
CORPORA = (LARGE, "small", "val", "sketch")
TEST_SETS = ("val", "sketch")
PARTS = ("00000", "00001")
SLOW = pytest.mark.slow  # needs its own run
SEEDS = {"finished": ["brief"], "seeded": ["brief", "brief.seed-1"]}  # recipes of each run
IMAGE = ["shard", "row"]
CLOSE = partial(pytest.approx, rel=1e-9, abs=1e-9, nan_ok=True)
TOLD_APART = ("encoders", "table2", "table5", "table6", "table7", "gap_check", "deduplication")


def kept(project, corpus, pruning):
    return read(project, f"manifests/{corpus}/{pruning}/*").kept.sum()


def train_set_size(project, manifest):
    """Return how many samples a manifest keeps, from its name: base[-and-small][.what]."""
    start, _, what = manifest.partition(".")
    base = START if START in start else "all"
    size = 0 if start == "small" else kept(project, LARGE, f"{base}.{what}" if what else base)
    return size + (kept(project, "small", "all") if start.endswith("small") else 0)


def nearest(project, path):
    """Return each test sample's highest similarity, from all parts instead of the merged table."""
    rows = read(project, f"{path}/*")
    keys = ["testset", "test_shard", "test_row"]
    return rows.astype({"testset": str}).groupby(keys).similarity.max()


def table(project, name):
    return pd.read_parquet(project.results / f"tables/similarity_{name}.parquet")


def answers(project, recipe, manifest, testset):
    """Return whether a model is right, by image."""
    found = read(project, f"predictions/{recipe}/{manifest}/{testset}")
    return found.set_index(IMAGE).right_rank == 0


def exact_bounds(correct, images):
    """Return Clopper and Pearson's interval, also for a mean count."""
    low = stats.beta.ppf(0.025, correct, images - correct + 1) if correct else 0
    high = stats.beta.ppf(0.975, correct + 1, images - correct) if correct < images else 1
    return low, high


def bounds_over_seeds(correct, images):
    """Return the images' interval of the mean, widened by the variance between seeds.

    A bound differs from the mean by Student's factor times the root of both variances, with
    Satterthwaite's degrees of freedom. The images' variance is that of a normal interval as wide as
    the exact one.
    """
    mean, bounds = np.mean(correct), exact_bounds(np.mean(correct), images)
    share, of_seeds = mean / images, 0
    if len(correct) > 1:
        of_seeds = np.var(np.array(correct) / images, ddof=1) / len(correct)
    if not of_seeds:
        return bounds
    found = []
    for bound in bounds:
        whole = ((bound - share) / stats.norm.ppf(0.975)) ** 2 + of_seeds
        degrees = (len(correct) - 1) * (whole / of_seeds) ** 2
        found.append(share + np.sign(bound - share) * stats.t.ppf(0.975, degrees) * sqrt(whole))
    return max(found[0], 0), min(found[1], 1)


def give_spread_embeddings(project):
    """Give embeddings of 60 concepts with different spreads, and add a second encoder."""
    dice = np.random.default_rng(0)
    concepts = dice.normal(size=(60, 16))

    def draw(n):
        noise = dice.uniform(0, 0.4, (n, 1)) * dice.normal(size=(n, 16))
        return concepts[dice.integers(60, size=n)] + noise

    for corpus in CORPORA:
        give_embeddings(project, corpus, draw)
    given = yaml.dump({"embeddings": {corpus: block(corpus) for corpus in CORPORA}})
    encoders = "{architecture: atom, pretrained: gone.pt}\n  trained: {model: brief/small}\n\n"
    for old, new in (
        ("  encoder: own\n", "  encoder: own\n  other_encoders: [trained]\n"),
        ("threshold: 0.9999997,", "threshold: 0.9,"),
        ("sweep: [0.9999, 0.999999]", "sweep: [0.8, 0.95]"),
        ("  own: {model: brief/small}\n", f"  own: {encoders}{given}"),
    ):
        project.edit("config/micro.yaml", old, new)


@pytest.fixture(scope="session")
def told_apart(made_once, finished):
    """Return a run with tables of neighbours by embeddings that distinguish samples; read only."""
    target = " ".join(f"results_micro/tables/similarity_{name}.json" for name in TOLD_APART)
    return made_once("told_apart", start=finished, prepare=give_spread_embeddings, target=target)


@pytest.fixture(params=["finished", "told_apart"])
def searched(request):
    """Return a run by an encoder that distinguishes nothing, and one by an encoder that does."""
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize(
    ("run", "name", "models"),
    [
        ("finished", "table1", 3),
        pytest.param("seeded", "table1", 4, marks=SLOW),
        pytest.param("seeded", "table4", 3, marks=SLOW),
    ],
)
def test_accuracies_in_tables_1_and_4_match_the_predictions(request, run, name, models):
    project = request.getfixturevalue(run)
    rows = table(project, name)
    shown = rows[rows.in_grid]

    assert len(shown) == models * len(TEST_SETS)
    assert rows[~rows.in_grid].accuracy.isna().all()
    for row in shown.itertuples():
        right = [answers(project, recipe, row.manifest, row.testset) for recipe in SEEDS[run]]
        correct, images = [each.sum() for each in right], len(right[0])
        assert (row.images, row.correct) == (images, sum(correct))
        assert row.accuracy == CLOSE(sum(correct) / images / len(right))
        assert (row.accuracy_low, row.accuracy_high) == CLOSE(bounds_over_seeds(correct, images))


@pytest.mark.parametrize(
    ("run", "name", "against"),
    [
        ("finished", "table1", "baseline"),
        pytest.param("seeded", "table1", "baseline", marks=SLOW),
        pytest.param("seeded", "table4", "baseline", marks=SLOW),
        pytest.param("seeded", "table1", "control", marks=SLOW),
        pytest.param("seeded", "table4", "control", marks=SLOW),
    ],
)
def test_changes_in_tables_1_and_4_match_both_predictions(request, run, name, against):
    project, kind = request.getfixturevalue(run), {"baseline": "relative"}.get(against, against)
    rows = table(project, name)
    compared = rows[rows.in_grid & rows[against].notna()]

    assert len(compared)
    for row in compared.itertuples():
        right, was_right = (
            pd.concat({seed: answers(project, seed, manifest, row.testset) for seed in SEEDS[run]})
            for manifest in (row.manifest, getattr(row, against))
        )
        change = right.sum() / was_right.sum() - 1 if was_right.any() else np.nan
        assert getattr(row, f"{kind}_change") == CLOSE(change)
        if against == "baseline":
            assert row.compared == len(right) / len(SEEDS[run])
            lost, gained = (was_right & ~right).sum(), (right & ~was_right).sum()
            assert (row.lost, row.gained) == (lost, gained)


@pytest.mark.parametrize(
    ("run", "name"),
    [
        ("finished", "table1"),
        ("finished", "table3"),
        pytest.param("seeded", "table1", marks=SLOW),
        pytest.param("seeded", "table4", marks=SLOW),
    ],
)
def test_sizes_in_tables_of_accuracies_match_the_manifests(request, run, name):
    project = request.getfixturevalue(run)
    rows = table(project, name)

    assert len(rows)
    for row in rows.itertuples():
        size = train_set_size(project, row.manifest)
        assert row.size == size
        if name != "table3" and pd.notna(row.baseline):
            assert row.removed == train_set_size(project, row.baseline) - size


@SLOW
def test_table_3_matches_the_predictions_of_the_first_seed(seeded):
    rows = table(seeded, "table3")
    shown = rows[rows.in_grid]

    assert shown.manifest.nunique() == 2  # the deduplicated set and its core set
    for manifest, cells in shown.groupby("manifest"):
        right = {name: answers(seeded, "brief", manifest, name) for name in TEST_SETS}
        *cells, average = cells.itertuples()
        assert [cell.testset for cell in cells] == [*TEST_SETS]
        for cell in cells:
            correct, images = right[cell.testset].sum(), len(right[cell.testset])
            assert (cell.images, cell.correct) == (images, correct)
            assert cell.accuracy == CLOSE(correct / images)
            found = (cell.accuracy_low, cell.accuracy_high)
            assert found == CLOSE(exact_bounds(correct, images))
        assert average.accuracy == CLOSE(np.mean([each.mean() for each in right.values()]))
        assert average.correct == sum(each.sum() for each in right.values())


def test_table_2_counts_no_near_duplicates_by_an_encoder_that_distinguishes_nothing(finished):
    """This world's encoder is not trained: all of its pairs would be near duplicates."""
    for row in table(finished, "table2").itertuples():
        similarity = nearest(finished, f"neighbors/own/{row.corpus}")[row.testset]
        (check,) = read(finished, f"encoder_checks/own/{row.testset}").itertuples()

        assert (1 - similarity < 0.05).all()
        assert check.collapsed
        assert np.isnan(row.near_duplicates)
        assert row.note == "the encoder does not distinguish images"
        assert row.images == len(similarity)


def test_table_2_counts_test_images_within_the_distance(told_apart):
    rows = table(told_apart, "table2")

    assert 0 < rows.near_duplicates.sum() < rows.images.sum()
    for row in rows.itertuples():
        similarity = nearest(told_apart, f"neighbors/own/{row.corpus}")[row.testset]
        count, images = (1 - similarity < 0.05).sum(), len(similarity)
        assert (row.near_duplicates, row.images) == (count, images)
        assert row.share == count / images
        assert (row.share_low, row.share_high) == CLOSE(exact_bounds(count, images))


def test_table_5_correlates_the_ranks_of_two_encoders(told_apart):
    first, second = (nearest(told_apart, f"neighbors/{name}/small") for name in ("own", "trained"))
    for row in table(told_apart, "table5").itertuples():
        similarities = pd.DataFrame({"first": first, "second": second}).loc[row.testset]

        assert row.images == len(similarities)
        assert row.correlation == CLOSE(similarities.corr(method="spearman").iloc[0, 1])


def test_the_check_of_an_encoder_compares_its_embeddings(searched):
    rows = read(searched, "embeddings/own/sketch/*").embedding
    vectors = np.stack([np.frombuffer(value, "<f2") for value in rows]).astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    (check,) = read(searched, "encoder_checks/own/sketch").itertuples()
    shown = table(searched, "encoders").set_index(["encoder", "testset"]).loc["own", "sketch"]

    pairs = (vectors @ vectors.T)[np.triu_indices(len(vectors), 1)]

    assert check.samples == len(vectors)
    assert check.random_mean == pytest.approx(pairs.mean())
    assert shown.random_q50 == check.random_q50 == pytest.approx(np.median(pairs))


def test_table_6_counts_the_samples_near_the_gap(searched):
    gaps = nearest(searched, "neighbors/own/small").rename("gap").reset_index()
    for row in table(searched, "table6").itertuples():
        similar = read(searched, f"similarities/own/{row.corpus}/*").astype({"testset": str})
        similar = similar[similar.testset == row.testset].merge(
            gaps, on=["testset", "test_shard", "test_row"], suffixes=("", "_small")
        )
        pruning = "all" if row.corpus == "small" else f"{START}.{row.testset}-pruned"
        manifest = read(searched, f"manifests/{row.corpus}/{pruning}/*")[["shard", "row", "kept"]]
        both = similar.merge(manifest, on=["shard", "row"])
        near = both.kept & (both.gap_small > 0) & (both.similarity / both.gap_small > 0.9)

        assert row.near_gap == near.sum()
        assert row.not_normalized == (both.kept & (both.gap_small <= 0)).sum()


def test_table_7_compares_both_nearest_neighbours(searched):
    small = nearest(searched, "neighbors/own/small")
    whole = nearest(searched, "neighbors/own/large")
    web = nearest(searched, f"kept_neighbors/own/{START}/large")
    rows = table(searched, "table7")
    for name in TEST_SETS:
        for row, large in zip(rows[rows.testset == name].itertuples(), (whole, web), strict=True):
            nearer, images = (large[name] > small[name]).sum(), len(small[name])

            assert (row.nearer, row.images) == (nearer, images)
            assert row.ties == (large[name] == small[name]).sum()
            assert row.share == nearer / images
            assert (row.share_low, row.share_high) == CLOSE(exact_bounds(nearer, images))


def test_the_deduplication_table_counts_removed_samples_by_similarity(searched):
    similarity = read(searched, "duplicates/own/large/*").similarity
    for row in table(searched, "deduplication").itertuples():
        assert row.removed == (similarity > row.threshold).sum()
        assert row.kept + row.removed == len(similarity)


def test_no_kept_neighbour_exceeds_the_gap(searched):
    """The nearest kept image is also recomputed here, among all embeddings."""
    embeddings = read(searched, "embeddings/own/large/*")
    manifest = read(searched, f"manifests/large/{START}.sketch-pruned/*")
    rows = embeddings.merge(manifest[manifest.kept], on=["shard", "row"])
    tests = read(searched, "embeddings/own/sketch/*")
    train, test = (
        np.stack([np.frombuffer(value, "<f2") for value in table.embedding])
        for table in (rows, tests)
    )
    best = plain_cosines(test, train).max(axis=1)

    gaps = nearest(searched, "neighbors/own/small")["sketch"].to_numpy()
    found = nearest(searched, "kept_neighbors/own/sketch-pruned/large")["sketch"].to_numpy()
    check = table(searched, "gap_check")
    (row,) = check[(check.search == "sketch-pruned") & (check.testset == "sketch")].itertuples()

    np.testing.assert_array_equal(found, best)
    assert (found <= gaps).all()
    assert (row.above, row.below, row.ties) == (0, (found < gaps).sum(), (found == gaps).sum())


def test_near_and_far_pruning_by_half_divide_the_samples(project):
    folders = [f"manifests/large/{START}.sketch-{order}-50pct" for order in ("near", "far")]
    parts = [f"results_micro/{folder}/{part}.json" for folder in folders for part in PARTS]
    project.run(target=" ".join(parts))

    near, far = (read(project, f"{folder}/*") for folder in folders)
    base = read(project, f"manifests/large/{START}/*").kept

    assert ((near.kept | far.kept) == base).all()
    overlap = (near.kept & far.kept).sum()  # half of an odd number is rounded
    assert overlap == near.kept.sum() + far.kept.sum() - base.sum() <= 1
