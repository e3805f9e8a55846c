"""The grid's points in groups for figures: sizes, families, and their models."""

from collections.abc import Iterable, Mapping, Sequence
from math import inf

from clipaudit.config.settings import Settings
from clipaudit.memorization.points import DEFAULT, TRAINED, Family, Point, own_value
from clipaudit.memorization.reports.points import all_points, asked_points, point_value, recipe_of
from clipaudit.memorization.settings import Memorization
from clipaudit.reports.layouts import short_count
from clipaudit.reports.specification import once
from clipaudit.steps import paths

FAMILIES: dict[Family, str] = {
    "epochs": "epochs",
    "temperature": "temperature (maximum of the logit scale)",
    "logit_scale": "fixed logit scale",
    "weight_decay": "weight decay",
    "token_masking": "token masking",
    "captions": "captions of a record",
    "text_noise": "noise on text embeddings",
}
_WHERE_ASKED: tuple[Family, ...] = ("logit_scale", "captions", "text_noise")  # not in the paper


def points_by_size(run: Settings, audit: Memorization) -> list[tuple[Point, str]]:
    """Return the default point and those of other sizes, the smallest first, with their sizes."""
    every = all_points(run, audit)
    sized = [point for point in every if point.family == "size"]
    source = next((name for name in audit.trained_on if audit.sources[name].sizes), "")
    own = audit.sources[source or audit.trained_on[0]].train or 0
    sizes = [(own, every[0]), *((point.size or 0, point) for point in sized)]
    return [
        (point, f"{100 * size:g} %" if isinstance(size, float) else short_count(size))
        for size, point in sorted(sizes, key=lambda each: each[0])
    ]


def families_shown(run: Settings, audit: Memorization) -> dict[Family, str]:
    """Return the title of each family that has a panel.

    A temperature needs a learned logit scale. Families that the paper lacks are shown only if the
    settings ask for them.
    """
    asked = audit.mitigations
    found = {
        family: title
        for family, title in FAMILIES.items()
        if family not in _WHERE_ASKED or getattr(asked, family)
    }
    if recipe_of(run, audit).logit_scale != "learned":
        del found["temperature"]
    return found


def points_of_family(run: Settings, audit: Memorization, family: Family) -> list[tuple[Point, str]]:
    """Return the default point and those of a family, the lowest value first, with their values.

    A learned logit scale comes before fixed ones; all captions come last.
    """
    every = all_points(run, audit)
    own = own_value(recipe_of(run, audit), family)
    if own is None:
        values = [(inf, every[0], "all")]
    elif isinstance(own, str):
        values = [(-1.0, every[0], own)]
    else:
        values = [(float(own), every[0], f"{own:g}")]
    values += [
        (float(point.value), point, point_value(point)) for point in every if point.family == family
    ]
    return [(point, shown) for _, point, shown in sorted(values, key=lambda each: each[0])]


def bar_groups(
    run: Settings, audit: Memorization, titled: Sequence[tuple[Point, str]]
) -> list[dict[str, object]]:
    """Return a group of bars for each point, in the order given."""
    asked = asked_points(run, audit)
    return [
        {
            "group_position": position,
            "group_title": title,
            "is_default": point.name == DEFAULT,
            "in_grid": point in asked,
            "point": point.name,
        }
        for position, (point, title) in enumerate(titled)
    ]


def models_of(points: Mapping[str, Point]) -> list[dict[str, object]]:
    """Return the two models of each point."""
    return [
        {"point": name, "encoder": point.encoder(trained)}
        for name, point in points.items()
        for trained in TRAINED
    ]


def utilities(audit: Memorization, points: Iterable[Point]) -> list[str]:
    """Return the files of the models' predictions on the first test set, if there is one."""
    return once(
        paths.utility(point.encoder(trained), test_set)
        for point in points
        for trained in TRAINED
        for test_set in audit.utility[:1]
    )
