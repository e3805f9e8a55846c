"""The report's numbers recomputed by polars from the Parquet files of a run."""

from functools import partial

import numpy as np
import polars as pl
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
CLOSE = partial(pytest.approx, rel=1e-9, abs=1e-9)
TOLD_APART = ("encoders", "table2", "table5", "table6", "table7", "gap_check", "deduplication")


def kept(project, corpus, pruning):
    return read(project, f"manifests/{corpus}/{pruning}/*")["kept"].sum()


def train_set_size(project, manifest):
    """Return how many samples a manifest keeps, from its name: base[-and-small][.what]."""
    start, _, what = manifest.partition(".")
    base = START if START in start else "all"
    size = 0 if start == "small" else kept(project, LARGE, f"{base}.{what}" if what else base)
    return size + (kept(project, "small", "all") if start.endswith("small") else 0)


def nearest(project, path, testset):
    """Return each test sample's highest similarity, from all parts instead of the merged table."""
    rows = read(project, f"{path}/*").filter(testset=testset)
    assert len(rows), testset
    highest = rows.group_by("test_shard", "test_row").agg(pl.max("similarity"))
    return {tuple(image): similarity for *image, similarity in highest.iter_rows()}


def paired(project, first, second, testset):
    """Return the highest similarities of two searches as arrays in the same order."""
    found, others = (nearest(project, path, testset) for path in (first, second))
    assert found.keys() == others.keys()
    return np.array([(found[image], others[image]) for image in found]).T


def table(project, name):
    return read(project, f"tables/similarity_{name}")


def answers(project, recipes, manifest, testset):
    """Return whether models are right, by recipe and image; each seed has its own random set."""
    found = {}
    for recipe in recipes:
        draw = "random-draw-2-as" if recipe.endswith("seed-1") else "random-as"
        trained_on = manifest.replace("random-as", draw)
        rows = read(project, f"predictions/{recipe}/{trained_on}/{testset}")
        for shard, row, rank in rows.select(*IMAGE, "right_rank").iter_rows():
            found[recipe, shard, row] = rank == 0
    return found


def exact_bounds(correct, images):
    """Return Clopper and Pearson's interval, also for a mean count."""
    low = stats.beta.ppf(0.025, correct, images - correct + 1) if correct else 0
    high = stats.beta.ppf(0.975, correct + 1, images - correct) if correct < images else 1
    return low, high


def bounds_over_seeds(correct, images):
    """Return the images' interval of the mean, widened by the variance between seeds.

    A bound differs from the mean by Student's factor times the root of both variances, with
    Satterthwaite's degrees of freedom, or of the seeds' alone, if that is wider. The images'
    variance is that of a normal interval as wide as the exact one.
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
        degrees = len(correct) - 1, (len(correct) - 1) * (whole / of_seeds) ** 2
        far = stats.t.ppf(0.975, degrees) * np.sqrt([of_seeds, whole])
        found.append(share + np.sign(bound - share) * far.max())
    return max(found[0], 0), min(found[1], 1)


def give_spread_embeddings(project):
    """Search by embeddings of 60 concepts with different spreads; keep `own` as second encoder."""
    dice = np.random.default_rng(0)
    concepts = dice.normal(size=(60, 16))

    def draw(n):
        noise = dice.uniform(0, 0.4, (n, 1)) * dice.normal(size=(n, 16))
        return concepts[dice.integers(60, size=n)] + noise

    for corpus in CORPORA:
        give_embeddings(project, corpus, draw)
    blocks = {"embeddings": {corpus: block(corpus, "given") for corpus in CORPORA}}
    encoder = "  given: {architecture: atom, pretrained: gone.pt}\n"
    for old, new in (
        ("  encoder: own\n", "  encoder: given\n  other_encoders: [own]\n"),
        ("threshold: 0.9999997,", "threshold: 0.9,"),
        ("sweep: [0.9999, 0.999999]", "sweep: [0.8, 0.95]"),
        ("encoders:\n", f"{yaml.dump(blocks)}\nencoders:\n{encoder}"),
    ):
        project.edit("config/micro.yaml", old, new)


@pytest.fixture(scope="session")
def told_apart(made_once, finished):
    """Return a run with tables of neighbours by embeddings that distinguish samples; read only."""
    target = " ".join(f"results_micro/tables/similarity_{name}.json" for name in TOLD_APART)
    return made_once("told_apart", start=finished, prepare=give_spread_embeddings, target=target)


@pytest.fixture(params=["finished", "told_apart"])
def searched(request):
    """Return a run and its encoder: one that distinguishes nothing, and one that does."""
    project = request.getfixturevalue(request.param)
    return project, {"finished": "own", "told_apart": "given"}[request.param]


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
    shown = rows.filter("in_grid")

    assert len(shown) == models * len(TEST_SETS)
    assert rows.filter(~pl.col("in_grid"))["accuracy"].is_null().all()
    for row in shown.iter_rows(named=True):
        right = [answers(project, [seed], row["manifest"], row["testset"]) for seed in SEEDS[run]]
        correct, images = [sum(each.values()) for each in right], len(right[0])
        assert (row["images"], row["correct"]) == (images, sum(correct))
        assert row["accuracy"] == CLOSE(sum(correct) / images / len(right))
        bounds = bounds_over_seeds(correct, images)
        assert (row["accuracy_low"], row["accuracy_high"]) == CLOSE(bounds)


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
    compared = table(project, name).filter("in_grid", pl.col(against).is_not_null())

    assert len(compared)
    for row in compared.iter_rows(named=True):
        right, was_right = (
            answers(project, SEEDS[run], row[manifest], row["testset"])
            for manifest in ("manifest", against)
        )
        before = sum(was_right.values())
        change = CLOSE(sum(right.values()) / before - 1) if before else None
        assert row[f"{kind}_change"] == change
        if against == "baseline":
            assert row["compared"] == len(right) / len(SEEDS[run])
            lost = sum(was_right[image] and not right[image] for image in was_right)
            gained = sum(right[image] and not was_right[image] for image in right)
            assert (row["lost"], row["gained"]) == (lost, gained)


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
    for row in rows.iter_rows(named=True):
        size = train_set_size(project, row["manifest"])
        assert row["size"] == size
        if name != "table3" and row["baseline"] is not None:
            assert row["removed"] == train_set_size(project, row["baseline"]) - size


@SLOW
def test_table_3_matches_the_predictions_of_the_first_seed(seeded):
    shown = table(seeded, "table3").filter("in_grid")

    assert shown["manifest"].n_unique() == 2  # the deduplicated set and its core set
    for (manifest,), rows in shown.group_by("manifest"):
        *cells, average = rows.to_dicts()
        assert [cell["testset"] for cell in cells] == [*TEST_SETS]
        right = [answers(seeded, ["brief"], manifest, name).values() for name in TEST_SETS]
        for cell, each in zip(cells, right, strict=True):
            correct, images = sum(each), len(each)
            assert (cell["images"], cell["correct"]) == (images, correct)
            assert cell["accuracy"] == CLOSE(correct / images)
            found = (cell["accuracy_low"], cell["accuracy_high"])
            assert found == CLOSE(exact_bounds(correct, images))
        assert average["accuracy"] == CLOSE(np.mean([sum(each) / len(each) for each in right]))
        assert average["correct"] == sum(map(sum, right))


def test_table_2_counts_no_near_duplicates_by_an_encoder_that_distinguishes_nothing(finished):
    """This world's encoder is not trained: all of its pairs would be near duplicates."""
    for row in table(finished, "table2").iter_rows(named=True):
        similarity = nearest(finished, f"neighbors/own/{row['corpus']}", row["testset"])
        (check,) = read(finished, f"encoder_checks/own/{row['testset']}").to_dicts()

        assert all(1 - each < 0.05 for each in similarity.values())
        assert check["collapsed"]
        assert row["near_duplicates"] is None
        assert row["note"] == "the encoder does not distinguish images"
        assert row["images"] == len(similarity)


def test_table_2_counts_test_images_within_the_distance(told_apart):
    rows = table(told_apart, "table2")

    assert 0 < rows["near_duplicates"].sum() < rows["images"].sum()
    for row in rows.iter_rows(named=True):
        similarity = nearest(told_apart, f"neighbors/given/{row['corpus']}", row["testset"])
        count, images = sum(1 - each < 0.05 for each in similarity.values()), len(similarity)
        assert (row["near_duplicates"], row["images"]) == (count, images)
        assert row["share"] == count / images
        assert (row["share_low"], row["share_high"]) == CLOSE(exact_bounds(count, images))


def test_table_5_correlates_the_ranks_of_two_encoders(told_apart):
    paths = [f"neighbors/{name}/small" for name in ("given", "own")]
    for row in table(told_apart, "table5").iter_rows(named=True):
        first, second = paired(told_apart, *paths, row["testset"])

        assert row["images"] == len(first)
        assert row["correlation"] == CLOSE(stats.spearmanr(first, second).statistic)


def test_the_check_of_an_encoder_compares_its_embeddings(searched):
    project, encoder = searched
    rows = read(project, f"embeddings/{encoder}/sketch/*")["embedding"]
    vectors = np.stack([np.frombuffer(value, "<f2") for value in rows]).astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    (check,) = read(project, f"encoder_checks/{encoder}/sketch").to_dicts()
    (shown,) = table(project, "encoders").filter(encoder=encoder, testset="sketch").to_dicts()

    pairs = (vectors @ vectors.T)[np.triu_indices(len(vectors), 1)]

    assert check["samples"] == len(vectors)
    assert check["random_mean"] == pytest.approx(pairs.mean())
    assert shown["random_q50"] == check["random_q50"] == pytest.approx(np.median(pairs))


def test_table_6_counts_the_samples_near_the_gap(searched):
    project, encoder = searched
    for row in table(project, "table6").iter_rows(named=True):
        corpus, testset = row["corpus"], row["testset"]
        gaps = nearest(project, f"neighbors/{encoder}/small", testset)
        pruning = "all" if corpus == "small" else f"{START}.{testset}-pruned"
        manifest = read(project, f"manifests/{corpus}/{pruning}/*").filter("kept").select(IMAGE)
        similar = read(project, f"similarities/{encoder}/{corpus}/*").filter(testset=testset)
        both = similar.join(manifest, on=IMAGE).select("test_shard", "test_row", "similarity")
        pairs = [(each, gaps[tuple(image)]) for *image, each in both.iter_rows()]

        assert row["near_gap"] == sum(gap > 0 and each / gap > 0.9 for each, gap in pairs)
        assert row["not_normalized"] == sum(gap <= 0 for _, gap in pairs)


def test_table_7_compares_both_nearest_neighbours(searched):
    project, encoder = searched
    searches = (f"neighbors/{encoder}/large", f"kept_neighbors/{encoder}/{START}/large")
    for testset in TEST_SETS:
        rows = table(project, "table7").filter(testset=testset).iter_rows(named=True)
        for row, search in zip(rows, searches, strict=True):
            large, small = paired(project, search, f"neighbors/{encoder}/small", testset)
            nearer, images = (large > small).sum(), len(small)

            assert (row["nearer"], row["images"]) == (nearer, images)
            assert row["ties"] == (large == small).sum()
            assert row["share"] == nearer / images
            assert (row["share_low"], row["share_high"]) == CLOSE(exact_bounds(nearer, images))


def test_the_deduplication_table_counts_removed_samples_by_similarity(searched):
    project, encoder = searched
    similarity = read(project, f"duplicates/{encoder}/large/*")["similarity"]
    for row in table(project, "deduplication").iter_rows(named=True):
        assert row["removed"] == (similarity > row["threshold"]).sum()
        assert row["kept"] + row["removed"] == len(similarity)


def test_no_kept_neighbour_exceeds_the_gap(searched):
    """The nearest kept image is also recomputed here, among all embeddings."""
    project, encoder = searched
    manifest = read(project, f"manifests/large/{START}.sketch-pruned/*").filter("kept")
    rows = read(project, f"embeddings/{encoder}/large/*")
    rows = rows.join(manifest, on=IMAGE, maintain_order="left")
    tests = read(project, f"embeddings/{encoder}/sketch/*")
    train, test = (
        np.stack([np.frombuffer(value, "<f2") for value in table["embedding"]])
        for table in (rows, tests)
    )
    best = plain_cosines(test, train).max(axis=1)

    search = f"kept_neighbors/{encoder}/sketch-pruned/large"
    found, gaps = paired(project, search, f"neighbors/{encoder}/small", "sketch")
    check = table(project, "gap_check").filter(search="sketch-pruned", testset="sketch")
    (row,) = check.to_dicts()

    addresses = tests.select(IMAGE).iter_rows()
    assert nearest(project, search, "sketch") == dict(zip(addresses, best, strict=True))
    assert (found <= gaps).all()
    below, ties = (found < gaps).sum(), (found == gaps).sum()
    assert (row["above"], row["below"], row["ties"]) == (0, below, ties)


def test_near_and_far_pruning_by_half_divide_the_samples(project):
    folders = [f"manifests/large/{START}.sketch-{order}-50pct" for order in ("near", "far")]
    parts = [f"results_micro/{folder}/{part}.json" for folder in folders for part in PARTS]
    project.run(target=" ".join(parts))

    near, far = (read(project, f"{folder}/*")["kept"] for folder in folders)
    base = read(project, f"manifests/large/{START}/*")["kept"]

    assert ((near | far) == base).all()
    overlap = (near & far).sum()  # half of an odd number is rounded
    assert overlap == near.sum() + far.sum() - base.sum() <= 1
