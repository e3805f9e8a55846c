"""The tables of the memorization audit that the settings ask for, and their inputs."""

from collections.abc import Sequence
from itertools import combinations_with_replacement

from clipaudit.config.settings import Settings
from clipaudit.memorization.points import (
    DEFAULT,
    TRAINED,
    one_model_tests,
    seed_points,
)
from clipaudit.memorization.reports.layouts import FALSE_DISCOVERIES, LISTED
from clipaudit.memorization.reports.pair_tables import one_model, pairs
from clipaudit.memorization.reports.points import (
    SETS,
    TARGET_TITLES,
    all_points,
    asked_points,
    point_rows,
    point_title,
)
from clipaudit.memorization.settings import Memorization
from clipaudit.reports.contents import SampleNumbers, sample_numbers
from clipaudit.reports.specification import (
    RelationRow,
    ReportTable,
    corpus_rows,
    numbered,
    once,
    part_files,
    titled,
)
from clipaudit.steps import paths


def memorization_tables(run: Settings) -> dict[str, ReportTable]:
    """Return the tables of the audit that the settings ask for, by name."""
    audit = run.section(Memorization)
    if audit is None:
        return {}
    tables = {
        "memorization_overlaps": overlaps(run, audit),
        "memorization_sets": sets(run, audit),
    }
    if audit.recipe is not None:
        tables["memorization_gaps"] = gaps(run, audit)
        tables["memorization_joined"] = joined(run, audit)
        tables["memorization_records"] = records(run, audit)
    if audit.held_out:
        tables["memorization_pairs"] = pairs(run, audit)
    if one_model_tests(audit, run.recipes, run.corpora, run.encoders):
        tables["memorization_one_model"] = one_model(run, audit)
    if audit.seeds > 1:
        tables["memorization_ensemble"] = ensemble(run, audit)
        tables["memorization_evidence"] = evidence(run, audit)
    return dict(sorted(tables.items()))


# --- the sets ------------------------------------------------------------------------------------


def sets(run: Settings, audit: Memorization) -> ReportTable:
    """Return the table of the sets' sizes and of the objects in their images."""
    sources = list(audit.sources)
    shown = sources if audit.publics else []  # without a public set no objects are needed
    rows = [
        {
            "source": source,
            "source_title": run.title(source),
            "set": name,
            "set_title": SETS[name],
            "asked": str(share),
        }
        for source in audit.sources
        for name, share in audit.drawn(source).items()
    ]
    return ReportTable(
        sql="memorization_sets",
        inputs={
            "drawn": part_files(run, "drawn", sources),
            "members": part_files(run, "members", sources),
            "objects": part_files(run, "objects", shown, ".drawn"),
        },
        relations={"sets": numbered(rows)},
    )


def overlaps(run: Settings, audit: Memorization) -> ReportTable:
    """Return the table of samples that sets share, before and, if searched again, after removal."""
    sources = list(audit.sources)
    drawn = {name for source in sources for name in audit.drawn(source)}
    compared = [name for name in SETS if name in drawn]
    again = sources if audit.verify_overlaps else []
    checked = {"uid": True, "caption": True, "near duplicate": audit.encoder is not None}
    return ReportTable(
        sql="memorization_overlaps",
        inputs={
            "removed": part_files(run, "overlaps", sources),
            "remaining": part_files(run, "remaining_overlaps", again),
            "drawn": part_files(run, "drawn", sources),
            "members": part_files(run, "members", sources),
        },
        relations={
            "pairs": numbered(
                {
                    "one": min(one, other),
                    "other": max(one, other),
                    "title": f"{SETS[one]} and {SETS[other]}"
                    if one != other
                    else f"within {SETS[one]}",
                }
                for one, other in combinations_with_replacement(compared, 2)
                if (one, other) != ("public", "public")
            ),
            "ways": numbered(
                {"how": how, "title": f"by {how}", "checked": is_checked}
                for how, is_checked in checked.items()
            ),
        },
        parameters={"searched_again": audit.verify_overlaps},
    )


# --- the metrics ---------------------------------------------------------------------------------


def gaps(run: Settings, audit: Memorization) -> ReportTable:
    """Return the population metrics at every point of the grid, including the null control."""
    utility, asked = audit.utility[:1], asked_points(run, audit)
    models = [(point, trained) for point in asked for trained in TRAINED]
    return ReportTable(
        sql="memorization_gaps",
        inputs={
            "gaps": [paths.gaps(public, point.name) for public in audit.publics for point in asked],
            "curves": once(paths.curves(each.recipe, each.manifest(by)) for each, by in models),
            "utility": once(
                paths.utility(point.encoder(trained), test_set)
                for point, trained in models
                for test_set in utility
            ),
        },
        relations={
            "publics": corpus_rows(run, "public", audit.publics),
            "points": point_rows(run, audit),
            "targets": titled("target", TARGET_TITLES.items()),
            "sources": _sources(run, audit),
        },
        parameters={
            "neighbors": audit.neighbors,
            "utility": utility[0] if utility else "",
            "utility_title": run.title(utility[0]) if utility else "",
        },
        notes=[_of_directions(audit)],
    )


def evidence(run: Settings, audit: Memorization) -> ReportTable:
    """Return the population metrics over seeds at each point, and the change from the default."""
    rows = [
        {
            "point": point.name,
            "setting_position": position,
            "setting": asked[0].name,
            "setting_title": point_title(asked[0]),
            "recipe": point.recipe,
            "epochs": point.epochs or run.recipes[point.recipe].epochs,
            **{f"manifest_{trained}": point.manifest(trained) for trained in TRAINED},
        }
        for position, asked in enumerate(zip(*seed_points(audit, run.recipes), strict=True))
        for point in asked
    ]
    return ReportTable(
        sql="memorization_evidence",
        inputs={
            "gaps": [
                paths.ensemble_gaps(public, point)
                for public in audit.publics
                for point in dict.fromkeys(str(row["setting"]) for row in rows)
            ],
            "curves": once(
                paths.curves(str(row["recipe"]), str(row[f"manifest_{trained}"]))
                for row in rows
                for trained in TRAINED
            ),
        },
        relations={
            "publics": corpus_rows(run, "public", audit.publics),
            "points": rows,
            "targets": titled(
                "target",
                [
                    (name, f"{title}, net of the hold-out" if name in TRAINED else title)
                    for name, title in TARGET_TITLES.items()
                ],
            ),
            "sources": _sources(run, audit),
        },
        notes=[_of_directions(audit)],
    )


def _of_directions(audit: Memorization) -> str:
    """Return the caption's sentences on gaps of single directions."""
    if not audit.held_out:
        return (
            "There is no hold-out, so a gap of a single direction may be a difference between "
            "training runs. It cancels from the mean of both directions."
        )
    return (
        "The hold-out is in neither set: a gap of the model of A on it is a difference between "
        "training runs, not memorization. It cancels from the mean of both directions; a single "
        "direction is stated net of it."
    )


def ensemble(run: Settings, audit: Memorization) -> ReportTable:
    """Return the records that models memorize under all seeds, and their number."""
    public = audit.publics[0]
    return ReportTable(
        sql="memorization_ensemble",
        inputs={
            "found": [paths.ensemble_records(public, DEFAULT)],
            "samples": part_files(run, "samples", audit.trained_on, ".records"),
        },
        relations={"sources": _sources(run, audit)},
        parameters={"rate": FALSE_DISCOVERIES, "limit": LISTED},
    )


def _sources(run: Settings, audit: Memorization) -> list[RelationRow]:
    """Return the relation `sources`: all of them together, then each one."""
    titles = [("", ""), *((name, run.title(name)) for name in audit.sources)]
    return titled("source", titles)


# --- beside the other audits -------------------------------------------------------------------


def joined(run: Settings, audit: Memorization) -> ReportTable:
    """Return the recall gaps of records beside the other audits' values for them."""
    return ReportTable(
        sql="memorization_joined",
        inputs=_record_files(run, audit),
        relations={
            "attacks": _attacks(run, audit),
            "quantities": _quantities(run, audit, ["recall_gap"]),
        },
        parameters={"neighbors": audit.neighbors, **_others(run, audit).parameters},
    )


def records(run: Settings, audit: Memorization) -> ReportTable:
    """Return the records with the largest recall gaps."""
    holdouts = [name for name, each in audit.sources.items() if each.holdout is not None]
    sources = list(dict.fromkeys([*audit.trained_on, *holdouts]))
    return ReportTable(
        sql="memorization_records",
        inputs={
            **_record_files(run, audit, holdouts),
            "samples": part_files(run, "samples", sources, ".records"),
        },
        relations={
            "attacks": [*_attacks(run, audit), *_attacks_on_holdouts(run, audit, holdouts)],
            "quantities": _quantities(run, audit, ["recall_gap", "precision_gap"]),
        },
        parameters={"limit": LISTED, **_others(run, audit).parameters},
        notes=[_of_luck(audit)],
    )


def _of_luck(audit: Memorization) -> str:
    """Return the caption's sentence on what a large gap of a single record shows."""
    if not audit.held_out:
        return "They are chosen by this gap, and without a hold-out luck may explain it."
    return (
        "Some records of the hold-out, which no model was trained on, have as large a gap: the "
        "more of them, the less a listed record shows by itself."
    )


def _others(run: Settings, audit: Memorization) -> SampleNumbers:
    """Return the other audits' values for the drawn samples."""
    return sample_numbers(run, [f"{name}.drawn" for name in audit.trained_on])


def _record_files(
    run: Settings, audit: Memorization, holdouts: Sequence[str] = ()
) -> dict[str, Sequence[str]]:
    """Return the files about the records of A and B, at the default point and first public set.

    They include the hold-outs of the named sources.
    """
    default, public = all_points(run, audit)[0], audit.publics[0]
    attacks = [*_attacks(run, audit), *_attacks_on_holdouts(run, audit, holdouts)]
    sources = list(dict.fromkeys([*audit.trained_on, *holdouts]))
    return {
        "manifest_rows": once(
            paths.manifest(str(attack["source"]), str(attack["manifest"]), part)
            for attack in attacks
            for part in run.parts(str(attack["source"]))
        ),
        "recalls": [
            path
            for trained in TRAINED
            for path in part_files(run, f"recalls/{default.encoder(trained)}/{public}", sources)
        ],
        **_others(run, audit).inputs,
    }


def _attacks(run: Settings, audit: Memorization) -> list[RelationRow]:
    """Return the relation `attacks`: a source's part of A or B, its model and the other model."""
    default, manifests = all_points(run, audit)[0], run.manifests()
    return [
        {
            "source": source,
            "manifest": manifest,
            "attacked": target,
            "target": default.encoder(target),
            "reference": default.encoder(reference),
        }
        for target, reference in (TRAINED, TRAINED[::-1])
        for source, manifest in manifests[default.manifest(target)].items()
    ]


def _attacks_on_holdouts(
    run: Settings, audit: Memorization, holdouts: Sequence[str]
) -> list[RelationRow]:
    """Return rows of `attacks` on records of neither set, in both directions."""
    default = all_points(run, audit)[0]
    return [
        {
            "source": source,
            "manifest": "set-holdout",
            "attacked": "holdout",
            "target": default.encoder(target),
            "reference": default.encoder(reference),
        }
        for target, reference in (TRAINED, TRAINED[::-1])
        for source in holdouts
    ]


def _quantities(run: Settings, audit: Memorization, own: list[str]) -> list[RelationRow]:
    """Return the relation `quantities`: this audit's `own`, then those of other audits."""
    found = [(name, "", name.replace("_", " ")) for name in own]
    found += _others(run, audit).quantities
    return numbered(
        {"quantity": quantity, "testset": test_set, "title": title}
        for quantity, test_set, title in found
    )
