"""Deduplication keeps what the published rules keep, which are written here in plain NumPy.

Upstream divides every vector by its length. A sample is in the cluster of its nearest centroid, and
only samples of one cluster are compared: a pair is a duplicate if its similarity exceeds 1 - eps.
"""

import numpy as np
import pyarrow as pa
import pytest
from clustercases import clustered, reader

from clipaudit.corpora.manifests import keep_all
from clipaudit.deduplication.assignment import assign_clusters, centroid_queries
from clipaudit.deduplication.deduplication import deduplicate
from clipaudit.deduplication.duplicates import find_duplicates

EPS = [0.02, 0.05, 0.124]  # the last is of the similarity paper's code, whose threshold is 0.876


def normalized(vectors):
    wide = vectors.astype(np.float64)
    return wide / np.linalg.norm(wide, axis=1, keepdims=True)


def semdedup(rows, centroid, eps):
    """SemDeDup's code: by rising similarity to the centroid, the upper triangle's column maxima."""
    order = np.argsort((rows * centroid).sum(axis=1), kind="stable")
    pairs = np.triu(rows[order] @ rows[order].T, k=1)
    return order[pairs.max(axis=0) <= 1 - eps]


def clip_ood(rows, centroid, eps):
    """The similarity paper's code: each sample against all before it in the file."""
    return [
        number
        for number, row in enumerate(rows)
        if (rows[:number] @ row).max(initial=-1) <= 1 - eps
    ]


def paper(rows, centroid, eps):
    """SemDeDup's text: keep the sample farthest from the centroid in each connected group."""
    near = rows @ rows.T > 1 - eps
    waiting = set(range(len(rows)))
    kept = []
    while waiting:
        group, edge = set(), {min(waiting)}
        while edge:
            group |= edge
            edge = {int(other) for each in edge for other in np.flatnonzero(near[each])} - group
        kept.append(min(group, key=lambda each: ((rows[each] * centroid).sum(), each)))
        waiting -= group
    return kept


RULES = {"semdedup": semdedup, "clip-ood": clip_ood, "paper": paper}


def upstream(vectors, centroids, rule, eps):
    """Return the rows that are kept."""
    rows, centres = normalized(vectors), normalized(centroids)
    cluster = (rows @ centres.T).argmax(axis=1)
    kept = set()
    for number, centre in enumerate(centres):
        members = np.flatnonzero(cluster == number)
        if len(members):
            kept |= set(members[RULES[rule](rows[members], centre, eps)].tolist())
    return kept


def kept(vectors, centroids, rule, eps, *, floor=None):
    """Return the rows that our steps keep."""
    samples = clustered(vectors).select(["shard", "row", "embedding"])
    queries = centroid_queries(clustered(centroids, cluster=np.arange(len(centroids))))
    assigned = pa.concat_tables(assign_clusters(queries, samples.to_batches(700)))
    found = find_duplicates(reader(assigned), range(len(centroids)), rule=rule, floor=floor)
    manifest = deduplicate(keep_all(samples.select(["shard", "row"])), [found], threshold=1 - eps)
    return set(np.flatnonzero(manifest["kept"].to_numpy()).tolist())


def degrees(*angles):
    """Return unit vectors in the plane, at these angles, in float16."""
    turns = np.radians(angles)
    return np.stack([np.cos(turns), np.sin(turns)], axis=1).astype(np.float16)


@pytest.fixture(scope="module")
def world():
    """3,000 samples of 600 concepts, spread by different amounts, and exact copies; 8 centroids.

    One component is large in all, as in CLIP's embeddings: rounding it changes the lengths.
    """
    rng = np.random.default_rng(0)
    spread = rng.uniform(0, 0.5, (3_000, 1))
    centroids = rng.normal(size=(8, 24))
    samples = rng.normal(size=(600, 24))[rng.integers(600, size=3_000)]
    samples += spread * rng.normal(size=samples.shape)
    for vectors in (samples, centroids):
        vectors[:, 0] += 3
    halves = normalized(samples).astype(np.float16)
    halves[rng.integers(3_000, size=200)] = halves[rng.integers(3_000, size=200)]
    return halves, normalized(centroids).astype(np.float16)


@pytest.mark.parametrize("eps", EPS)
@pytest.mark.parametrize("rule", RULES)
def test_the_same_samples_are_kept_as_upstream(world, rule, eps):
    floor = 1 - max(EPS) if rule == "paper" else None  # as the settings give it

    found = kept(*world, rule, eps, floor=floor)

    assert found == upstream(*world, rule, eps)
    assert 500 < len(found) < 2_800


@pytest.mark.parametrize("eps", EPS)
def test_each_rule_keeps_different_random_samples(world, eps):
    semdedup, clip_ood, paper = (kept(*world, rule, eps) for rule in RULES)

    assert semdedup != clip_ood
    assert paper < semdedup  # both keep the farthest of a group, semdedup also ends of a chain


@pytest.mark.parametrize(
    ("rule", "stay"), [("semdedup", {1, 2, 4}), ("clip-ood", {0, 3, 4}), ("paper", {1, 4})]
)
def test_the_rules_differ_on_a_handmade_case(rule, stay):
    """Two chains, in clusters around 20 and 130 degrees; eps 0.05 is an angle of 18.19 degrees.

    So neighbours 15 degrees apart are duplicates, and the ends of a chain, 30 apart, are not.
    The first is b a c in the file, at 15, 0 and 30, so 5, 20 and 10 from its centroid. Its order is
    a c b. semdedup: a and c stay, b repeats both. clip-ood: b stays, the others repeat it. paper: a
    stays, the farthest of the chain.
    The second is c a b in the file, at 120, 90 and 105, so 10, 40 and 25 from its centroid. Its
    order is a b c. semdedup: b repeats a, and c repeats the removed b: only a stays. clip-ood: c
    and a stay, b repeats both. paper: a stays.
    """
    vectors, centroids = degrees(15, 0, 30, 120, 90, 105), degrees(20, 130)

    assert kept(vectors, centroids, rule, 0.05) == stay
    assert upstream(vectors, centroids, rule, 0.05) == stay


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("pair", "stay"),
    [
        # lengths 1.00029 and 1.00010: the product 0.95024 is above 0.95, the cosine 0.94987 below
        ([[1125, 2342, 3168], [1032, 1201, 3778]], {0, 1}),
        # lengths 0.99983 and 0.99985: the product 0.94986 is below 0.95, the cosine 0.95017 above;
        # the first is farther from the centroid, and before the other in the file
        ([[2090, 2674, 2292], [3042, 2292, 1505]], {0}),
    ],
)
def test_vectors_with_lengths_changed_by_rounding_are_compared_by_cosine(rule, pair, stay):
    vectors = np.array(pair, np.float16) / 4096
    centroids = np.array([[1, 0, 0]], np.float16)

    assert kept(vectors, centroids, rule, 0.05) == stay
    assert upstream(vectors, centroids, rule, 0.05) == stay
