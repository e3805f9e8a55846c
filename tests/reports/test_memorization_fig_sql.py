"""The SQL of the memorization figures: over rows worked by hand, and over stored tables."""

from pathlib import Path

import pyarrow as pa
import pytest

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.evaluation.evaluation import PREDICTIONS
from clipaudit.evaluation.selection import SELECTIONS
from clipaudit.memorization.measures import GAPS_BY_K, SAMPLE_GAPS_BY_K, SURVIVAL_BY_K
from clipaudit.memorization.reports.figures import memorization_figures
from clipaudit.reports.drawing import figure_bytes
from clipaudit.reports.drawings import draw_figure
from clipaudit.reports.intervals import exact_interval
from clipaudit.reports.tables import report_table

DEMO = Path(__file__).parents[2] / "config/demo_full.yaml"

# folder of results/: the schema of its tables, and the labels of their paths
STORED = {
    "gaps": (GAPS_BY_K, ("public", "point")),
    "survival": (SURVIVAL_BY_K, ("public", "point")),
    "sample_gaps": (SAMPLE_GAPS_BY_K, ("public", "point")),
    "utility": (PREDICTIONS, ("encoder", "testset")),
    "selections": (SELECTIONS, ("encoder", "selection")),
}


def query(sql, parameters, **rows):
    views = {name: pa.Table.from_pylist(found) for name, found in rows.items()}
    return report_table(sql, views, parameters)


def bounds(correct, images):
    ((low, high),) = exact_interval(pa.array([correct]).to_numpy(), pa.array([images]).to_numpy())
    return low, high


def gap(target, measure, value, *, public="web", point="default", k=10, evaluated=90):
    row = {"public": public, "point": point, "k": k, "target": target, "measure": measure}
    row["source"] = ""
    draws = {"draws_mean": value + 0.01, "draws_std": 0.125}
    return row | draws | {"value": value, "evaluated": evaluated, "dropped": 10}


def in_place(**columns):
    """The columns of groups and panels that most rows share."""
    same = {"panel_row": 0, "panel_column": 0, "panel_title": "Web", "scale": "gap"}
    return same | {"is_default": False, "in_grid": True} | columns


# --- bars of gaps and utility --------------------------------------------------------------------


@pytest.fixture
def gaps():
    """A function: Figure 2 over one public set: the default point and `small`, not in the grid."""

    def build(*more):
        names = ("public", "panel_row", "panel_column", "panel_title", "is_default", "in_grid")
        group = {name: in_place(public="web")[name] for name in names}
        first = {"group_position": 0, "group_title": "1M", "point": "small", "in_grid": False}
        second = {"group_position": 1, "group_title": "10M", "point": "default"}
        answers = {"model-a": (0, 0, 0, 1), "model-b": (0, 1, 2, 3), "other": (0, 0, 0, 0)}
        return query(
            "memorization_fig2",
            {"k": 10, "testset": "val"},
            groups=[group | first, group | second | {"is_default": True}],
            measures=[
                {"panel_row": row, "scale": scale, "series_position": n, "series": name, "title": t}
                for n, (row, scale, name, t) in enumerate(
                    [(0, "gap", "ppg", "PPG"), (0, "gap", "aucg", "AUCG"), (1, "u", "utility", "U")]
                )
            ],
            models=[{"point": "default", "encoder": f"model-{letter}"} for letter in "ab"],
            gaps=[
                *(gap("a", "aucg", 0.4), gap("a", "ppg", 0.3), gap("b", "aucg", 0.2, evaluated=80)),
                *(gap("mean", "aucg", 0.25), gap("mean", "ppg", 0.5), *more),
            ],
            utility=[
                {"encoder": encoder, "testset": testset, "right_rank": rank}
                for encoder, ranks in answers.items()
                for testset in ("val", "sketch")
                for rank in (ranks if testset == "val" else (5,) * 9)
            ],
        ).to_pylist()

    return build


def test_gaps_are_the_mean_attack_over_the_draws(gaps):
    values = {row["series"]: row for row in gaps() if row["point"] == "default"}

    ppg = values["ppg"]
    assert (ppg["value"], ppg["low"], ppg["high"]) == (0.51, 0.51 - 0.125, 0.51 + 0.125)
    assert (ppg["over_all"], values["aucg"]["over_all"]) == (0.5, 0.25)
    assert {row["training_samples"] for row in values.values()} == {100}  # of A, not of both


def test_gaps_of_other_k_public_sets_and_points_are_omitted(gaps):
    others = [
        gap("mean", "ppg", 0.9, **other)
        for other in ({"k": 20}, {"public": "photos"}, {"point": "epochs-5"})
    ]

    assert gaps(*others) == gaps()


def test_utility_is_the_mean_of_both_models_within_their_outer_bounds(gaps):
    (row,) = [row for row in gaps() if row["series"] == "utility" and row["point"] == "default"]

    assert (row["panel_row"], row["value"], row["over_all"]) == (1, 0.5, 0.5)
    assert (row["low"], row["high"]) == (bounds(1, 4)[0], bounds(3, 4)[1])


def test_groups_outside_the_grid_stay_without_values(gaps):
    rows = gaps()

    assert [(row["panel_row"], row["point"], row["series"]) for row in rows] == [
        *((0, "small", "ppg"), (0, "small", "aucg")),
        *((0, "default", "ppg"), (0, "default", "aucg")),
        *((1, "small", "utility"), (1, "default", "utility")),
    ]
    unknown = ("training_samples", "value", "low", "high", "over_all")
    assert {row[name] for row in rows if not row["in_grid"] for name in unknown} == {None}


# --- gaps against utility -------------------------------------------------------------------------


def trade_off(*, gaps, utility):
    """The rows of two points over two public sets; `small` is a smaller size."""
    points = [("default", "", True, 8, "default"), ("small", "1M", False, 0, "training samples")]
    names = ("point", "title", "is_default", "family_position", "family_title")
    return query(
        "memorization_trade_off",
        {"k": 10, "measure": "prg", "testset": "val"},
        publics=[{"position": n, "public": p, "title": p} for n, p in enumerate(("web", "photos"))],
        points=[
            {"position": n} | dict(zip(names, row, strict=True)) for n, row in enumerate(points)
        ],
        models=[
            {"point": point, "encoder": f"{point}-{letter}"}
            for point in ("default", "small")
            for letter in "ab"
        ],
        gaps=[row | {"low": row["value"] - 0.25, "high": row["value"] + 0.25} for row in gaps],
        utility=[
            {"encoder": encoder, "testset": "val", "right_rank": rank}
            for encoder, ranks in utility.items()
            for rank in ranks
        ],
    ).to_pylist()


ANSWERS = {"default-a": (0, 0, 0, 1), "default-b": (0, 1, 2, 3), "small-a": (1,), "small-b": (0,)}


def test_the_mean_gap_and_its_interval_are_paired_with_the_utility_of_both_models():
    others = [gap("mean", "aucg", 0.9), gap("a", "prg", 0.9), gap("mean", "prg", 0.9, k=20)]

    row, *_ = trade_off(gaps=[gap("mean", "prg", 0.5), *others], utility=ANSWERS)

    assert (row["y"], row["y_low"], row["y_high"], row["evaluated"]) == (0.5, 0.25, 0.75, 90)
    assert (row["x"], row["x_low"], row["x_high"]) == (0.5, bounds(1, 4)[0], bounds(3, 4)[1])


def test_every_public_set_has_each_point_with_one_utility_and_its_own_gap():
    found = [("web", "default", 0.5), ("web", "small", 0.25), ("photos", "default", 0.125)]
    gaps = [gap("mean", "prg", value, public=public, point=p) for public, p, value in found]

    rows = trade_off(gaps=gaps, utility=ANSWERS)

    assert [(row["public"], row["point"], row["x"], row["y"]) for row in rows] == [
        *(("web", "default", 0.5, 0.5), ("web", "small", 0.5, 0.25)),
        *(("photos", "default", 0.5, 0.125), ("photos", "small", 0.5, None)),
    ]


# --- stairs of recall ----------------------------------------------------------------------------


def stair(model, steps, *, point="default", public="web", k=10, attack="a"):
    same = {"public": public, "point": point, "k": k, "attack": attack, "model": model}
    return [
        same | {"recall": recall, "at_least": at_least, "records": records}
        for recall, at_least, records in steps
    ]


def recalls(*more):
    """Figure 3 of two points, one of them not in the grid."""
    panels = [
        {"panel_position": 0, "panel_title": "1M", "point": "small", "in_grid": False},
        {"panel_position": 1, "panel_title": "10M", "point": "default", "in_grid": True},
    ]
    own = stair("reference", [(0.0, 1.0, 4)]) + stair("target", [(0.5, 0.5, 2), (0.0, 1.0, 2)])
    return query(
        "memorization_fig3",
        {"k": 10, "public": "web"},
        panels=[panel | {"is_default": panel["in_grid"]} for panel in panels],
        survival=[*more, *own],
        gaps=[
            gap(target, measure, value) | {"net": value / 2}
            for target, measure, value in (("a", "aucg", 0.25), ("b", "aucg", 0.5), ("a", "ppg", 1))
        ],
    ).to_pylist()


def test_stairs_are_ordered_by_target_first_and_then_recall():
    assert [
        (row["model"], row["recall"], row["at_least"], row["records"]) for row in recalls()
    ] == [
        (None, None, None, None),
        *(("target", 0.0, 1.0, 2), ("target", 0.5, 0.5, 2), ("reference", 0.0, 1.0, 4)),
    ]


def test_a_panel_has_the_area_and_the_samples_of_the_attack_on_a():
    rows = recalls()

    areas = [(row["aucg"], row["aucg_net"], row["training_samples"]) for row in rows]
    assert areas == [(None,) * 3] + [(0.25, 0.125, 100)] * 3
    assert [row["in_grid"] for row in rows] == [False, True, True, True]


@pytest.mark.parametrize(
    "other", [{"attack": "b"}, {"attack": "control"}, {"k": 20}, {"public": "photos"}]
)
def test_stairs_of_other_attacks_k_and_public_sets_are_omitted(other):
    assert recalls(*stair("target", [(0.25, 0.5, 1)], **other)) == recalls()


# --- records that rank first ---------------------------------------------------------------------


def exposure(sort, records, measure, gap, **other):
    same = {"public": "web", "point": "default", "k": 10, "attack": "a"} | other
    own = {"sort": sort, "records": records, "share": records / 20, "measure": measure}
    return same | own | {"target": 0.5 + gap, "reference": 0.5, "gap": gap}


def exposed(*rows):
    """Figure 4 of these rows of sample gaps, by default of a table without matching rows."""
    found = rows or [exposure("similarity", 10, "recall", 0.5, attack="control")]
    return query(
        "memorization_fig4",
        {"k": 10, "public": "web", "point": "default"},
        panels=[
            in_place(panel_column=column, sort=sort)
            for column, sort in enumerate(("similarity", "correct"))
        ],
        measures=[
            {"series_position": position, "series": name, "title": name.title()}
            for position, name in ((None, "mean_f"), (0, "precision"), (1, "recall"))
        ],
        sample_gaps=found,
    ).to_pylist()


FEW = [
    exposure(sort, records, measure, 0.25)
    for records in (20, 10)
    for measure in ("recall", "mean_f", "precision")
    for sort in ("similarity", "correct")
]


def test_lengths_rise_within_each_order_of_the_records():
    rows = exposed(*FEW)

    assert [(row["sort"], row["records"], row["series"]) for row in rows[:6]] == [
        ("similarity", records, measure)
        for records in (10, 20)
        for measure in ("precision", "recall", "mean_f")
    ]
    assert [row["sort"] for row in rows[6:]] == ["correct"] * 6
    assert rows[0]["group_position"] == 10
    assert (rows[0]["share"], rows[3]["share"]) == (0.5, 1)
    assert [row["series_position"] for row in rows[:3]] == [0, 1, None]


def test_a_bar_is_a_gap_without_whiskers():
    row = exposed(*FEW)[0]

    assert (row["target"], row["reference"], row["value"]) == (0.75, 0.5, 0.25)
    assert (row["low"], row["high"], row["is_default"]) == (None, None, False)


def test_each_bar_is_next_to_the_holdout_gap_of_the_same_list():
    unseen = [
        exposure("correct", records, "recall", gap, attack="control") | {"share": records / 40}
        for records, gap in ((10, 0.125), (40, 0.0))
    ]

    rows = [row for row in exposed(*FEW, *unseen) if row["series"] == "recall"]

    assert [(row["sort"], row["records"], row["chance"]) for row in rows] == [
        *(("similarity", 10, None), ("similarity", 20, None)),
        *(("correct", 10, 0.125), ("correct", 20, 0.0)),  # all of A, and all of the hold-out
    ]


@pytest.mark.parametrize(
    "other", [{"attack": "b"}, {"k": 20}, {"public": "photos"}, {"point": "small"}]
)
def test_gaps_of_other_attacks_k_public_sets_and_points_do_not_count(other):
    assert exposed(*FEW, exposure("similarity", 10, "recall", 0.5, **other)) == exposed(*FEW)


def test_without_records_each_measure_has_no_value():
    rows = exposed()

    assert [(row["panel_column"], row["series"]) for row in rows] == [
        (column, measure) for column in (0, 1) for measure in ("precision", "recall", "mean_f")
    ]
    assert {row["value"] for row in rows} == {None}


# --- caption selection ---------------------------------------------------------------------------


def choices(encoder, chosen, *, selection="order", kinds=None, candidates=None):
    """Samples whose right caption is the first one."""
    return [
        {
            **{"encoder": encoder, "selection": selection, "right": 0, "chosen": place},
            "kind": kinds[n] if kinds else None,
            "candidates": candidates[n] if candidates else 2,
        }
        for n, place in enumerate(chosen)
    ]


def selected(*samples, reverse=False):
    """Figure 7 of a baseline, of our models A and B, and of a point that is not in the grid."""
    rows = [row for part in samples for row in part]
    points = {"encoder openai": True, "default": True, "size-1M": False}
    models = [("default", "model-b"), ("encoder openai", "openai"), ("default", "model-a")]
    found = query(
        "memorization_fig7",
        {},
        groups=[
            in_place(group_position=n, group_title=point, point=point, in_grid=asked)
            for n, (point, asked) in enumerate(points.items())
        ],
        encoders=[{"point": point, "encoder": encoder} for point, encoder in models],
        sets=[
            {"series_position": 0, "selection": "relation", "title": "Relation"},
            {"series_position": 1, "selection": "order", "title": "Order"},
        ],
        selections=rows[::-1] if reverse else rows,
    )
    return {(row["point"], row["series"]): row for row in found.to_pylist()}


def test_groups_and_sets_are_ordered_and_have_no_values_outside_the_grid():
    found = selected(choices("openai", [0]))

    assert list(found) == [
        (point, name)
        for point in ("encoder openai", "default", "size-1M")
        for name in ("relation", "order")
    ]
    assert [row["value"] for row in found.values()] == [None, 1, None, None, None, None]


def test_accuracy_is_the_mean_of_both_models_within_their_outer_bounds():
    found = selected(choices("model-a", [0, 0, 0, 1]), choices("model-b", [0, 1, 1, 1]))

    row = found["default", "order"]
    assert (row["value"], row["samples"], row["kinds"], row["chance"]) == (0.5, 4, 1, 0.5)
    assert (row["low"], row["high"]) == (bounds(1, 4)[0], bounds(3, 4)[1])
    assert found["encoder openai", "order"]["value"] is None


def test_with_kinds_the_mean_over_them_has_no_whiskers():
    # "on": 3 of 3 right, "under": 0 of 1
    samples = choices("openai", [0, 0, 0, 1], selection="relation", kinds=["on"] * 3 + ["under"])

    row = selected(samples)["encoder openai", "relation"]

    assert (row["value"], row["low"], row["high"]) == (0.5, None, None)
    assert (row["plain_accuracy"], row["kinds"], row["samples"]) == (0.75, 2, 4)
    assert (row["plain_low"], row["plain_high"]) == bounds(3, 4)


def test_samples_without_a_kind_form_a_kind_of_their_own():
    samples = choices("openai", [0, 1, 1], kinds=["on", None, None])

    row = selected(samples)["encoder openai", "order"]

    assert (row["value"], row["kinds"]) == (0.5, 2)


def test_chance_is_one_over_the_candidates_averaged_like_accuracy():
    # of "on": (1/2 + 1/5) / 2, of "under": 1/4
    samples = choices("openai", [0] * 3, kinds=["on", "on", "under"], candidates=[2, 5, 4])

    assert selected(samples)["encoder openai", "order"]["chance"] == pytest.approx(0.3)


def test_the_order_of_rows_changes_no_bit():
    kinds = [None, "on", "under", "beside", "on", "in", "under"]
    samples = [
        choices(model, [0, 1, 0, 0, 1, 1, 0], kinds=kinds, candidates=[2, 3, 5, 7, 7, 3, 2])
        for model in ("openai", "model-a", "model-b")
    ]

    assert selected(*samples) == selected(*samples, reverse=True)


# --- stored tables -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["fig2", "fig3_scenes", "fig4_scenes", "fig5_scenes", "fig7", "trade_off"]
)
def test_the_sql_uses_the_columns_of_the_stored_tables(stored, name):
    figures = memorization_figures(parse_settings(read_settings(DEMO)))
    figure = figures[f"memorization_{name}"]
    views = {view: stored(paths) for view, paths in figure.table.inputs.items()}
    views |= {view: pa.Table.from_pylist(rows) for view, rows in figure.table.relations.items()}

    table = report_table(figure.table.sql, views, figure.table.parameters)

    assert len(table)
    assert figure_bytes(draw_figure(figure.form, table, figure.options))
