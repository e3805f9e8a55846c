import pyarrow as pa
import pytest

from clipaudit.memorization.reports.points import TARGETS
from clipaudit.reports.rendering import to_markdown
from clipaudit.reports.tables import report_table

T = 4.302652729911  # 97.5 % quantile of Student's t with 2 degrees of freedom
SEEDS = ("one", "two", "three")


def evidence(values, lows, masked=()):
    """The table of PPG of A under three seeds; a model of A ends at 2, one of B at 3.

    `masked` are the values at another setting.
    """
    settings = {"default": values, "masking": masked} if masked else {"default": values}
    points = [
        {
            "point": f"{setting}.{seed}",
            "seed": seed,
            "setting": setting,
            "recipe": seed,
            "epochs": 2,
        }
        | {"setting_position": place, "setting_title": setting}
        | {"manifest_a": "set-a", "manifest_b": "set-b"}
        for place, setting in enumerate(settings)
        for seed in SEEDS
    ]
    measures = ("ppg", "prg", "aucg", "aucg_histogram")
    rows = {
        "publics": [{"position": 0, "public": "web", "title": "Web"}],
        "points": points,
        "targets": [
            {"position": place, "target": name, "title": title}
            for place, (name, title) in enumerate(TARGETS.items())
        ],
        "gaps": [
            {"public": "web", "point": f"{setting}.{seed}", "k": 10, "target": target}
            | {"measure": measure, "value": value, "low": low, "high": low + 1, "evaluated": 600}
            for setting, found in settings.items()
            for seed, value, low in zip(SEEDS, found, lows, strict=True)
            for target in TARGETS
            for measure in measures
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
    return report_table("memorization_evidence", views, {"t": T, "default": "default"})


@pytest.fixture
def table():
    return evidence([0.5, 0.25, 0.75], [0.125, -0.25, 0.5])


def test_means_and_intervals_are_those_worked_by_hand(table):
    first = table.to_pylist()[0]

    margin = T * 0.25 / 3**0.5  # the values deviate by 0, 0.25 and 0.25
    assert (first["target"], first["measure"], first["value"]) == ("a", "ppg", 0.5)
    assert first["value_low"] == pytest.approx(0.5 - margin)
    assert first["value_high"] == 1  # no gap is larger
    assert first["seeds"] == 3


def test_seeds_whose_interval_excludes_zero_are_counted(table):
    assert set(table["excluding_zero"].to_pylist()) == {2}


def test_every_target_has_three_measures_and_its_losses(table):
    rows = table.to_pylist()

    assert [row["target"] for row in rows[::3]] == ["a", "b", "mean", "control"]
    assert [row["measure"] for row in rows[:3]] == ["ppg", "prg", "aucg"]
    losses = [(row["target_loss"], row["reference_loss"]) for row in rows[::3]]
    assert losses == [(2, 3), (3, 2), (2.5, 2.5), (2, 3)]


def test_one_seed_has_no_interval():
    row = evidence([0.5, None, None], [0.125, -0.5, -0.5]).to_pylist()[0]

    assert (row["value"], row["seeds"]) == (0.5, 1)
    assert row["value_low"] is row["value_high"] is None


def test_it_prints_how_many_seeds_show_it(table):
    text = to_markdown("memorization_evidence", table)

    assert "Web, k = 10: default, hold-out (in neither)" in text
    assert "2 of 3" in text
    assert "2.000 and 3.000" in text


def test_a_setting_is_compared_with_the_default_seed_by_seed():
    table = evidence([0.5, 0.25, 0.75], [0.125] * 3, masked=[0.25, 0.125, 0.375])

    rows = {(row["setting"], row["target"], row["measure"]): row for row in table.to_pylist()}
    row = rows["masking", "a", "ppg"]
    margin = T * 0.125 / 3**0.5  # the changes, -1/4, -1/8 and -3/8, deviate by 0, 1/8 and 1/8
    assert row["change"] == -0.25
    assert (row["change_low"], row["change_high"]) == pytest.approx(
        (-0.25 - margin, -0.25 + margin)
    )
    assert rows["default", "a", "ppg"]["change"] is None
    assert "less the default's" in to_markdown("memorization_evidence", table)
