"""Memorization against utility, point by point: `memorization_trade_off`, not in the paper."""

from collections.abc import Sequence
from typing import get_args

from clipaudit.config.settings import Settings
from clipaudit.memorization.points import DEFAULT, Family, Point
from clipaudit.memorization.reports.point_groups import models_of, points_by_size, utilities
from clipaudit.memorization.reports.points import asked_points, point_value
from clipaudit.memorization.settings import Memorization
from clipaudit.reports.specification import ReportFigure, ReportTable, numbered
from clipaudit.steps import paths


def trade_off(run: Settings, audit: Memorization) -> ReportFigure:
    """Return PRG against utility at all points in the grid, for each public set."""
    asked = asked_points(run, audit)
    test_set = audit.utility[0]
    publics = (
        {"public": name, "title": f"public set: {run.title(name)}"} for name in audit.publics
    )
    table = ReportTable(
        sql="memorization_trade_off",
        inputs={
            "gaps": [paths.gaps(public, point.name) for public in audit.publics for point in asked],
            "utility": utilities(audit, asked),
        },
        relations={
            "publics": numbered(publics),
            "points": _points_of_families(run, audit, asked),
            "models": models_of({point.name: point for point in asked}),
        },
        parameters={"k": audit.neighbors[0], "measure": "prg", "testset": test_set},
    )
    return ReportFigure(
        table,
        "scatter",
        "Memorization against utility, for the default setting and all others in the grid, "
        "labelled with their values if there is room. Lower right is better. Memorization is PRG, "
        f"the mean of the attacks on A and on B, from the {audit.neighbors[0]} public images "
        "nearest to each caption; whiskers are 95 % intervals over records. Utility is zero-shot "
        f"accuracy on {run.title(test_set)}, the mean of the models of A and of B; whiskers span "
        "the exact 95 % intervals of both. The intervals do not cover other training runs.",
        {
            "x_label": f"accuracy on {run.title(test_set)} (%)",
            "y_label": "PRG, mean of both directions",
            "empty": "no records",
        },
        f"Memorization against accuracy on {run.title(test_set)}, by training setting",
    )


def _points_of_families(
    run: Settings, audit: Memorization, asked: Sequence[Point]
) -> list[dict[str, object]]:
    """Return points with their values and families; a family has the same place in all runs."""
    families = [family for family in get_args(Family) if family != DEFAULT]
    sizes = {
        point.name: title for point, title in points_by_size(run, audit) if point.name != DEFAULT
    }
    return numbered(
        {
            "point": point.name,
            "title": sizes.get(point.name) or point_value(point) or DEFAULT,
            "is_default": point.name == DEFAULT,
            "family_position": [*families, DEFAULT].index(point.family),
            "family_title": "training samples"
            if point.family == "size"
            else point.family.replace("_", " "),
        }
        for point in asked
    )
