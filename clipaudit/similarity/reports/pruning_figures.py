"""Defines the figures of accuracy by train set size: 3 (centre, right) and 7 to 10 of the paper.

It adds the dose response, which the paper lacks: accuracy by the margin of gap pruning.

Each is drawn from a table of `similarity_curves.sql`, over a list of points: which model in which
series of which panel. Captions name the models that are not trained; a figure without any model of
a pruned set is left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clipaudit.config.manifests import size_label
from clipaudit.config.pictures import has_pictures
from clipaudit.config.settings import Settings
from clipaudit.reports.answers import listed
from clipaudit.reports.specification import (
    RelationRow,
    ReportFigure,
    ReportTable,
    in_run,
    manifest_files,
    members,
    once,
)
from clipaudit.similarity.checks import classified, evaluated
from clipaudit.similarity.prunings import bases, dose_manifests, pruned, random_like, web
from clipaudit.similarity.reports.accuracies import in_grid
from clipaudit.similarity.reports.neighbors import small_of, web_title
from clipaudit.similarity.settings import DoseResponse, NearFar, Similarity, Supervised
from clipaudit.steps import paths


@dataclass(frozen=True)
class _Family:
    """Models of one recipe, trained on prunings of one manifest."""

    title: str
    recipe: str
    baseline: str  # the manifest that the prunings start from
    sizes: Sequence[str]  # as in their names


def curves_of_queries(run: Settings, audit: Similarity, near_far: NearFar) -> ReportFigure | None:
    """Return Figure 3 (centre, right): each query's accuracy on sets pruned by similarity to it."""
    family = _clip(run, audit, near_far)
    points = [
        point
        for panel, query in enumerate(near_far.queries)
        for point in _panel(run, audit, panel, query, [(family, query, 0, "")])
    ]
    return _curves(
        run,
        points,
        "Zero-shot accuracy of CLIP models by the size of their training set: "
        f"{web_title(run, audit)} without the images most similar to the test set (near-pruned), "
        "the least similar ones (far-pruned), or random ones. Exact 95 % intervals.",
        {"x": "size", "y": "accuracy"},
        "Accuracy when the nearest, the farthest or random training images are removed",
    )


def curves_of_sets(
    run: Settings, audit: Similarity, near_far: NearFar, test_sets: Sequence[str], where: str
) -> ReportFigure | None:
    """Return Figure 7 or 8: the accuracy on test sets that were not pruned to.

    `where` names the test sets in the title.
    """
    family = _clip(run, audit, near_far)
    groups = [
        (family, query, position, run.title(query))
        for position, query in enumerate(near_far.queries)
    ]
    points = [
        point
        for panel, test_set in enumerate(test_sets)
        for point in _panel(run, audit, panel, test_set, groups, shared_rand=True)
    ]
    queries = " or ".join(run.title(query) for query in near_far.queries)
    return _curves(
        run,
        points,
        "Zero-shot accuracy of CLIP models by the number of samples removed from "
        f"{web_title(run, audit)}: the images most similar to {queries} (near-pruned), the least "
        "similar ones (far-pruned), or random ones. Exact 95 % intervals.",
        {"x": "removed", "y": "accuracy"},
        f"Accuracy on {where} when images near {queries} are removed",
    )


def curves_beside(
    run: Settings, audit: Similarity, near_far: NearFar, supervised: Supervised, y: str
) -> ReportFigure | None:
    """Return Figure 9 or 10: CLIP and classifiers trained on prunings of the small set."""
    clip = _clip(run, audit, near_far)
    small = run.title(small_of(audit))
    sizes = list(map(size_label, supervised.removed))
    others = _Family("supervised", supervised.recipe, small_of(audit), sizes)
    points = []
    for panel, query in enumerate(near_far.queries):
        families = [clip, others] if query in classified(run, audit) else [clip]
        groups = [(family, query, group, family.title) for group, family in enumerate(families)]
        points += _panel(run, audit, panel, query, groups)
    what, intervals = {
        "accuracy": ("Accuracy", "Exact 95 % intervals."),
        "relative_change": (
            "Change of accuracy, relative to the unpruned model,",
            "95 % intervals by a paired bootstrap over the test images.",
        ),
    }[y]
    return _curves(
        run,
        points,
        f"{what} of CLIP models trained on prunings of {web_title(run, audit)}, and of classifiers "
        f"trained on prunings of {small}, by the share of samples kept. {intervals}",
        {"x": "share", "y": y},
        f"{what.partition(',')[0]} of CLIP models and classifiers, by the share of samples kept",
    )


def dose_response(run: Settings, audit: Similarity, dose: DoseResponse) -> ReportFigure | None:
    """Return accuracy by the number of samples removed: to shifted gaps, and at random."""
    manifests, first = dose_manifests(audit), run.title(dose.test_set)
    shown = once([dose.test_set, *audit.test_sets])
    arms = {
        f"pruned to {first}": ("near", list(manifests.values())),
        "random, as many": ("rand", list(map(random_like, manifests.values()))),
    }
    points = [
        _dose_point(run, audit, panel, test_set, series, manifest)
        | {"series_title": title, "pruning": look}
        for panel, test_set in enumerate(shown)
        for series, (title, (look, pruned_sets)) in enumerate(arms.items())
        for manifest in (bases(audit)[0], *pruned_sets)
    ]
    margins = listed([f"{margin:+g}" if margin else "0" for margin in manifests])
    return _curves(
        run,
        points,
        f"Zero-shot accuracy by how many samples pruning to the gaps of {first} removes. Points, "
        f"from the left: margins of {margins} added to each gap; margins below 0 remove more "
        "samples than the gap itself. Each set has a random one of the same size as its control. "
        "The other panels show test sets that the pruning did not target. Exact 95 % intervals "
        "over images.",
        {"x": "removed", "y": "accuracy"},
        f"Accuracy by how many samples near {first} are removed",
    )


def _dose_point(
    run: Settings, audit: Similarity, panel: int, test_set: str, series: int, manifest: str
) -> dict[str, object]:
    """Return a point of the dose response, without the name and style of its arm."""
    assert audit.recipe is not None, "settings with `dose_response` have a recipe"
    return {
        "panel_position": panel,
        "panel_title": run.title(test_set),
        "series_position": series,
        "group_position": 0,
        "group_title": "",
        "testset": test_set,
        "recipe": audit.recipe,
        "manifest": manifest,
        "baseline": bases(audit)[0],
        "in_grid": test_set in evaluated(run, [test_set])
        and in_grid(run, audit, audit.recipe, manifest),
    }


def _clip(run: Settings, audit: Similarity, near_far: NearFar) -> _Family:
    assert audit.recipe is not None, "figures of accuracies are left out without a recipe"
    return _Family("CLIP", audit.recipe, web(audit), near_far.labels)


def _panel(
    run: Settings,
    audit: Similarity,
    panel: int,
    test_set: str,
    groups: Sequence[tuple[_Family, str, int, str]],
    *,
    shared_rand: bool = False,
) -> list[dict[str, object]]:
    """Return the points of one panel: three series for each group, a family and its query.

    With `shared_rand` the groups differ only in the query, which random pruning does not use.
    """
    orders = [
        (order, *group)
        for order in ("near", "far", "rand")
        for group in groups
        if not (shared_rand and order == "rand" and group[2])
    ]
    points: list[dict[str, object]] = []
    for series, (order, family, query, group_position, group_title) in enumerate(orders):
        group = "" if shared_rand and order == "rand" else group_title
        start = "rand" if order == "rand" else f"{query}-{order}"
        manifests = [pruned(family.baseline, f"{start}-{size}") for size in family.sizes]
        points += [
            {
                "panel_position": panel,
                "panel_title": run.title(test_set),
                "series_position": series,
                "series_title": f"{order}-pruned" + (f", {group}" if group else ""),
                "pruning": order,
                "group_position": group_position,
                "group_title": group,
                "testset": test_set,
                "recipe": family.recipe,
                "manifest": manifest,
                "baseline": family.baseline,
                "in_grid": has_pictures(run, test_set)
                and in_grid(run, audit, family.recipe, manifest),
            }
            for manifest in (family.baseline, *manifests)
        ]
    return points


def _curves(
    run: Settings,
    points: Sequence[RelationRow],
    caption: str,
    options: Mapping[str, str],
    title: str,
) -> ReportFigure | None:
    """Return the figure of these points, or None if no model of a pruned set is trained.

    A panel without such a model is also left out.
    """
    asked, missing = in_run(points, lambda row: str(row["manifest"]))
    varied = {point["panel_position"] for point in asked if point["manifest"] != point["baseline"]}
    shown = [point for point in asked if point["panel_position"] in varied]
    if not shown:
        return None
    # the unpruned sets first, in the grid or not: the others are compared with them
    manifests = once(
        [*(str(point["baseline"]) for point in points), *(str(each["manifest"]) for each in shown)]
    )
    made_of = [member for manifest in manifests for member in members(run, manifest)]
    table = ReportTable(
        sql="similarity_curves",
        inputs={
            "predictions": once(
                paths.predictions(
                    str(point["recipe"]), str(point["manifest"]), str(point["testset"])
                )
                for point in shown
            ),
            "manifest_rows": manifest_files(run, made_of),
        },
        relations={"points": shown, "members": made_of},
    )
    return ReportFigure(table, "curves", caption + missing, options, title)
