import numpy as np
import polars as pl
import pytest

from clipaudit.reports.rendering import to_markdown
from clipaudit.reports.tables import report_table
from clipaudit.similarity.reports.answer import similarity_answer

PARAMETERS = {
    "small": "small",
    "large": "large",
    "small_title": "ImageNet-Train",
    "large_title": "L-400M",  # LAION-400M in the paper's table
}
TESTSETS = [(0, "sketch", "ImageNet-Sketch"), (1, "val", "My Val")]


@pytest.fixture
def table2(view, published):
    def build(neighbors, paper=None, checks=(), calibrated=None):
        views = {
            "testsets": view("testsets", TESTSETS),
            "neighbors": view("neighbors", neighbors),
            "encoder_checks": view("encoder_checks", checks),
            "calibrated": view("calibrated", calibrated or []),
            "published": published(paper),
        }
        distance = 0.05 if calibrated is None else None
        parameters = {**PARAMETERS, "near_duplicate_distance": distance}
        return report_table("similarity_table2", views, parameters)

    return build


def test_four_rows_match_a_hand_calculation(table2):
    small, large = (0.96, 0.5, 0.2, 0.1), (0.99, 0.98, 0.97, 0.9)
    neighbors = [
        (corpus, "sketch", 0, row, 0, similarity)
        for corpus, similarities in (("small", small), ("large", large))
        for row, similarity in enumerate(similarities)
    ]
    # Neither a second neighbour nor another corpus counts.
    neighbors += [("large", "sketch", 0, 3, 1, 1.0), ("other", "sketch", 0, 9, 0, 1.0)]

    table = table2(neighbors, "similarity_table2").to_pylist()

    columns = ("testset", "corpus_title", "images", "near_duplicates", "share")
    assert [tuple(row[column] for column in columns) for row in table] == [
        ("sketch", "ImageNet-Train", 4, 1, 0.25),
        ("sketch", "L-400M", 4, 3, 0.75),
        ("val", "ImageNet-Train", 0, 0, None),
        ("val", "L-400M", 0, 0, None),
    ]
    # 1 of 4 and 3 of 4: mirror images; the roots of the binomial tails at 2.5 %
    assert (table[0]["share_low"], table[0]["share_high"]) == pytest.approx(
        (0.006309, 0.805880), abs=1e-6
    )
    assert table[1]["share_low"] == pytest.approx(1 - table[0]["share_high"], abs=1e-9)
    published = [(row["published_images"], row["published_near_duplicates"]) for row in table]
    assert published == [(50_889, 18), (50_889, 1553), (None, None), (None, None)]


def test_the_threshold_is_strict_to_the_last_bit(table2):
    border = 1 - 0.05  # its distance is just above 0.05; one more bit puts it below
    similarities = [np.nextafter(border, 0), border, np.nextafter(border, 1)]
    neighbors = [
        ("large", "sketch", 0, row, 0, float(value)) for row, value in enumerate(similarities)
    ]

    table = table2(neighbors)

    assert [1 - value < 0.05 for value in similarities] == [False, False, True]
    assert table["near_duplicates"].to_pylist()[:2] == [0, 1]


def test_an_empty_corpus_still_counts_the_test_images(table2):
    table = table2([("large", "val", 0, row, 0, 1.0) for row in range(3)])

    assert table["images"].to_pylist() == [0, 0, 3, 3]
    assert table["near_duplicates"].to_pylist() == [0, 0, 0, 3]


def of_large(*similarities, testset="sketch"):
    return [("large", testset, 0, row, 0, value) for row, value in enumerate(similarities)]


def counted(table, *columns):
    """Some columns of the rows of the large corpus."""
    rows = [row for row in table.to_pylist() if row["corpus"] == "large"]
    return [tuple(row[column] for column in columns) for row in rows]


@pytest.mark.parametrize(
    ("check", "note"),
    [
        (("sketch", 0.2, True), "the encoder does not distinguish images"),
        (("sketch", 0.96, False), "random pairs are as near"),
    ],
)
def test_a_collapsed_encoder_counts_no_near_duplicates(table2, check, note):
    neighbors = of_large(0.99, 0.99) + of_large(0.99, testset="val")

    table = table2(neighbors, checks=[check, ("val", 0.5, False)])

    numbers = ("images", "near_duplicates", "share", "share_low", "share_high", "note")
    assert counted(table, *numbers)[0] == (2, *[None] * 4, note)
    assert counted(table, "near_duplicates", "share", "note")[1] == (1, 1.0, None)


def test_the_check_of_a_discriminating_encoder_changes_nothing(table2):
    neighbors = of_large(0.99, 0.9)

    assert table2(neighbors, checks=[("sketch", 0.94, False)]).equals(table2(neighbors))


def test_a_calibrated_threshold_includes_its_own_value(table2):
    below, border = float(np.nextafter(0.9, 0)), 0.9
    thresholds = [(0.5, False), (border, True)]

    table = table2(of_large(below, border, 0.95), calibrated=thresholds)

    assert counted(table, "near_duplicates", "distance", "note")[0] == (2, 1 - border, None)


def test_images_at_a_calibrated_threshold_are_not_said_to_be_nearer_than_it(table2):
    table = table2(of_large(1.0, 1.0, 0.9), calibrated=[(1.0, True)])

    said = " ".join(
        each.text for each in similarity_answer({"similarity_table2": table.to_pylist()}).sentences
    )
    assert "2 of 3 images have a near duplicate in L-400M (1 - similarity at most 0)" in said
    assert "L-400M (at 0 or nearer)" in to_markdown("similarity_table2", table)


@pytest.mark.parametrize("thresholds", [[], [(0.9, False)]])
def test_a_calibration_without_a_choice_is_reported(table2, thresholds):
    table = table2(of_large(0.99), calibrated=thresholds)

    (sketch, _) = counted(table, "images", "near_duplicates", "distance", "note")
    assert sketch == (1, None, None, "calibration chose no threshold")


@pytest.mark.parametrize("seed", range(5))
def test_the_table_equals_a_recomputation_in_polars(table2, seed):
    random = np.random.default_rng(seed)
    neighbors = [
        (corpus, testset, shard, row, rank, float(random.choice([0.9, 0.95, 0.96, 1.0])))
        for corpus in ("small", "large", "other")
        for testset in ("val", "sketch")
        for shard in range(3)
        for row in range(random.integers(1, 9))
        for rank in range(2)
    ]
    random.shuffle(neighbors)
    names = ["corpus", "testset", "shard", "row", "rank", "similarity"]
    frame = pl.DataFrame(neighbors, schema=names, orient="row")
    nearest = frame.filter(pl.col("corpus") != "other", rank=0)

    table = table2(neighbors).to_pylist()

    for row in table:
        of_set = nearest.filter(testset=row["testset"])
        of_both = of_set.filter(corpus=row["corpus"])
        assert row["images"] == of_set.n_unique(["shard", "row"])
        assert row["near_duplicates"] == (1 - of_both["similarity"] < 0.05).sum()
        assert row["share"] == row["near_duplicates"] / row["images"]
        assert row["share_low"] <= row["share"] <= row["share_high"]
