"""The figures of the memorization audit: their tables, and their drawings.

One `ReportFigure` for each figure of the paper (Jayaraman et al., NeurIPS 2024), and for each
public set if a figure shows one. The paper's Figures 4 and 5 show its first public set, 8 and 9 the
second; further sets use these numbers too. All use the first number of neighbours. Captions name
the models that are not trained. `memorization_trade_off` is not in the paper: it shows the gaps of
all points against their utility.

Differences from the paper: bars of gaps show the mean of the attacks on A and on B, in the paper
only those on A; bars of accuracies show the mean of both models. Figures 3 and 4 show the attack on
A, as in the paper, with the hold-out beside it. Figure 6, two example images with their labels,
measures nothing and is left out.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil

from clipaudit.config.settings import Settings
from clipaudit.memorization.points import DEFAULT, Family
from clipaudit.memorization.reports.point_groups import (
    bar_groups,
    families_shown,
    models_of,
    points_by_size,
    points_of_family,
    utilities,
)
from clipaudit.memorization.reports.points import asked_points
from clipaudit.memorization.reports.trade_off import trade_off
from clipaudit.memorization.settings import Memorization
from clipaudit.reports.specification import (
    RelationRow,
    ReportFigure,
    ReportTable,
    encoder_title,
    in_run,
    once,
)
from clipaudit.steps import paths

_MEASURES = {"ppg": "PPG", "prg": "PRG", "aucg": "AUCG"}
_SORTS = {
    "similarity": "(a) by similarity to the nearest public image",
    "correct": "(b) by the number of correct predictions",
    "gap": "(c) by correct objects beyond the reference model",
}
_SAMPLE_MEASURES = {"precision": "precision", "recall": "recall", "f_of_means": "F-score"}
_COLUMNS = 4  # panels beside each other in Figures 5 and 9
_OF_RECALL = ("survival", "gaps")
# the lower panels of Figure 7, two in a row
_SELECTING: tuple[Family, ...] = ("temperature", "weight_decay", "token_masking", "logit_scale")
_GAPS = (
    "PPG, PRG and AUCG, each the mean of the attacks on A and on B: mean \N{PLUS-MINUS SIGN} "
    "standard deviation over 100 draws of a tenth of the records, with replacement"
)
_STAR = "An asterisk marks the default setting."


def memorization_figures(run: Settings) -> dict[str, ReportFigure]:
    """Return the figures of the audit that the settings ask for, by name, in the paper's order."""
    audit = run.section(Memorization)
    if audit is None or audit.recipe is None:
        return {}
    found = {"fig2": _sizes(run, audit)}
    for public in audit.publics:
        found[f"fig3_{public}"] = _recalls(run, audit, public)
    first, *others = audit.publics
    found[f"fig4_{first}"] = _exposed(run, audit, first)
    if mitigated := _mitigations(run, audit, first):
        found[f"fig5_{first}"] = mitigated
    if audit.selections:
        found["fig7"] = _selections(run, audit)
    for public in others:
        found[f"fig8_{public}"] = _exposed(run, audit, public)
        if mitigated := _mitigations(run, audit, public):
            found[f"fig9_{public}"] = mitigated
    if audit.utility and len(asked_points(run, audit)) > 1:  # one point shows no trade-off
        found["trade_off"] = trade_off(run, audit)
    return {f"memorization_{name}": figure for name, figure in found.items()}


# --- gaps and utility ----------------------------------------------------------------------------


def _sizes(run: Settings, audit: Memorization) -> ReportFigure:
    """Return Figure 2: gaps and utility by the size of the training sets, for each public set."""
    groups = [
        {
            "panel_row": 0,
            "panel_column": column,
            "panel_title": f"public set: {run.title(public)}",
            **group,
            "public": public,
        }
        for column, public in enumerate(audit.publics)
        for group in bar_groups(run, audit, points_by_size(run, audit))
    ]
    return _bars(
        run,
        audit,
        groups,
        f"Memorization and utility by the number of training samples. {_GAPS}; the "
        f"{audit.neighbors[0]} images of each public set nearest to each caption."
        f"{_of_utility(run, audit)} {_STAR}",
        {"group": "size", "x_label": "training samples"},
        "Memorization by the number of training samples",
    )


def _mitigations(run: Settings, audit: Memorization, public: str) -> ReportFigure | None:
    """Return Figure 5 or 9: gaps and utility by training setting, with a panel for each.

    More than four panels take two rows. A setting with only one trained value has no panel; without
    any panel there is no figure.
    """
    families = families_shown(run, audit)
    found = _varied_first(run, audit, families)
    panels = sum(any(group["in_grid"] for group in members) for _, members in found)
    if not panels:
        return None
    columns = panels if panels <= _COLUMNS else ceil(panels / 2)
    rows = 1 + bool(audit.utility)  # of a panel
    groups = [
        {
            "panel_row": rows * (place // columns),
            "panel_column": place % columns,
            "panel_title": families[family],
            **group,
            "public": public,
        }
        for place, (family, members) in enumerate(found)
        for group in members
    ]
    return _bars(
        run,
        audit,
        groups,
        f"Memorization and utility under settings that may mitigate it, with {run.title(public)} "
        f"as the public set. {_GAPS}; the {audit.neighbors[0]} public images nearest to each "
        f"caption.{_of_utility(run, audit)} {_STAR}",
        {"group": "title"},
        f"Memorization under settings that may mitigate it, looked up in {run.title(public)}",
    )


def _varied_first(
    run: Settings, audit: Memorization, families: Iterable[Family]
) -> list[tuple[Family, list[RelationRow]]]:
    """Return the groups of bars of each family; families with only the default trained come last.

    These lack the default, which shows nothing by itself.
    """
    found = []
    for family in families:
        groups = bar_groups(run, audit, points_of_family(run, audit, family))
        varies = sum(bool(group["in_grid"]) for group in groups) > 1
        found.append((family, [each for each in groups if varies or not each["in_grid"]]))
    return sorted(found, key=lambda each: not any(group["in_grid"] for group in each[1]))


def _bars(
    run: Settings,
    audit: Memorization,
    groups: Sequence[RelationRow],
    caption: str,
    options: dict[str, str],
    title: str,
) -> ReportFigure:
    """Return bars of gaps, and below them bars of the utility if the audit has test sets."""
    measures: list[dict[str, object]] = [
        {
            "panel_row": 0,
            "scale": "gap",
            "series_position": position,
            "series": name,
            "title": title,
        }
        for position, (name, title) in enumerate(_MEASURES.items())
    ]
    for name in audit.utility[:1]:
        below = {"panel_row": 1, "scale": "utility", "series_position": len(measures)}
        measures.append({**below, "series": "utility", "title": f"accuracy on {run.title(name)}"})
    trained, missing = in_run(groups, _point)
    shown = list(dict.fromkeys((str(each["public"]), _point(each)) for each in trained))
    asked = {point.name: point for point in asked_points(run, audit)}
    models = {_point(each): asked[_point(each)] for each in trained}
    table = ReportTable(
        sql="memorization_fig2",
        inputs={
            "gaps": [paths.gaps(public, point) for public, point in shown],
            "utility": utilities(audit, models.values()),
        },
        relations={"groups": trained, "measures": measures, "models": models_of(models)},
        parameters={"k": audit.neighbors[0], "testset": (audit.utility or [""])[0]},
    )
    return ReportFigure(table, "bars", caption + missing, options, title)


def _point(row: RelationRow) -> str:
    return str(row["point"])


def _of_utility(run: Settings, audit: Memorization) -> str:
    """Return the caption's sentence on utility; "" without a test set."""
    if not audit.utility:
        return ""
    return (
        f" Below: zero-shot accuracy on {run.title(audit.utility[0])}, the mean of the models of A "
        "and of B; whiskers span the exact 95 % intervals of both."
    )


# --- recall and most exposed records -------------------------------------------------------------


def _recalls(run: Settings, audit: Memorization, public: str) -> ReportFigure:
    """Return Figure 3: the distribution of recall under both models, by size of training sets."""
    panels: list[RelationRow] = [
        {
            "panel_position": position,
            "panel_title": group["group_title"],
            **{name: group[name] for name in ("is_default", "in_grid", "point")},
        }
        for position, group in enumerate(bar_groups(run, audit, points_by_size(run, audit)))
    ]
    trained, missing = in_run(panels, _point)
    shown = [_point(panel) for panel in trained]
    table = ReportTable(
        sql="memorization_fig3",
        inputs={kind: [f"{kind}/{public}/{point}.json" for point in shown] for kind in _OF_RECALL},
        relations={"panels": trained},
        parameters={"k": audit.neighbors[0], "public": public},
    )
    return ReportFigure(
        table,
        "steps",
        "Share of the records of A with at least so large a share of their objects recovered, by "
        "the target model, trained on A, and the reference model, trained on B, and by the number "
        f"of training samples. {_looked_up(run, audit, public)} AUCG is the area between the "
        f"curves, for this one direction. {_of_one_direction(audit)} {_STAR}{missing}",
        {"x_label": "object recall, at least", "y_label": "records (%)"},
        "Objects recovered by the model trained on a record and by the other, in "
        f"{run.title(public)}",
    )


def _exposed(run: Settings, audit: Memorization, public: str) -> ReportFigure:
    """Return Figure 4 or 8: gaps over the first records, in several orders."""
    panels = [
        {
            "panel_row": 0,
            "panel_column": column,
            "panel_title": title,
            "scale": "gap",
            "sort": sort,
        }
        for column, (sort, title) in enumerate(_SORTS.items())
    ]
    measures: list[dict[str, object]] = [
        {"series_position": position, "series": name, "title": title}
        for position, (name, title) in enumerate(_SAMPLE_MEASURES.items())
    ]
    measures.append({"series_position": None, "series": "mean_f", "title": "mean F-score"})
    luck = (
        ": a line across a bar is the gap of the hold-out, which no model was trained on, sorted "
        "in the same way; only the part of a bar beyond its line is evidence of memorization"
        if audit.held_out
        else ", and without a hold-out its size is unknown"
    )
    table = ReportTable(
        sql="memorization_fig4",
        inputs={"sample_gaps": [paths.sample_gaps(public, DEFAULT)]},
        relations={"panels": panels, "measures": measures},
        parameters={"k": audit.neighbors[0], "public": public, "point": DEFAULT},
    )
    return ReportFigure(
        table,
        "bars",
        f"Gaps of the mean precision and recall of the {audit.top} objects that the most "
        "neighbours show, and of the F-score of these means, between the target model, trained "
        "on A, and the reference model, trained on B, over the first L records of A, sorted (a) by "
        "the target model's similarity of the caption and its nearest public image, (b) by the "
        "number of these objects that the target model predicts correctly, (c) by how many more "
        "objects it predicts correctly than the reference model, among all objects of the "
        f"neighbours. Sorting by (b) or (c) also selects luck{luck}. "
        f"{_looked_up(run, audit, public)}",
        {
            "group": "records",
            "x_label": "first L records, share (%)",
            "empty": "no records with objects",
            "across": "hold-out",
        },
        f"Memorization of the most exposed records, in {run.title(public)}",
    )


def _of_one_direction(audit: Memorization) -> str:
    """Return the caption's sentences on numbers of the attack on A alone."""
    mean = "It cancels from the mean of both directions in Figure 2."
    if not audit.held_out:
        return f"Part of it may be a difference between the two training runs. {mean}"
    return (
        "Part of it may be a difference between the two training runs, which the hold-out shows; "
        "\N{LEFT DOUBLE QUOTATION MARK}net\N{RIGHT DOUBLE QUOTATION MARK} is the area minus that "
        f"of the hold-out. {mean}"
    )


def _looked_up(run: Settings, audit: Memorization, public: str) -> str:
    return (
        f"Objects are those of the {audit.neighbors[0]} images of {run.title(public)} nearest to "
        "the record's caption."
    )


# --- caption selection ---------------------------------------------------------------------------


def _selections(run: Settings, audit: Memorization) -> ReportFigure:
    """Return Figure 7: how often models choose the right one of several captions."""
    baselines = list(dict.fromkeys(audit.baselines))
    groups, missing = in_run(_selection_groups(run, audit, baselines), _point)
    asked = {point.name: point for point in asked_points(run, audit)}
    shown = {str(group["point"]) for group in groups}
    encoders: list[dict[str, object]] = [
        {"point": f"encoder {name}", "encoder": name} for name in baselines
    ]
    encoders += models_of({name: point for name, point in asked.items() if name in shown})
    table = ReportTable(
        sql="memorization_fig7",
        inputs={
            "selections": once(
                paths.selections(str(each["encoder"]), name)
                for each in encoders
                for name in audit.selections
            )
        },
        relations={
            "groups": groups,
            "encoders": encoders,
            "sets": [
                {"series_position": position, "selection": name, "title": each.title or name}
                for position, (name, each) in enumerate(audit.selections.items())
            ],
        },
    )
    return ReportFigure(
        table,
        "bars",
        "How often the right one of an image's captions is the most similar to it (ARO), for "
        f"{_baselines_and(baselines)}our models, each the mean of the models of A and of B. If a "
        "set has kinds of captions, the mean is over the kinds; otherwise whiskers span the exact "
        "95 % intervals of the models. A line across a bar marks chance. "
        f"{_STAR}{missing}",
        {"group": "title"},
        "How often the right caption is chosen",
    )


def _baselines_and(baselines: Sequence[str]) -> str:
    """Return the words before "our models"; "" without baselines."""
    return "baselines and " if baselines else ""


def _selection_groups(
    run: Settings, audit: Memorization, baselines: Sequence[str]
) -> list[dict[str, object]]:
    """Return the bars of Figure 7: baselines and our models, then the points of each family."""
    trained_on = " + ".join(run.title(name) for name in audit.trained_on)
    others = [
        {
            "group_title": encoder_title(run, name),
            "is_default": False,
            "in_grid": True,
            "point": f"encoder {name}",  # no point has such a name
        }
        for name in baselines
    ]
    own = [
        {**group, "group_title": f"{trained_on}, {group['group_title']}"}
        for group in bar_groups(run, audit, points_by_size(run, audit))
    ]
    panels: list[tuple[int, int, str, Sequence[Mapping[str, object]]]] = [
        (0, 0, f"{_baselines_and(baselines)}our models, by training samples", [*others, *own])
    ]
    families = families_shown(run, audit)
    shown = [family for family in _SELECTING if family in families]
    for place, (family, varied) in enumerate(_varied_first(run, audit, shown)):
        panels.append((1 + place // 2, place % 2, families[family], varied))
    return [
        {
            "panel_row": row,
            "panel_column": column,
            "panel_title": title,
            "scale": "selection",
            **group,
            "group_position": position,
        }
        for row, column, title, members in panels
        for position, group in enumerate(members)
    ]
