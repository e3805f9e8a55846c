import pyarrow as pa

from clipaudit.memorization.one_model import ONE_MODEL
from clipaudit.memorization.reports.pair_tables import PARTS, REFERENCES
from clipaudit.reports.rendering import to_markdown
from clipaudit.reports.specification import numbered, titled
from clipaudit.reports.tables import report_table

LABELS = {"encoder": "m", "source": "web", "holdout": "web"}


def table(*rows):
    """The table of one test, from rows of ONE_MODEL."""
    stored = pa.Table.from_pylist(
        [dict(zip(ONE_MODEL.names, row, strict=True)) for row in rows], ONE_MODEL
    )
    for name, value in LABELS.items():
        stored = stored.append_column(name, pa.array([value] * len(stored)))
    views = {
        "tests": pa.Table.from_pylist(numbered([{**LABELS, "title": "web, model m"}])),
        "baselines": pa.Table.from_pylist(titled("reference", REFERENCES.items())),
        "parts": pa.Table.from_pylist(titled("part", PARTS.items())),
        "one_model": stored,
    }
    return report_table("memorization_one_model", views, {})


NET = (10, "words", "aucg", "net", 170, 0.2, 0.1, 0.3)
SURE = (10, "words", "aucg", "holdout", 80, 0.0, None, None)


def test_four_rows_by_hand():
    found = table((10, "model", "prg", "net", 170, 0.1, 0.0, 0.2), NET, SURE, (5, *NET[1:]))

    told = [(row["attack"], row["part"]) for row in found.to_pylist()]
    words = "against words of captions: AUCG"
    assert told == [
        (f"web, model m, k = 5, {words}", "net"),
        (f"web, model m, k = 10, {words}", "holdout"),
        (f"web, model m, k = 10, {words}", "net"),
        ("web, model m, k = 10, against a second model: PRG", "net"),
    ]
    assert found["position"].to_pylist() == [0, 1, 1, 2]


def test_a_gap_has_its_sign_and_its_interval_where_there_is_one():
    text = to_markdown("memorization_one_model", table(NET, SURE))

    assert "+0.200" in text
    assert text.count("[+0.100, +0.300]") == 1
