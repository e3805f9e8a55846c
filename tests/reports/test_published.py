import math

import pytest

from clipaudit.reports.tables import published_values

TESTSETS = {
    *("ImageNet-Val", "ImageNet-Sketch", "ImageNet-A", "ImageNet-R"),
    *("ImageNet-V2", "ObjectNet"),
}


SKETCH_PRUNED = ("sketch-pruned", "ImageNet-Sketch", "accuracy_percent")


def values(table):
    """The paper's table as {(row, testset, measure): value}; a key typed twice fails."""
    name = f"table{table}" if isinstance(table, int) else table
    rows = published_values(f"similarity_{name}").to_pylist()
    cells = {(row["row"], row["testset"], row["measure"]): row["value"] for row in rows}
    assert len(cells) == len(rows)
    return cells


@pytest.mark.parametrize(
    ("table", "count"), [(1, 77), (2, 18), (3, 56), (4, 77), (5, 6), (6, 12), (7, 18)]
)
def test_every_number_of_the_paper_is_present(table, count):
    cells = values(table)

    assert len(cells) == count
    assert all(math.isfinite(value) for value in cells.values())
    assert {testset for _, testset, _ in cells} - {""} == TESTSETS


@pytest.mark.parametrize(
    ("table", "cell", "value"),
    [
        (1, ("OpenAI", "ImageNet-Val", "accuracy_percent"), 63.38),
        (1, ("L-200M + IN-Train", "ImageNet-V2", "accuracy_percent"), 59.7),
        (1, ("r-pruned", "", "removed"), 5_735_749),
        (1, ("combined-pruned", "ObjectNet", "accuracy_percent"), 44.39),
        (2, ("LAION-400M", "ImageNet-Sketch", "near_duplicates"), 1553),
        (3, ("SemDeDup (L-400M)", "ImageNet-A", "accuracy_percent"), 16.71),
        (4, ("combined-pruned", "ImageNet-Sketch", "accuracy_percent"), 41.97),
        (4, ("ResNet-101", "ImageNet-A", "accuracy_percent"), 4.47),
        (5, ("ImageNet-Train by ViT-B/16+ and ViT-L/14", "ObjectNet", "spearman"), 0.8),
        (6, ("ImageNet-Train", "ObjectNet", "near_gap"), 52_277),
        (7, ("LAION-200M", "ImageNet-A", "nearer_percent"), 45.53),
    ],
)
def test_numbers_equal_those_of_the_paper(table, cell, value):
    assert values(table)[cell] == value


def test_averages_of_table_3_follow_from_its_rows():
    """Two V2 cells were placed by the averages that the paper prints."""
    cells = values(3)
    averages = {row: value for (row, _, name), value in cells.items() if name.startswith("av")}
    for row, average in averages.items():
        accuracies = [cells.get((row, name, "accuracy_percent")) for name in TESTSETS]
        if None not in accuracies:
            assert sum(accuracies) / 6 == pytest.approx(average, abs=0.006)


@pytest.mark.parametrize("table", [1, 3, 4])
def test_the_papers_released_model_is_next_to_our_released_model(table, settings):
    rows = {row for row, _, _ in values(table)}

    assert settings["encoders"]["laion-b32"]["title"] in rows
    assert settings["corpora"]["laion"]["title"] not in rows  # of a model trained here


def test_the_papers_effective_robustness_is_thirty_points():
    cells = {measure: value for (_, _, measure), value in values("robustness").items()}

    assert cells["accuracy_percent"] == values(1)[SKETCH_PRUNED]
    assert round(cells["accuracy_percent"] - cells["expected_accuracy_percent"]) == 31


def test_rows_shared_by_tables_agree():
    first, fourth = values(1), values(4)

    for cell in first.keys() & fourth.keys():
        if not cell[0].endswith("-pruned") or cell[2] == "removed":
            assert first[cell] == fourth[cell]
