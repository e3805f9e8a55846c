import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import spearmanr

from clipaudit.reports.rendering import to_markdown
from clipaudit.reports.tables import report_table

COLUMNS = ["encoder", "testset", "test_shard", "test_row", "rank", "similarity"]
PARAMETERS = {"encoder": "b16", "second_encoder": "l14", "encoders_title": "B/16+ and L/14"}
PARAMETERS |= {"small_title": "ImageNet-Train"}


@pytest.fixture
def table5(view, published):
    def build(neighbors, titles=("Val", "R")):
        columns = dict(zip(COLUMNS, zip(*neighbors, strict=True), strict=True))
        views = {
            "testsets": view("testsets", [(0, "val", titles[0]), (1, "r", titles[1])]),
            "neighbors": pa.table(columns),
            "published": published("similarity_table5"),
        }
        return report_table("similarity_table5", views, PARAMETERS)

    return build


def rows(encoder, similarities, rank=0):
    return [(encoder, "val", 0, row, rank, value) for row, value in enumerate(similarities)]


def test_four_rows_by_hand(table5):
    neighbors = rows("b16", [0.1, 0.2, 0.3, 0.4]) + rows("l14", [0.5, 0.4, 0.8, 0.9])
    neighbors += rows("b16", [0.9, 0.8, 0.7, 0.6], rank=1) + rows("other", [0.4, 0.3, 0.2, 0.1])

    table = table5(neighbors)

    # ranks 1 2 3 4 and 2 1 3 4: 1 - 6 * 2 / (4 * 15)
    assert table["correlation"].to_pylist() == [0.8, None]
    assert table["images"].to_pylist() == [4, 0]
    assert "| Val      |      4 |           0.80 |" in to_markdown("similarity_table5", table)


def test_the_papers_correlation_stands_beside_that_of_its_test_set(table5):
    neighbors = rows("b16", [0.1, 0.2, 0.3]) + rows("l14", [0.1, 0.2, 0.3])

    table = table5(neighbors, titles=("ImageNet-Sketch", "Strangers"))

    assert table["published_correlation"].to_pylist() == [0.87, None]
    assert "in the paper" in to_markdown("similarity_table5", table)


def test_the_same_ranking_is_one_whatever_the_values(table5):
    similarities = np.random.default_rng(0).uniform(size=500)

    table = table5(rows("b16", similarities) + rows("l14", similarities**3))

    assert table["correlation"][0].as_py() == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_equals_a_recomputation_in_pandas(table5, seed):
    random = np.random.default_rng(seed)
    neighbors = [
        (encoder, testset, shard, row, rank, float(random.integers(0, 9) / 16))
        for encoder in ("b16", "l14")
        for testset in ("val", "r")
        for shard in range(2)
        for row in range(random.integers(5, 20))
        for rank in range(2)
    ]
    random.shuffle(neighbors)
    nearest = pd.DataFrame(neighbors, columns=COLUMNS).query("rank == 0")
    first, second = (nearest[nearest.encoder == name] for name in ("b16", "l14"))
    both = first.merge(second, on=["testset", "test_shard", "test_row"], suffixes=("", "_2"))

    table = table5(neighbors).to_pylist()

    for row in table:
        pairs = both[both.testset == row["testset"]]
        expected = spearmanr(pairs.similarity, pairs.similarity_2).statistic
        assert row["images"] == len(pairs)
        assert row["correlation"] == pytest.approx(expected, abs=1e-12)
