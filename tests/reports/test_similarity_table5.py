import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import spearmanr

from clipaudit.reports.rendering import to_markdown
from clipaudit.reports.tables import report_table

COLUMNS = ["encoder", "testset", "test_shard", "test_row", "rank", "similarity"]
PARAMETERS = {"encoder": "b16", "small_title": "ImageNet-Train"}
OTHERS = {"l14": "B/16+ and L/14", "dino": "B/16+ and DINO"}
PAPERS = {"l14": "ViT-B/16+ and ViT-L/14", "dino": "ViT-B/16+ and DINO"}
SIMILARITIES = {
    "encoder": pa.string(),
    "testset": pa.string(),
    "shard": pa.int32(),
    "row": pa.int32(),
    "gap_similarity": pa.float64(),
    "gap": pa.float64(),
}


def table_of(columns, rows):
    schema = pa.schema(list(columns.items()))
    return pa.Table.from_pylist([dict(zip(columns, row, strict=True)) for row in rows], schema)


def manifest(rows, kept=True):
    return [("large", "all", 0, row, kept) for row in rows]


@pytest.fixture
def table5(view, published):
    def build(neighbors=(), titles=("Val", "R"), others=OTHERS, crossing=(), kept=(), dropped=()):
        """`crossing` and `dropped` as (encoder, row of the train sample); crossings are by val."""
        similarities = [(name, "val", 0, row, 0.75, 0.5) for name, row in crossing]
        views = {
            "testsets": view("testsets", [(0, "val", titles[0]), (1, "r", titles[1])]),
            "others": pa.Table.from_pylist(
                [
                    {"position": place, "encoder": name, "title": title}
                    for place, (name, title) in enumerate(others.items())
                ]
            ),
            "neighbors": table_of(
                dict(
                    zip(COLUMNS, [*[pa.string()] * 2, *[pa.int32()] * 3, pa.float64()], strict=True)
                ),
                neighbors,
            ),
            "similarities": table_of(SIMILARITIES, similarities),
            "drops": table_of(
                {"encoder": pa.string(), "shard": pa.int32(), "row": pa.int32()},
                [(name, 0, row) for name, row in dropped],
            ),
            "manifest_rows": view("manifest_rows", kept),
            "published": published("similarity_table5"),
        }
        return report_table("similarity_table5", views, PARAMETERS)

    return build


def rows(encoder, similarities, rank=0):
    return [(encoder, "val", 0, row, rank, value) for row, value in enumerate(similarities)]


def decisions(row):
    names = ("samples", "by_both", "by_first_alone", "by_other_alone", "by_neither")
    return tuple(row[name] for name in names)


def test_four_rows_match_a_hand_calculation(table5):
    neighbors = rows("b16", [0.1, 0.2, 0.3, 0.4]) + rows("l14", [0.5, 0.4, 0.8, 0.9])
    neighbors += rows("b16", [0.9, 0.8, 0.7, 0.6], rank=1) + rows("dino", [0.4, 0.3, 0.2, 0.1])

    table = table5(neighbors)

    # ranks 1 2 3 4 and 2 1 3 4: 1 - 6 * 2 / (4 * 15)
    assert table["correlation"].to_pylist() == [0.8, -1.0, None, None]
    assert table["images"].to_pylist() == [4, 4, 0, 0]
    assert "| Val      |      4 |           0.80 |" in to_markdown("similarity_table5", table)


def test_the_papers_correlation_is_next_to_that_of_its_encoders_and_test_set(table5):
    neighbors = rows("b16", [0.1, 0.2, 0.3]) + rows("l14", [0.1, 0.2, 0.3])

    table = table5(neighbors, titles=("ImageNet-Sketch", "Strangers"), others=PAPERS)

    assert table["published_correlation"].to_pylist() == [0.87, None, None, None]
    assert "in the paper" in to_markdown("similarity_table5", table)


def test_equal_rankings_have_correlation_one_for_any_values(table5):
    similarities = np.random.default_rng(0).uniform(size=500)

    table = table5(rows("b16", similarities) + rows("l14", similarities**3))

    assert table["correlation"][0].as_py() == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_the_table_equals_a_recomputation_in_polars(table5, seed):
    random = np.random.default_rng(seed)
    neighbors = [
        (encoder, testset, shard, row, rank, float(random.integers(0, 9) / 16))
        for encoder in ("b16", "l14", "dino")
        for testset in ("val", "r")
        for shard in range(2)
        for row in range(random.integers(5, 20))
        for rank in range(2)
    ]
    random.shuffle(neighbors)
    nearest = pl.DataFrame(neighbors, schema=COLUMNS, orient="row").filter(rank=0)
    keys = ["testset", "test_shard", "test_row"]

    for row in table5(neighbors).to_pylist():
        first, other = (nearest.filter(encoder=name) for name in row["encoders"].split("/"))
        pairs = first.join(other, on=keys, suffix="_2").filter(testset=row["testset"])
        expected = spearmanr(pairs["similarity"], pairs["similarity_2"]).statistic
        assert row["images"] == len(pairs)
        assert row["correlation"] == pytest.approx(expected, abs=1e-12)


def test_decisions_match_a_hand_calculation(table5):
    crossing = [("b16", 0), ("b16", 1), ("b16", 2), ("l14", 1), ("l14", 2), ("l14", 3), ("dino", 9)]

    table = table5(crossing=crossing, kept=manifest(range(10)))

    l14, dino, *of_r = table.to_pylist()
    assert decisions(l14) == (10, 2, 1, 1, 6)
    assert (l14["both_by_chance"], l14["jaccard"]) == (pytest.approx(0.9), 0.5)
    # observed 0.8, by chance 0.3 * 0.3 + 0.7 * 0.7 = 0.58
    assert l14["kappa"] == pytest.approx((0.8 - 0.58) / (1 - 0.58))
    assert decisions(dino) == (10, 0, 3, 1, 6)
    assert dino["kappa"] < 0
    assert [decisions(row) for row in of_r] == [(10, 0, 0, 0, 10)] * 2
    assert {(row["jaccard"], row["kappa"]) for row in of_r} == {(None, None)}
    assert "pruned by both" in to_markdown("similarity_table5", table)


def test_a_sample_missing_in_one_encoder_is_decided_by_neither(table5):
    crossing = [("b16", 0), ("b16", 1), ("l14", 0), ("l14", 1)]

    table = table5(crossing=crossing, kept=manifest(range(5)), dropped=[("l14", 1), ("dino", 4)])

    l14, dino, *_ = table.to_pylist()
    assert decisions(l14) == (4, 1, 0, 0, 3)
    assert decisions(dino) == (4, 0, 2, 0, 2)


def test_samples_dropped_by_the_base_are_not_counted(table5):
    kept = manifest(range(3)) + manifest([3, 4], kept=False)

    table = table5(crossing=[("b16", 0), ("b16", 3)], kept=kept, dropped=[("b16", 4)])

    assert decisions(table.to_pylist()[0]) == (3, 0, 1, 0, 2)


def test_decisions_that_were_not_requested_are_not_printed(table5):
    table = table5(rows("b16", [0.1, 0.2]) + rows("l14", [0.1, 0.2]))

    assert set(map(decisions, table.to_pylist())) == {(None,) * 5}
    assert "pruned by both" not in to_markdown("similarity_table5", table)


def test_decisions_by_chance_have_an_interval_around_zero(table5):
    random = np.random.default_rng(0)
    crossing = [
        (name, row) for name in ("b16", "l14") for row in np.flatnonzero(random.random(3000) < 0.2)
    ]

    l14, dino, *_ = table5(crossing=crossing, kept=manifest(range(3000))).to_pylist()

    assert l14["kappa_low"] < 0 < l14["kappa_high"]
    assert l14["kappa_low"] < l14["kappa"] < l14["kappa_high"]
    assert dino["by_both"] == 0
