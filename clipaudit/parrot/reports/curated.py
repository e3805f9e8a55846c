"""The parrot audit's tables of trained models, and their inputs.

Tables 2 to 5, 8 and 10 to 13 of the paper; the evidence over seeds, the cost of a printed class
name, and every task of the suite.
"""

from collections.abc import Sequence

from clipaudit.config.settings import Settings
from clipaudit.parrot.curated import (
    CuratedSet,
    Family,
    curated_sets,
    evidence_arms,
    model_encoder,
    trained_models,
)
from clipaudit.parrot.curated_settings import Curations, Evidence
from clipaudit.parrot.reports.tasks import listed_tasks, suite_rows, suite_tasks
from clipaudit.parrot.settings import Attack, Parrot
from clipaudit.parrot.trained_on import training_notes
from clipaudit.reports.layouts import short_count
from clipaudit.reports.specification import (
    RelationRow,
    ReportTable,
    encoder_title,
    manifest_files,
    members,
    numbered,
    part_files,
    titled,
)
from clipaudit.steps import paths

# The corpora of the paper's tables; other corpora have no published numbers beside them.
LAION = "LAION-2B"
CC12M = "CC12M"
PAPERS_MODELS = ("RN50", "ViT-B")


def curated_tables(run: Settings) -> dict[str, ReportTable]:
    """Return the tables of trained models that the settings ask for, by name."""
    audit = run.section(Parrot)
    if audit is None or audit.encoder is None:
        return {}
    tables = {"parrot_table8": compared(run, audit)}
    if audit.attack is not None:
        tables["parrot_attack"] = attack(run, audit, audit.attack)
    if audit.suite is not None:
        tables["parrot_suite"] = suite_results(run, audit)
    if audit.curations is not None:
        tables |= _ablations(run, audit, audit.curations)
        if audit.evidence is not None:
            tables["parrot_evidence"] = evidence(run, audit, audit.evidence)
    return dict(sorted(tables.items()))


# --- sets of equal size --------------------------------------------------------------------------


def _ablations(run: Settings, audit: Parrot, settings: Curations) -> dict[str, ReportTable]:
    """Return the tables that have sets; Table 13 is Table 5 at the largest size."""
    sizes = sorted(settings.sizes)
    asked: dict[str, tuple[Family, Sequence[int], str]] = {
        "parrot_table2": ("text", sizes, LAION),
        "parrot_table3": ("cotr", sizes[:1], LAION),
        "parrot_table4": ("rsa", sizes[:1], LAION),
        "parrot_table5": ("rsc", sizes[:1], LAION),
        "parrot_table10": ("text", sizes[:1], CC12M),
        "parrot_table11": ("cotr", sizes[1:][-1:], LAION),
        "parrot_table12": ("rsa", sizes[1:][-1:], LAION),
        "parrot_table13": ("rsc", sizes[1:][-1:], LAION),
    }
    if settings.filters:
        asked["parrot_filters"] = ("filter", sizes, "")
    tables = {}
    for name, (family, chosen, paper) in asked.items():
        rows = _rows(run, settings, trained_models(audit), family, chosen, paper)
        if rows:
            tables[name] = _ablation(run, audit, settings, rows)
    return tables


def _ablation(
    run: Settings, audit: Parrot, settings: Curations, rows: list[RelationRow]
) -> ReportTable:
    trained = [row for row in rows if row["in_grid"]]
    encoders = [str(row["encoder"]) for row in trained]
    sets = list(dict.fromkeys(str(row["members"]) for row in trained))
    parts = run.parts(settings.corpus)
    return ReportTable(
        sql="parrot_curated",
        inputs={
            "curated_rows": [
                paths.manifest(settings.corpus, name, part) for name in sets for part in parts
            ],
            "scores": part_files(run, f"caption_scores/{audit.scorer}", [settings.corpus]),
            "task_results": _task_results(run, encoders),
            "probes": _probes(audit, encoders),
            "curves": [paths.curves(str(row["recipe"]), str(row["curated"])) for row in trained],
        },
        relations={"rows": rows},
        notes=[*training_notes(run, [audit.scorer], [settings.corpus]), *_unprobed(audit)],
    )


def _rows(
    run: Settings,
    settings: Curations,
    trained: Sequence[tuple[str, str]],
    family: Family,
    sizes: Sequence[int],
    paper: str,
) -> list[RelationRow]:
    """Return the relation `rows`, by size and then by recipe, as in the paper's tables."""
    beside = ("random", "without-text") if family == "filter" else ()
    sets = [
        each
        for each in curated_sets(settings).values()
        if each.curation.family == family or each.curation.kind in beside
    ]
    models, papers = _model_titles(run, settings), _papers_models(run, settings)
    is_papers = run.title(settings.corpus) == paper
    found = [
        (each, recipe)
        for size in sizes
        for recipe in settings.recipes_for(size)
        for each in sets
        if each.size == size
    ]
    return [
        {
            "position": position,
            "title": f"{_data_title(each)} / {models[recipe]}",
            "data": _data_title(each),
            "model": models[recipe],
            "recipe": recipe,
            "curated": each.name,
            "members": each.members,
            "encoder": model_encoder(recipe, each.name),
            "epochs": run.recipes[recipe].epochs,
            "in_grid": (recipe, each.name) in trained,
            "published_row": f"{_sized(each, each.curation.papers_title)} / {papers[recipe]}"
            if is_papers and papers[recipe]
            else "",
        }
        for position, (each, recipe) in enumerate(found)
    ]


def _data_title(each: CuratedSet) -> str:
    return _sized(each, each.curation.title)


def _sized(each: CuratedSet, title: str) -> str:
    return title if each.size is None else f"{short_count(each.size)} {title}"


def _papers_models(run: Settings, settings: Curations) -> dict[str, str]:
    """Return the paper's model that each recipe trains; "" for none."""
    architectures = {recipe: run.recipes[recipe].architecture for recipe in settings.all_recipes}
    own = {recipe: name for recipe, name in architectures.items() if name in PAPERS_MODELS}
    return {**dict.fromkeys(architectures, ""), **own, **settings.published_models}


def _model_titles(run: Settings, settings: Curations) -> dict[str, str]:
    """Return the titles of recipes: their architectures if these are unique, else their names."""
    names = {recipe: run.recipes[recipe].architecture for recipe in settings.all_recipes}
    if len(set(names.values())) < len(names):
        return {recipe: recipe for recipe in names}
    return names


# --- other tables --------------------------------------------------------------------------------


def compared(run: Settings, audit: Parrot) -> ReportTable:
    """Return Table 8: the models trained on the debiased subset, then the probed models."""
    models = _debiased(run, audit) + [
        {
            "title": encoder_title(run, name),
            "encoder": name,
            "manifest": _trained_on(run, name),
            "published_row": encoder_title(run, name),
        }
        for name in audit.all_probed
    ]
    encoders = list(dict.fromkeys(str(model["encoder"]) for model in models))
    manifests = dict.fromkeys(str(model["manifest"]) for model in models if model["manifest"])
    made_of = [member for name in manifests for member in members(run, name)]
    return ReportTable(
        sql="parrot_table8",
        inputs={
            "trained_rows": manifest_files(run, made_of),
            "task_results": _task_results(run, encoders),
            "probes": _probes(audit, encoders),
        },
        relations={
            "models": numbered(models),
            "trained_on": made_of,
        },
        notes=[*_of_debiased(audit), *_unprobed(audit)],
    )


def _of_debiased(audit: Parrot) -> list[str]:
    """Return the caption's sentence on what the debiased subset is, or that there is none."""
    if audit.curations is None or audit.curations.debiased is None:
        return ["This run's settings ask for no debiased subset."]
    if audit.deduplication is None:
        return ["Duplicates are not removed from the debiased subset (parrot.deduplication)."]
    return ["Duplicates are removed from the debiased subset."]


def _unprobed(audit: Parrot) -> list[str]:
    """Return the note on models that are not probed with single words, if so."""
    if 1 in audit.probe.lengths:
        return []
    return [
        "Models are not probed with single words (`parrot.probe.lengths`), so nothing here shows "
        "whether they read."
    ]


def _debiased(run: Settings, audit: Parrot) -> list[RelationRow]:
    settings = audit.curations
    if settings is None:
        return []
    models, papers = _model_titles(run, settings), _papers_models(run, settings)
    is_papers = run.title(settings.corpus) == LAION
    found = curated_sets(settings).values()
    return [
        {
            "title": f"{_data_title(each)} / {models[recipe]}",
            "encoder": model_encoder(recipe, each.name),
            "manifest": each.name,
            "published_row": "Ours" if is_papers and papers[recipe] == "ViT-B" else "",
        }
        for each in found
        if each.curation.kind == "debiased"
        for recipe in settings.all_recipes
        if (recipe, each.name) in trained_models(audit)
    ]


def _trained_on(run: Settings, encoder: str) -> str:
    """Return the manifest that an encoder was trained on.

    It is "" for an encoder from elsewhere, or trained on a drawn set, not one pruned from a corpus.
    """
    manifest = (run.encoders[encoder].model or "").partition("/")[2]
    return "" if run.is_drawn(manifest) else manifest


def evidence(run: Settings, audit: Parrot, asked: Evidence) -> ReportTable:
    """Return the table of what parrot captions teach, over seeds."""
    from clipaudit.evaluation.student import student_quantile  # needs scipy, slow to import

    assert audit.curations is not None, "checked with the settings"
    arms = evidence_arms(asked, audit.curations)
    first, *others = arms
    comparisons = [*((first, other) for other in others), *((arm, "") for arm in arms)]
    titles = {name: _data_title(each) for name, each in curated_sets(audit.curations).items()}
    models = [
        {
            "position": position,
            "arm": arm,
            "recipe": recipe,
            "seed_title": f"{recipe}, seed {run.recipes[recipe].seed}",
            "curated": name,
            "encoder": model_encoder(recipe, name),
            "epochs": run.recipes[recipe].epochs,
        }
        for position, recipe in enumerate(asked.recipes)
        for arm, name in arms.items()
    ]
    encoders = [str(model["encoder"]) for model in models]
    zero_shot = [str(row["task"]) for row in listed_tasks(run) if row["source"] == "zero-shot"]
    return ReportTable(
        sql="parrot_evidence",
        inputs={
            "task_results": _task_results(run, encoders),
            "tasks": [
                paths.tasks(encoder, test_set) for encoder in encoders for test_set in zero_shot
            ],
            "probes": _probes(audit, encoders),
            "curves": [
                paths.curves(str(model["recipe"]), str(model["curated"])) for model in models
            ],
        },
        relations={
            "models": models,
            "comparisons": numbered(
                {
                    "arm": arm,
                    "against": against,
                    "title": " less ".join(titles[arms[each]] for each in (arm, against) if each),
                }
                for arm, against in comparisons
            ),
        },
        parameters={
            "t": student_quantile(len(asked.recipes) - 1),
            "imagenet": next((name for name in audit.test_sets[:1] if name in zero_shot), ""),
        },
    )


def suite_results(run: Settings, audit: Parrot) -> ReportTable:
    """Return the table of every task of the suite, run or skipped, for every model."""
    models = {name: encoder_title(run, name) for name in audit.all_probed}
    models |= trained_titles(run, audit)
    return ReportTable(
        sql="parrot_suite",
        inputs={
            "suite": [paths.suite(model, name) for model in models for name in suite_tasks(run)]
        },
        relations={
            "listed": suite_rows(run),
            "models": titled("encoder", models.items()),
        },
    )


def attack(run: Settings, audit: Parrot, asked: Attack) -> ReportTable:
    """Return the table of accuracy lost to a wrong class name printed on test images."""
    titles = {name: encoder_title(run, name) for name in run.encoders}
    titles |= trained_titles(run, audit)
    attacked = asked.encoders or [*trained_titles(run, audit), *audit.all_probed]
    encoders = list(dict.fromkeys(attacked))
    return ReportTable(
        sql="parrot_attack",
        inputs={
            "attacked": [
                paths.attacked(encoder, test_set)
                for encoder in encoders
                for test_set in asked.all_test_sets
            ]
        },
        relations={
            "asked": numbered(
                {
                    "testset": test_set,
                    "testset_title": run.title(test_set),
                    "encoder": encoder,
                    "title": titles[encoder],
                }
                for test_set in asked.all_test_sets
                for encoder in encoders
            )
        },
    )


def trained_titles(run: Settings, audit: Parrot) -> dict[str, str]:
    """Return the tables' titles of the models trained on curated sets, by encoder."""
    if audit.curations is None:
        return {}
    titles = {name: _data_title(each) for name, each in curated_sets(audit.curations).items()}
    models = _model_titles(run, audit.curations)
    return {
        model_encoder(recipe, name): f"{titles[name]} / {models.get(recipe, recipe)}"
        for recipe, name in trained_models(audit)
    }


# --- files ---------------------------------------------------------------------------------------


def _task_results(run: Settings, encoders: Sequence[str]) -> list[str]:
    """Return the results of models on the tasks, if there are any tasks."""
    has_tasks = bool(listed_tasks(run))
    return [paths.task_results(encoder) for encoder in encoders if has_tasks]


def _probes(audit: Parrot, encoders: Sequence[str]) -> list[str]:
    """Return the probes of models with single words, if the settings ask for them."""
    has_words, words = 1 in audit.probe.lengths, audit.probe.word_vocabulary
    profiled = audit.corpora[0]
    return [paths.probe(encoder, profiled, words) for encoder in encoders if has_words]
