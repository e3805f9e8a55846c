import pyarrow as pa
import pytest

from clipaudit.memorization.reports.points import TARGET_TITLES
from clipaudit.reports.rendering import to_latex, to_markdown
from clipaudit.reports.tables import published_values, report_table

MEASURES = ("ppg", "prg", "aucg", "aucg_histogram")
NUMBERS = {"draws_mean": 0.24, "draws_std": 0.1}
BOUNDS = {"low": 0.05, "high": 0.45, "p_value": 0.03}  # of the mean and the hold-out
NET = {"net": 0.2, "net_low": 0.1, "net_high": 0.3}  # of one direction
VALUES = {"mean": 0.0, "a": 0.25, "b": -0.25, "control": 0.125}


def point(position, name, *, asked=True, epochs=2):
    models = {f"encoder_{letter}": f"{name}-{letter}" for letter in "ab"}
    models |= {f"manifest_{letter}": f"set-{letter}" for letter in "ab"}
    names = {"position": position, "point": name, "title": name, "recipe": "tiny"}
    return names | {"asked": asked, "epochs": epochs} | models


def gap(target, measure, *, point="default", k=10, source=""):
    row = {"public": "web", "point": point, "k": k, "source": source, "target": target}
    row |= {"measure": measure, "value": VALUES[target], "evaluated": 600, "dropped": 3}
    row |= dict.fromkeys([*BOUNDS, *NET])
    return row | NUMBERS | (NET if target in ("a", "b") else BOUNDS)


def steps(manifest, losses):
    """Two steps an epoch; a step number is as long as the list so far."""
    return [
        {"recipe": "tiny", "manifest": manifest, "step": step, "epoch": step // 2, "loss": loss}
        for step, loss in enumerate(losses)
    ]


@pytest.fixture
def table():
    """A function: the table over one public set and k = 10, with further points."""

    def build(*more, gaps=(), utility="val"):
        answers = {"default-a": (0, 0, 0, 1), "default-b": (0, 1, 1, 1)}
        rows = {
            "publics": [{"position": 0, "public": "web", "title": "Web"}],
            "points": [point(0, "default"), *more],
            "targets": [
                {"position": place, "target": name, "title": title}
                for place, (name, title) in enumerate(TARGET_TITLES.items())
            ],
            "sources": [
                {"position": place, "source": name, "title": name.title()}
                for place, name in enumerate(("", "web", "album"))
            ],
            "gaps": [gap(target, name) for target in VALUES for name in MEASURES] + [*gaps],
            "curves": steps("set-a", (8, 6, 4, 2)) + steps("set-b", (8, 8, 6, 4)),
            "utility": [
                {"encoder": encoder, "testset": "val", "right_rank": rank}
                for encoder, ranks in answers.items()
                for rank in ranks
            ],
        }
        views = {name: pa.Table.from_pylist(found) for name, found in rows.items()}
        parameters = {"neighbors": [10], "utility": utility, "utility_title": "Val"}
        views |= {"published": published_values("none")}
        return report_table("memorization_gaps", views, parameters)

    return build


def by_target(table, measure="ppg"):
    return {row["target"]: row for row in table.to_pylist() if row["measure"] == measure}


def test_targets_and_measures_are_ordered_with_their_numbers(table):
    rows = table().to_pylist()

    assert [row["target"] for row in rows[::4]] == ["mean", "a", "b", "control"]
    assert [row["measure"] for row in rows[:4]] == list(MEASURES)
    assert [row["value"] for row in rows[::4]] == [0.0, 0.25, -0.25, 0.125]
    assert [row["position"] for row in rows] == [place for place in range(4) for _ in range(4)]
    kept = ("draws_mean", "draws_std", "evaluated", "dropped")
    assert {tuple(row[name] for name in kept) for row in rows} == {(0.24, 0.1, 600, 3)}
    bounds = {row["target"]: (row["value_low"], row["p_value"], row["net_low"]) for row in rows}
    whole, net = (0.05, 0.03, None), (None, None, 0.1)
    assert bounds == {"mean": whole, "a": net, "b": net, "control": whole}


def test_single_sources_have_only_the_mean_and_the_holdout(table):
    of_album = [gap(target, name, source="album") for target in VALUES for name in MEASURES]

    rows = table(gaps=of_album).to_pylist()

    shown = [(row["target"], row["attack"]) for row in rows if row["source"] == "album"]
    assert shown[::4] == [
        ("mean", "Album, both directions"), ("control", "Album, hold-out (in neither)"),
    ]  # fmt: skip
    assert [row["position"] for row in rows] == [place for place in range(6) for _ in range(4)]


def test_losses_are_from_the_last_epoch_with_the_target_first(table):
    rows = by_target(table())

    losses = {name: (row["target_loss"], row["reference_loss"]) for name, row in rows.items()}
    # A ends with (4 + 2) / 2, B with (6 + 4) / 2; the hold-out is attacked at the model of A
    assert losses == {"a": (3, 5), "b": (5, 3), "mean": (4, 4), "control": (3, 5)}


def test_losses_of_an_earlier_checkpoint_are_from_its_epoch(table):
    early = point(1, "epochs-1", epochs=1)

    rows = table(early, gaps=[gap("a", name, point="epochs-1") for name in MEASURES]).to_pylist()

    assert [(row["target_loss"], row["reference_loss"]) for row in rows[-4:]] == [(7, 8)] * 4


def test_utility_is_that_of_the_target_with_an_exact_interval(table):
    rows = by_target(table())

    assert {name: row["utility"] for name, row in rows.items()} == {
        **{"a": 0.75, "b": 0.25},
        **{"mean": 0.5, "control": 0.75},
    }
    bounds = rows["b"]["utility_low"], rows["b"]["utility_high"]
    assert bounds == pytest.approx((0.006309, 0.805880), abs=1e-6)  # 1 of 4
    assert rows["mean"]["utility_low"] is None


def test_without_a_test_set_there_is_no_utility(table):
    assert {row["utility"] for row in table(utility="").to_pylist()} == {None}


def test_an_untrained_point_is_named_only_in_the_caption(table):
    found = table(point(1, "size 1000", asked=False))

    assert found["position"].to_pylist()[-4:] == [4] * 4
    assert found["target"].null_count == found["value"].null_count == 4
    caption, *lines = to_markdown("memorization_gaps", found).splitlines()
    assert caption.endswith(" Not trained in this run: size 1000.")
    assert not any("size 1000" in line for line in lines)


def test_the_table_prints_one_row_per_target_under_the_name_of_its_point(table):
    text = to_markdown("memorization_gaps", table())

    names = [line.split(" | ")[0].strip("| ") for line in text.splitlines()[2:]]
    assert "Web, k = 10: default, both directions" in names
    assert "\N{EN DASH} hold-out (in neither)" in names
    for expected in (
        "[+0.050, +0.450]",
        "+0.200 [+0.100, +0.300]",
        "+0.240 \N{PLUS-MINUS SIGN} 0.100",
        "3.000 and 5.000",
    ):
        assert expected in text
    assert "Val 75.0 [19.4, 99.4]" in text
    assert to_latex("memorization_gaps", table()).isascii()
