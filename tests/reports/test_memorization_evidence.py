import pyarrow as pa
import pytest

from clipaudit.memorization.ensemble_gaps import ENSEMBLE_GAPS
from clipaudit.memorization.reports.points import TARGET_TITLES
from clipaudit.reports.rendering import to_markdown
from clipaudit.reports.tables import report_table

SEEDS = ("tiny", "tiny.seed-1")
MEASURES = ("ppg", "prg", "aucg")


def gap(setting, target, measure, source=""):
    change = -0.25 if setting == "masking" else None
    row = {"k": 10, "source": source, "target": target, "measure": measure, "seeds": 2}
    row |= {"evaluated": 600, "by_seed": [0.25, 0.75], "value": 0.5, "low": 0.375, "high": 0.625}
    row |= {"change": change, "change_low": change and -0.5, "change_high": change and 0.0}
    return row | {"public": "web", "point": setting}


@pytest.fixture
def table():
    """Two settings under two seeds; a model of A ends at 2, one of B at 3."""
    points = [
        {"point": f"{setting}.{seed}", "setting": setting, "recipe": seed, "epochs": 2}
        | {"setting_position": place, "setting_title": setting}
        | {"manifest_a": "set-a", "manifest_b": "set-b"}
        for place, setting in enumerate(("default", "masking"))
        for seed in SEEDS
    ]
    rows = {
        "publics": [{"position": 0, "public": "web", "title": "Web"}],
        "points": points,
        "targets": [
            {"position": place, "target": name, "title": title}
            for place, (name, title) in enumerate(TARGET_TITLES.items())
        ],
        "sources": [
            {"position": place, "source": name, "title": name.title()}
            for place, name in enumerate(("", "album"))
        ],
        "curves": [
            {"recipe": name, "manifest": f"set-{model}", "epoch": epoch, "step": epoch}
            | {"loss": loss + (1 - epoch) * 5.0}
            for name in SEEDS
            for model, loss in (("a", 2.0), ("b", 3.0))
            for epoch in range(2)
        ],
    }
    views = {name: pa.Table.from_pylist(found) for name, found in rows.items()}
    labels = [pa.field("public", pa.string()), pa.field("point", pa.string())]
    views["gaps"] = pa.Table.from_pylist(
        [
            gap(setting, target, measure, source)
            for setting in ("masking", "default")
            for source in ("", "album")
            for target in TARGET_TITLES
            for measure in MEASURES
        ],
        pa.schema([*ENSEMBLE_GAPS, *labels]),
    )
    return report_table("memorization_evidence", views, {})


def test_each_setting_has_all_targets_and_single_sources_omit_holdout_values(table):
    rows = table.to_pylist()[::3]

    shown = [(row["setting"], row["source"], row["target"]) for row in rows]
    assert shown == [
        (setting, source, target)
        for setting in ("default", "masking")
        for source, targets in (("", TARGET_TITLES), ("album", ("mean", "control")))
        for target in targets
    ]
    assert [row["position"] for row in rows] == list(range(12))


def test_losses_are_means_over_seeds_of_the_last_epoch(table):
    rows = table.to_pylist()

    losses = [(row["target_loss"], row["reference_loss"]) for row in rows[:12:3]]
    assert losses == [(2.5, 2.5), (2, 3), (3, 2), (2, 3)]


def test_the_table_prints_the_seeds_and_the_change_from_the_default(table):
    text = to_markdown("memorization_evidence", table)

    assert "Web, k = 10: default, hold-out (in neither)" in text
    assert "+0.250, +0.750" in text
    assert "\N{MINUS SIGN}0.250 [\N{MINUS SIGN}0.500, 0.000]" in text
    assert "2.000 and 3.000" in text
