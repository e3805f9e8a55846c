"""Shared parts of the memorization audit's tables and figures: points, public sets, records, files.

A point or a public set outside the grid has no files, but it has a row that says so.
"""

from clipaudit.config.settings import Settings
from clipaudit.config.training import Recipe
from clipaudit.memorization.points import TRAINED, Point, in_grid, points
from clipaudit.memorization.settings import Memorization
from clipaudit.reports.specification import RelationRow

SETS = {"a": "A", "b": "B", "public": "public", "holdout": "hold-out"}  # as they are printed
TARGET_TITLES = {
    "mean": "both directions",
    "a": "A against B",
    "b": "B against A",
    "control": "hold-out (in neither)",
}


def recipe_of(run: Settings, audit: Memorization) -> Recipe:
    """Return the recipe of an audit that trains models."""
    assert audit.recipe is not None, "comparisons of two models need a recipe"
    return run.recipes[audit.recipe]


def all_points(run: Settings, audit: Memorization) -> list[Point]:
    """Return all points, in the grid or not, the default one first."""
    return points(audit, recipe_of(run, audit))


def asked_points(run: Settings, audit: Memorization) -> list[Point]:
    """Return the points whose models are trained and tested, the default one first."""
    return in_grid(audit, all_points(run, audit))


def point_rows(run: Settings, audit: Memorization) -> list[RelationRow]:
    """Return the relation `points` with all points; `asked` marks those in the grid.

    Columns: `position, point, family, value, title, asked, recipe, epochs` and, for the models
    trained on A and B, `encoder_a, encoder_b, manifest_a, manifest_b`. `value` is text; `epochs` is
    the number that the models were trained for, never null.
    """
    asked = asked_points(run, audit)
    return [
        {
            "position": position,
            "point": point.name,
            "family": point.family,
            "value": point_value(point),
            "title": point_title(point),
            "asked": point in asked,
            "recipe": point.recipe,
            "epochs": point.epochs or run.recipes[point.recipe].epochs,
            **{f"encoder_{trained}": point.encoder(trained) for trained in TRAINED},
            **{f"manifest_{trained}": point.manifest(trained) for trained in TRAINED},
        }
        for position, point in enumerate(all_points(run, audit))
    ]


def point_value(point: Point) -> str:
    """Return the value that a point's family varies, as text: 0.3, 100; "" for the default one."""
    return f"{point.value:g}" if isinstance(point.value, float) else str(point.value)


def point_title(point: Point) -> str:
    """Return a point's title in tables, such as "token masking 0.3"."""
    return f"{point.family.replace('_', ' ')} {point_value(point)}".strip()
