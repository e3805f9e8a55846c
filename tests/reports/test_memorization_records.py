"""The tables of single records and of groups of them: both start from the same pairs of recalls."""

import pyarrow as pa
import pytest

from clipaudit.reports.rendering import to_markdown
from clipaudit.reports.tables import report_table

# (truths, correct of A's model, correct of B's model) of the records 0 to 3 of A and 4 of B
RECALLED = [(4, 3, 1), (2, 1, 1), (5, 1, 2), (0, 0, 0), (2, 0, 2)]
MODELS = {"model-a": 1, "model-b": 2}
QUANTITIES = [("recall_gap", ""), ("precision_gap", ""), ("similarity", "val"), ("text_rate", "")]


def record_views(similarity, rates=(), recalled=RECALLED):
    """Views over one source; `similarity` to val by row, `rates` by row."""
    at = {"source": "web", "shard": 0}
    rows = {
        "attacks": [
            {"source": "web", "manifest": "set-a", "attacked": "a"}
            | {"target": "model-a", "reference": "model-b"},
            {"source": "web", "manifest": "set-b", "attacked": "b"}
            | {"target": "model-b", "reference": "model-a"},
        ],
        "manifest_rows": [
            {"corpus": "web", "shard": 0, "set": name}
            | {"row": row, "kept": (row < 4) == (name == "set-a")}
            for name in ("set-a", "set-b")
            for row in range(5)
        ],
        "recalls": [
            at
            | {"encoder": model, "row": row, "k": 10, "truths": each[0], "predicted": 4}
            | {"correct": each[place]}
            for model, place in MODELS.items()
            for row, each in enumerate(recalled)
        ],
        "samples": [
            at | {"row": row, "uid": f"{9 - row:032x}", "caption": f"picture {row}"}
            for row in range(5)
        ],
        "quantities": [
            {"position": position, "quantity": name, "testset": test_set, "title": name}
            for position, (name, test_set) in enumerate(QUANTITIES)
        ],
    }
    views = {name: pa.Table.from_pylist(found) for name, found in rows.items()}
    near = [
        {"corpus": "web.drawn", "shard": 0, "row": row, "testset": "val", "similarity": value}
        for row, value in similarity.items()
    ]
    rated = [
        {"corpus": "web", "shard": 0, "row": row, "words_rate": rate, "plain_rate": rate / 2}
        for row, rate in dict(rates).items()
    ]
    return views | {
        "similarities": pa.Table.from_pylist(near) if near else [],
        "matches": pa.Table.from_pylist(rated) if rated else [],
    }


@pytest.fixture
def joined():
    def build(similarity, rates=(), tokenization="words"):
        views, asked = record_views(similarity, rates), {"neighbors": [10]}
        return report_table("memorization_joined", views, asked | {"tokenization": tokenization})

    return build


@pytest.fixture
def listed():
    def build(limit=None, **changes):
        views = record_views({0: 0.5}, **changes)
        asked = {"limit": limit, "tokenization": "words"}
        return report_table("memorization_records", views, asked)

    return build


def of_quantity(table, quantity):
    return [row for row in table.to_pylist() if row["quantity"] == quantity]


def test_records_are_grouped_by_their_recall_gap(joined):
    rows = of_quantity(joined({}), "recall_gap")

    # 2 of 4 and 2 of 2 more, equal, 1 of 5 fewer; one has no label
    assert [(row["gap_group"], row["records"]) for row in rows] == [
        *(("above", 2), ("equal", 1), ("below", 1), ("all", 4)),
    ]
    assert [row["value"] for row in rows] == [0.75, 0, -0.2, pytest.approx(1.3 / 4)]


def test_similarities_are_listed_next_to_the_gaps(joined):
    rows = of_quantity(joined({0: 0.5, 1: 0.25, 2: 0.125, 3: 1.0, 4: 0.75}), "similarity")

    assert [row["value"] for row in rows] == [0.625, 0.25, 0.125, 1.625 / 4]
    assert [row["rank_correlation"] for row in rows] == [None, None, None, 1.0]
    assert {row["testset"] for row in rows} == {"val"}


def test_values_unknown_to_all_audits_are_empty(joined):
    table = joined({0: 0.5})

    similar, rates = (of_quantity(table, name) for name in ("similarity", "text_rate"))
    assert [(row["known"], row["value"]) for row in similar] == [
        *((1, 0.5), (0, None), (0, None), (1, 0.5)),
    ]
    assert {row["value"] for row in rates} == {None}
    assert similar[3]["rank_correlation"] is None


def test_text_rates_are_listed_next_to_the_gaps(joined):
    rows = of_quantity(joined({}, {0: 0.0, 2: 1.0, 4: 0.5}), "text_rate")

    assert [row["value"] for row in rows] == [0.25, None, 1.0, 0.5]


def test_text_rates_follow_the_tokenization(joined):
    table = joined({}, {0: 0.0, 2: 1.0, 4: 0.5}, tokenization="plain")

    assert [row["value"] for row in of_quantity(table, "text_rate")] == [0.125, None, 0.5, 0.25]


def test_groups_are_printed_under_their_k(joined):
    text = to_markdown("memorization_joined", joined({0: 0.5}))

    assert "k = 10: target recalls more" in text
    assert "\N{EN DASH} reference recalls more" in text
    assert "records without it" in text


def test_single_records_are_sorted_by_descending_gap(listed):
    rows = of_quantity(listed(), "recall_gap")

    assert [(row["row"], row["set"], row["value"]) for row in rows] == [
        *((4, "b", 1.0), (0, "a", 0.5), (1, "a", 0.0), (2, "a", -0.2)),
    ]
    first = rows[0]
    assert (first["truths"], first["target_correct"], first["reference_correct"]) == (2, 2, 0)
    assert (first["target_predicted"], first["reference_predicted"]) == (4, 4)
    assert (first["uid"], first["caption"]) == (f"{5:032x}", "picture 4")


def test_a_tie_goes_to_the_lower_uid(listed):
    rows = of_quantity(listed(recalled=[(2, 1, 0)] * 4 + [(0, 0, 0)]), "recall_gap")

    assert [row["row"] for row in rows] == [3, 2, 1, 0]  # uids fall with the row


def test_a_limit_keeps_the_first_of_each_k(listed):
    table = listed(limit=2)

    assert table["row"].to_pylist() == [4] * 4 + [0] * 4
    assert of_quantity(table, "similarity")[1]["value"] == 0.5
    assert [row["value"] for row in of_quantity(table, "precision_gap")] == [0.5, 0.5]


def test_a_record_prints_its_caption_and_its_address(listed):
    text = to_markdown("memorization_records", listed(limit=1))

    assert "k = 10: picture 4 (B; web, 0, 4)" in text
    assert "2 and 0 of 2" in text
