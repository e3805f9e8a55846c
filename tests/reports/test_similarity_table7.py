import numpy as np
import polars as pl
import pytest

from clipaudit.reports.tables import report_table

PARAMETERS = {"small": "small", "large": "large", "small_title": "ImageNet-Train"}
TRAIN_SETS = [(0, "large", "L-400M", "all"), (1, "large-deduplicated", "L-200M", "deduplicated")]


@pytest.fixture
def table7(view, published):
    def build(neighbors, kept=(), train_sets=TRAIN_SETS, paper=None):
        views = {
            "testsets": view("testsets", [(0, "r", "ImageNet-R"), (1, "a", "My A")]),
            "train_sets": view("train_sets", train_sets),
            "neighbors": view("neighbors", neighbors),
            "kept_neighbors": view("kept_neighbors", kept) if kept else [],
            "published": published(paper),
        }
        # The small corpus's title is not read here; related tables share their parameters.
        return report_table("similarity_table7", views, PARAMETERS).to_pylist()

    return build


def test_four_rows_match_a_hand_calculation(table7):
    small, large = (0.5, 0.5, 0.5, 0.9), (0.6, 0.5, 0.7, 0.1)
    neighbors = [
        (corpus, "r", 1, row, 0, similarity)
        for corpus, similarities in (("small", small), ("large", large))
        for row, similarity in enumerate(similarities)
    ]
    neighbors += [("large", "r", 1, 3, 1, 1.0)]  # only the nearest counts
    kept = [
        ("deduplicated", "large", "r", 1, row, 0, similarity)
        for row, similarity in enumerate((0.6, 0.4, 0.5, 0.1))
    ]
    kept += [("pair-x", "large", "r", 1, row, 0, 1.0) for row in range(4)]  # another search

    first, second, *others = table7(neighbors, kept, paper="similarity_table7")

    columns = ("testset", "corpus_title", "images", "nearer", "ties", "share")
    assert [first[column] for column in columns] == ["r", "L-400M", 4, 2, 1, 0.5]
    assert (first["share_low"], first["share_high"]) == pytest.approx(
        (0.067586, 0.932414), abs=1e-6
    )
    assert [second[column] for column in columns] == ["r", "L-200M", 4, 1, 1, 0.25]
    published = [(row["published_images"], row["published_share"]) for row in (first, second)]
    assert published == [(30_000, 0.8788), (30_000, 0.8674)]
    for row in others:
        assert [row[column] for column in columns[2:]] == [0, 0, 0, None]
        assert row["published_share"] is None


def test_a_sample_nearer_by_one_bit_counts_as_nearer(table7):
    neighbors = [("small", "r", 0, 0, 0, 1.0 - 2**-53), ("large", "r", 0, 0, 0, 1.0)]

    assert (table7(neighbors)[0]["nearer"], table7(neighbors)[0]["ties"]) == (1, 0)


def test_without_deduplication_there_is_one_column(table7):
    neighbors = [("small", "r", 0, 0, 0, 0.5), ("large", "r", 0, 0, 0, 1.0)]

    table = table7(neighbors, train_sets=TRAIN_SETS[:1])

    assert [(row["testset"], row["corpus"], row["nearer"]) for row in table] == [
        ("r", "large", 1),
        ("a", "large", 0),
    ]


@pytest.mark.parametrize("seed", range(3))
def test_the_table_equals_a_recomputation_in_polars(table7, seed):
    random = np.random.default_rng(seed)
    rows = [
        (search, corpus, testset, shard, row, rank, float(random.choice([0.25, 0.5, 0.75])))
        for search, corpus in (("", "small"), ("", "large"), ("deduplicated", "large"))
        for testset in ("r", "a")
        for shard in range(2)
        for row in range(random.integers(2, 9))
        for rank in range(2)
    ]
    random.shuffle(rows)
    names = ["search", "corpus", "testset", "shard", "row", "rank", "similarity"]
    nearest = pl.DataFrame(rows, schema=names, orient="row").filter(rank=0)
    small = nearest.filter(corpus="small")

    table = table7([row[1:] for row in rows if not row[0]], [row for row in rows if row[0]])

    for row in table:
        search = "deduplicated" if row["corpus"] == "large-deduplicated" else ""
        large = nearest.filter(corpus="large", search=search, testset=row["testset"])
        both = large.join(small, on=["testset", "shard", "row"], suffix="_small")
        assert row["images"] == len(both)
        assert row["nearer"] == (both["similarity"] > both["similarity_small"]).sum()
        assert row["ties"] == (both["similarity"] == both["similarity_small"]).sum()
        assert row["share"] == row["nearer"] / len(both)
