import pyarrow as pa

from clipaudit.memorization.one_model import ONE_MODEL
from clipaudit.memorization.one_model_over_seeds import ONE_MODEL_OVER_SEEDS
from clipaudit.memorization.reports.pair_tables import PARTS, REFERENCES
from clipaudit.reports.rendering import to_markdown
from clipaudit.reports.specification import numbered, titled
from clipaudit.reports.tables import report_table

LABELS = {"encoder": "m", "source": "web", "holdout": "web"}


def stored(schema, rows, labels):
    """A table of the store with these rows, as the workflow labels it."""
    given = [dict(zip(schema.names, row, strict=True)) for row in rows]
    found = pa.Table.from_pylist(given, schema)
    for name, value in labels.items():
        found = found.append_column(name, pa.array([value] * len(found), pa.string()))
    return found


def table(*rows, over_seeds=()):
    """The table of one test, from rows of ONE_MODEL."""
    of_model = {name: LABELS[name] for name in ("source", "holdout")}
    tests = [{**LABELS, "encoder": "", "title": "web, mean"}, {**LABELS, "title": "web, model m"}]
    views = {
        "tests": pa.Table.from_pylist(numbered(tests)),
        "baselines": pa.Table.from_pylist(titled("reference", REFERENCES.items())),
        "parts": pa.Table.from_pylist(titled("part", PARTS.items())),
        "one_model": stored(ONE_MODEL, rows, LABELS),
        "one_model_over_seeds": stored(ONE_MODEL_OVER_SEEDS, over_seeds, of_model),
    }
    return report_table("memorization_one_model", views, {})


NET = (10, "words", "aucg", "net", 170, 0.2, 0.1, 0.3)
SURE = (10, "words", "aucg", "holdout", 80, 0.0, None, None)


def test_four_rows_match_a_hand_calculation():
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


def test_a_gap_has_its_sign_and_its_interval_if_it_exists():
    text = to_markdown("memorization_one_model", table(NET, SURE))

    assert "+0.200" in text
    assert text.count("[+0.100, +0.300]") == 1


def test_the_mean_over_seeds_comes_first_and_has_no_model():
    mean = (10, "words", "aucg", "net", 3, 170, 0.1, -0.1, 0.3)

    found = table(NET, over_seeds=[mean]).to_pylist()

    told = [(row["attack"].split(",")[1], row["encoder"], row["value"]) for row in found]
    assert told == [(" mean", "", 0.1), (" model m", "m", 0.2)]
