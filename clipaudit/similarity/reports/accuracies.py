"""Defines the similarity audit's tables of accuracies: their models and inputs.

These are Tables 1, 3 and 4, and effective robustness. A model is named by its recipe and the
manifest that it was trained on; a model that the grid leaves out keeps its row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from clipaudit.config.manifests import ALL
from clipaudit.config.pictures import can_train
from clipaudit.config.settings import Settings
from clipaudit.reports.specification import (
    RelationRow,
    ReportTable,
    corpus_rows,
    encoder_title,
    manifest_files,
    members,
    numbered,
    prediction_files,
)
from clipaudit.similarity.checks import (
    can_show_evidence,
    classified,
    evaluated,
    models_of_small,
)
from clipaudit.similarity.prunings import (
    CORE,
    base,
    bases,
    core_queries,
    dose_manifests,
    large_prunings,
    pruned,
    random_like,
    untargeted_of_small,
    web,
    with_small,
)
from clipaudit.similarity.reports.evidence import Model, evidence_models
from clipaudit.similarity.reports.neighbors import web_title
from clipaudit.similarity.settings import CoreSet, Robustness, Similarity
from clipaudit.similarity.trainings import trainings
from clipaudit.steps.paths import CLASSIFIER, PRETRAINED


def in_grid(run: Settings, audit: Similarity, recipe: str, manifest: str) -> bool:
    """Return whether a model can be shown.

    It can if the grid requests its manifest, or if it exists anyway: as an encoder, for the
    evidence or the dose response, or from elsewhere. A corpus without images has no models.
    """
    if recipe in (PRETRAINED, CLASSIFIER):
        return True
    if not can_train(run, manifest):
        return False
    encoders = {encoder.model for encoder in run.encoders.values()}
    return (
        audit.asks_for(manifest)
        or f"{recipe}/{manifest}" in encoders
        or (recipe == audit.recipe and manifest in _of_dose_response(audit))
        or ((recipe, manifest) in evidence_models(run, audit) and can_show_evidence(run, audit))
    )


def _of_dose_response(audit: Similarity) -> set[str]:
    """Return the manifests that the dose response needs, whatever the grid."""
    made = dose_manifests(audit).values()
    return {*bases(audit)[:1], *made, *map(random_like, made)} if made else set()


# --- Tables 1, 3 and 4 ---------------------------------------------------------------------------


def accuracies(run: Settings, audit: Similarity, *, small_added: bool) -> ReportTable:
    """Return Table 1 or 4: pretrained models, models of unpruned sets and of gap-pruned sets.

    Each model is trained with each seed. With the random arm, a random set follows each gap-pruned
    one; it is drawn anew for each seed.
    """
    rows = _with_controls(run, audit, _accuracy_rows(run, audit, small_added=small_added))
    runs = _training_runs(run, audit, rows)
    table = _of_rows(run, audit, "similarity_table1", rows)
    return replace(
        table,
        inputs={**table.inputs, "predictions": _predictions(run, audit, runs)},
        relations={
            **table.relations,
            "trainings": [
                {
                    "recipe": each["of_recipe"],
                    "manifest": each["of_manifest"],
                    "training": each["recipe"],
                    "trained_on": each["manifest"],
                }
                for each in runs
            ],
        },
        parameters={"over_seeds": audit.seeds > 1 or audit.has_random_arm},
        notes=_how_measured(audit),
    )


def _with_controls(
    run: Settings, audit: Similarity, rows: Sequence[RelationRow]
) -> list[RelationRow]:
    """Return rows; with the random arm, each gap-pruned one is followed by its random control."""
    found: list[RelationRow] = []
    for row in rows:
        if row["baseline"] is None or not audit.has_random_arm:
            found.append({**row, "control": None})
            continue
        control = random_like(str(row["manifest"]))
        dataset = f"random, as many as {row['dataset']}"
        found.append({**row, "control": control})
        found.append({**row, "control": None, "dataset": dataset, "manifest": control})
    return [{**row, "position": position} for position, row in enumerate(found)]


def _training_runs(
    run: Settings, audit: Similarity, rows: Sequence[RelationRow]
) -> list[RelationRow]:
    """Return recipe and manifest of each training run of the rows' models, and those of its row.

    A random control is drawn anew for each seed.
    """
    found: list[RelationRow] = []
    like = {row["control"]: str(row["manifest"]) for row in rows if row["control"] is not None}
    for row in rows:
        recipe, manifest = str(row["recipe"]), str(row["manifest"])
        of_row = {"of_recipe": recipe, "of_manifest": manifest, "in_grid": row["in_grid"]}
        for draw, training in enumerate(trainings(audit, run.recipes, recipe), start=1):
            drawn = random_like(like[manifest], draw) if manifest in like else manifest
            found.append({**of_row, "recipe": training, "manifest": drawn})
    return found


def _how_measured(audit: Similarity) -> list[str]:
    """Return notes on accuracies over seeds, and on random sets as controls."""
    notes = []
    if audit.seeds > 1:
        notes.append(
            f"Models trained here with the recipe {audit.recipe} are means over {audit.seeds} "
            "training runs that differ in the seed. Their intervals are over seeds and images: the "
            "images' interval of the mean and the variance between seeds, with Student's factor "
            "and Satterthwaite's degrees of freedom. Models of one seed are compared with each "
            "other. All other models were trained once."
        )
    if audit.has_random_arm:
        notes.append(
            "\N{LEFT SINGLE QUOTATION MARK}Random, as many\N{RIGHT SINGLE QUOTATION MARK} keeps as "
            "many samples of the large set as the pruned set above it, drawn at random"
            f"{' for each seed' if audit.seeds > 1 else ''}, as the control. "
            "The change against it is the cost of pruning beyond that of a smaller set."
        )
    return notes


def of_first_seed(audit: Similarity) -> list[str]:
    """Return the note for models of several seeds of which only the first is shown."""
    if audit.seeds == 1:
        return []
    return [f"Each model was trained with {audit.seeds} seeds; this shows the first."]


def tables_of_accuracies(run: Settings, audit: Similarity) -> list[bool]:
    """Return which tables of accuracies have rows: with the small set added (Table 1), without."""
    asked = [each for each in audit.with_small if audit.small is not None or not each]
    if audit.recipe is not None:
        return asked or [False]
    return [each for each in asked if _accuracy_rows(run, audit, small_added=each)]


def core_sets(run: Settings, audit: Similarity, core: CoreSet) -> ReportTable:
    """Return Table 3: models of core sets, and of the sets that they were taken from."""
    rows = numbered(_core_rows(run, audit, core))
    return _of_rows(run, audit, "similarity_table3", rows)


def _of_rows(run: Settings, audit: Similarity, sql: str, rows: list[RelationRow]) -> ReportTable:
    """Return a table with a row for each of some models, and a column for each test set."""
    trained = [row for row in rows if row["recipe"] not in (PRETRAINED, CLASSIFIER)]
    made_of = [member for row in trained for member in members(run, str(row["manifest"]))]
    return ReportTable(
        sql=sql,
        inputs={
            "predictions": _predictions(run, audit, rows),
            "manifest_rows": manifest_files(run, made_of),
        },
        relations={
            "rows": rows,
            "members": made_of,
            "testsets": corpus_rows(run, "testset", audit.test_sets),
        },
    )


def _accuracy_rows(run: Settings, audit: Similarity, *, small_added: bool) -> list[RelationRow]:
    rows = _pretrained_rows(run, audit)
    if audit.recipe is None:
        return numbered(rows + ([] if small_added else _classifier_rows(run, audit)))
    start, title = web(audit), web_title(run, audit)
    if base(audit) != ALL and audit.large_model is None:
        rows.append(_row(run, audit, run.title(audit.large), audit.large))
    if small_added:
        if base(audit) != ALL or False in audit.with_small:
            rows.append(_row(run, audit, title, start))
        assert audit.small is not None, "the table with the small set added has one"
        start, title = with_small(audit), f"{title} + {run.title(audit.small)}"
    rows.append(_row(run, audit, title, start))
    for pruning in large_prunings(audit).gaps:
        what = pruning.partition(".")[2]
        rows.append(_row(run, audit, what, pruned(start, what), baseline=start))
    if not small_added:
        rows += _classifier_rows(run, audit)
    return numbered(rows)


def _core_rows(run: Settings, audit: Similarity, core: CoreSet) -> list[RelationRow]:
    rows = _pretrained_rows(run, audit)
    titles = {audit.large: run.title(audit.large), web(audit): web_title(run, audit)}
    rows += [
        _row(run, audit, title, manifest)
        for manifest, title in titles.items()
        if manifest == web(audit) or audit.large_model is None
    ]
    chosen = [(web(audit), name) for name in core_queries(audit)]
    if core.of_whole and base(audit) != ALL:
        chosen.insert(0, (audit.large, "all"))
    for manifest, name in chosen:
        dataset = f"{name}-far-pruned ({titles[manifest]})"
        rows.append(_row(run, audit, dataset, pruned(manifest, f"{name}-far-{CORE}")))
    if core.semdedup:
        dataset = f"SemDeDup ({run.title(audit.large)})"
        rows.append(_row(run, audit, dataset, pruned(audit.large, f"semdedup-{CORE}")))
    return rows


def _pretrained_rows(run: Settings, audit: Similarity) -> list[RelationRow]:
    return [
        _row(run, audit, encoder_title(run, name), name, recipe=PRETRAINED)
        for name in audit.released
    ]


def _classifier_rows(run: Settings, audit: Similarity) -> list[RelationRow]:
    """Return the rows of models with labels: classifiers from elsewhere, one of the small set."""
    rows = [
        _row(run, audit, run.classifiers[name].title or name, name, recipe=CLASSIFIER)
        for name in audit.classifiers
    ]
    if audit.supervised is not None:
        recipe = audit.supervised.recipe
        assert audit.small is not None, "settings with `supervised` have a small set"
        dataset = f"{run.title(audit.small)} ({recipe})"
        rows.append(_row(run, audit, dataset, audit.small, recipe=recipe))
    return rows


def _row(
    run: Settings,
    audit: Similarity,
    dataset: str,
    manifest: str,
    *,
    recipe: str | None = None,
    baseline: str | None = None,
) -> RelationRow:
    recipe = recipe or audit.recipe
    assert recipe is not None, "rows of trained models need a recipe"
    return {
        "dataset": dataset,
        "recipe": recipe,
        "manifest": manifest,
        "baseline": baseline,
        "indent": baseline is not None,
        "in_grid": in_grid(run, audit, recipe, manifest),
    }


def _predictions(
    run: Settings, audit: Similarity, rows: Sequence[Mapping[str, object]]
) -> list[str]:
    """Return the predictions of the rows in the grid; a small grid may have none."""
    shown = [(str(row["recipe"]), str(row["manifest"])) for row in rows if row["in_grid"]]
    by_labels = {CLASSIFIER, *run.supervised_recipes}
    return [
        path
        for recipe, manifest in shown
        for path in prediction_files(
            [(recipe, manifest)],
            classified(run, audit) if recipe in by_labels else evaluated(run, audit.test_sets),
        )
    ]


# --- effective robustness ------------------------------------------------------------------------


def robustness(run: Settings, audit: Similarity, settings: Robustness) -> ReportTable:
    """Return how far the CLIP models of Tables 1 and 4 are above the line of the small set's."""
    rows = _clip_rows(run, audit)
    models = _on_line(run, audit, settings)
    return ReportTable(
        sql="similarity_robustness",
        inputs={
            "predictions": [
                *_predictions(run, audit, rows),
                *prediction_files(models, classified(run, audit)),
            ]
        },
        relations={
            "rows": rows,
            "line_models": [
                {"recipe": recipe, "manifest": manifest} for recipe, manifest in models
            ],
            "line_points": [
                {"model": f"point {number}", "testset": name, "accuracy": accuracy}
                for number, point in enumerate(settings.points, start=1)
                for name, accuracy in point.items()
            ],
            "testsets": corpus_rows(run, "testset", audit.test_sets),
        },
        parameters={"reference": settings.reference},
    )


def _clip_rows(run: Settings, audit: Similarity) -> list[RelationRow]:
    """Return the rows of Tables 1 and 4 with a CLIP model, each model once, named in full."""
    found: dict[Model, RelationRow] = {}
    for small_added in (True, False):
        if small_added not in tables_of_accuracies(run, audit):
            continue
        rows = _accuracy_rows(run, audit, small_added=small_added)
        titles = {row["manifest"]: row["dataset"] for row in rows}
        for row in rows:
            model = str(row["recipe"]), str(row["manifest"])
            if row["in_grid"] and model[0] in (PRETRAINED, audit.recipe):
                of = f" of {titles[row['baseline']]}" if row["baseline"] else ""
                dataset = f"{row['dataset']}{of}"
                found.setdefault(model, {**row, "dataset": dataset, "indent": False})
    return [{**row, "position": position} for position, row in enumerate(found.values())]


def _on_line(run: Settings, audit: Similarity, settings: Robustness) -> list[Model]:
    """Return the models in the grid that the line goes through."""
    chosen = settings.models
    if chosen is None:
        chosen = [*audit.classifiers, *untargeted_of_small(audit)]
    models = models_of_small(run, audit)
    return [model for model in models if model[1] in chosen and in_grid(run, audit, *model)]
