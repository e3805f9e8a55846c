import numpy as np
import pytest

from clipaudit.reports.rendering import to_markdown
from clipaudit.reports.tables import report_table

TESTSETS = [(0, "val", "ImageNet-Val"), (1, "sketch", "ImageNet-Sketch")]
ROWS = [
    (0, "LAION-200M", "b32", "large", None, False, True),
    (1, "all-far-pruned (L-200M)", "b32", "core", None, False, True),
    (2, "SemDeDup (L-400M)", "b32", "semdedup", None, False, False),
]


@pytest.fixture
def table3(view, published):
    def build(predictions, members=(), manifest_rows=(), rows=ROWS, paper="similarity_table3"):
        views = {
            "rows": view("rows", rows),
            "testsets": view("testsets", TESTSETS),
            "predictions": view("predictions", predictions),
            "members": view("members", members),
            "manifest_rows": view("manifest_rows", manifest_rows),
            "published": published(paper),
        }
        return report_table("similarity_table3", views, {})

    return build


@pytest.fixture
def by_hand(table3, right_ranks):
    """The first row right on 1 of 2 and 3 of 4 images, the second without predictions on one."""
    predictions = right_ranks("b32", "large", "val", [0, 1])
    predictions += right_ranks("b32", "large", "sketch", [0, 0, 0, 2])
    predictions += right_ranks("b32", "core", "val", [0, 0])
    members = [("large", "laion", "all"), ("core", "laion", "far"), ("semdedup", "laion", "less")]
    kept = {"all": [1, 1, 1, 1], "far": [1, 0, 1, 0], "less": [0, 0, 0, 1]}
    manifest_rows = [
        ("laion", pruning, 0, row, bool(keep))
        for pruning, keeps in kept.items()
        for row, keep in enumerate(keeps)
    ]
    return table3(predictions, members, manifest_rows)


def test_four_rows_match_a_hand_calculation(by_hand):
    columns = ["dataset", "testset", "size", "images", "correct", "accuracy"]

    assert [tuple(row.values()) for row in by_hand.select(columns).to_pylist()] == [
        ("LAION-200M", "val", 4, 2, 1, 0.5),
        ("LAION-200M", "sketch", 4, 4, 3, 0.75),
        ("LAION-200M", None, 4, 6, 4, 0.625),  # over test sets: images would give 2/3
        ("all-far-pruned (L-200M)", "val", 2, 2, 2, 1.0),
        ("all-far-pruned (L-200M)", "sketch", 2, 0, 0, None),
        ("all-far-pruned (L-200M)", None, 2, 2, 2, None),
        ("SemDeDup (L-400M)", "val", 1, 0, 0, None),
        ("SemDeDup (L-400M)", "sketch", 1, 0, 0, None),
        ("SemDeDup (L-400M)", None, 1, 0, 0, None),
    ]


def test_the_papers_values_are_shown_next_to_ours(by_hand):
    published = by_hand.select(["published_size", "published_accuracy"]).to_pylist()

    assert [row["published_accuracy"] for row in published] == [
        *(0.6212, 0.4861, 0.5067),
        *(0.628, 0.4923, 0.5071),
        *(0.5219, 0.417, 0.437),
    ]
    assert {row["published_size"] for row in published} == {199_800_000, 100_000_000}


def test_the_table_prints_the_average_last(by_hand):
    lines = to_markdown("similarity_table3", by_hand).splitlines()[2:]

    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    assert cells[0] == ["Dataset", "Size", "ImageNet-Val", "ImageNet-Sketch", "Avg."]
    assert cells[2] == ["LAION-200M", "4", "50.00", "75.00", "62.50"]
    assert cells[4] == ["*in the paper*", "199\u202f800\u202f000", "62.12", "48.61", "50.67"]
    assert ["SemDeDup (L-400M), not trained", "1", *["\u2013"] * 3] in cells


@pytest.mark.parametrize("seed", range(3))
def test_the_table_equals_a_recomputation_in_plain_python(table3, seed):
    random = np.random.default_rng(seed)
    predictions = [
        ("b32", manifest, testset, 0, row, int(random.integers(0, 3)))
        for manifest in ("large", "core", "other")
        for testset in ("val", "sketch", "unknown")
        for row in range(random.integers(1, 30))
    ]
    random.shuffle(predictions)
    right = {}
    for _, manifest, testset, _, _, rank in predictions:
        right.setdefault((manifest, testset), []).append(rank == 0)

    table = table3(predictions, paper=None).to_pylist()

    for row in [row for row in table if row["manifest"] != "semdedup"]:
        means = [np.mean(right[row["manifest"], name]) for name in ("val", "sketch")]
        if row["testset"] is not None:
            assert row["accuracy"] == np.mean(right[row["manifest"], row["testset"]])
            assert row["accuracy_low"] <= row["accuracy"] <= row["accuracy_high"]
        else:
            assert row["accuracy"] == pytest.approx(np.mean(means), abs=1e-15)
            assert row["accuracy_low"] is None
    assert {row["size"] for row in table} == {None}
