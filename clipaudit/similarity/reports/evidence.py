"""Defines the similarity audit's two tables of evidence: the cost of pruning over seeds."""

from collections.abc import Sequence

from clipaudit.config.manifests import size_label
from clipaudit.config.settings import Settings
from clipaudit.reports.specification import (
    RelationRow,
    ReportTable,
    corpus_rows,
    numbered,
    prediction_files,
)
from clipaudit.similarity.checks import evaluated
from clipaudit.similarity.prunings import bases, pruned, rand, random_like, web
from clipaudit.similarity.settings import Evidence, Similarity
from clipaudit.similarity.trainings import trainings

Model = tuple[str, str]  # recipe, manifest


def _measures(*rows: tuple[str, str, str, str, bool]) -> list[RelationRow]:
    """Return the relation `measures`: an arm's accuracy, or its difference from another arm's."""
    names = ("measure", "title", "arm", "less", "is_beyond")
    return numbered(dict(zip(names, row, strict=True)) for row in rows)


OF_PRUNING = _measures(
    ("pruned", "accuracy, pruned set", "pruned", "", False),
    ("random", "accuracy, random set", "random", "", False),
    ("effect", "difference", "pruned", "random", False),
    ("excess", "difference beyond the reference", "pruned", "random", True),
)
OF_ORDERS = _measures(
    ("near", "accuracy, near-pruned", "near", "", False),
    ("rand", "accuracy, rand-pruned", "rand", "", False),
    ("far", "accuracy, far-pruned", "far", "", False),
    ("near_effect", "near less rand", "near", "rand", False),
    ("rand_effect", "rand less far", "rand", "far", False),
)


def evidence_models(run: Settings, audit: Similarity) -> set[Model]:
    """Return the models that the evidence needs, whatever the grid."""
    evidence = audit.evidence
    if evidence is None:
        return set()
    arms = [*_arms(run, audit, evidence), *_order_arms(run, audit, evidence)]
    return {(str(arm["recipe"]), str(arm["manifest"])) for arm in arms}


def evidence_of_pruning(run: Settings, audit: Similarity, evidence: Evidence) -> ReportTable:
    """Return the effect of pruning over several seeds, against a random set of the same size."""
    arms = _arms(run, audit, evidence)
    return _evidence(run, audit, arms, OF_PRUNING, reference=evidence.reference)


def evidence_of_orders(run: Settings, audit: Similarity, evidence: Evidence) -> ReportTable:
    """Return the effects of near-, rand- and far-pruning by one size over several seeds."""
    return _evidence(run, audit, _order_arms(run, audit, evidence), OF_ORDERS, reference="")


def _evidence(
    run: Settings,
    audit: Similarity,
    arms: list[RelationRow],
    measures: Sequence[RelationRow],
    *,
    reference: str,
) -> ReportTable:
    models = [(str(arm["recipe"]), str(arm["manifest"])) for arm in arms]
    return ReportTable(
        sql="similarity_evidence",
        inputs={"predictions": prediction_files(models, evaluated(run, audit.test_sets))},
        relations={
            "arms": arms,
            "measures": measures,
            "testsets": corpus_rows(run, "testset", audit.test_sets),
        },
        parameters={"reference": reference},
    )


def _evidence_trainings(run: Settings, audit: Similarity) -> list[str]:
    assert audit.recipe is not None, "settings with `evidence` have `seeds`, hence a recipe"
    return trainings(audit, run.recipes, audit.recipe)


def _arms(run: Settings, audit: Similarity, evidence: Evidence) -> list[RelationRow]:
    gap_pruned = pruned(bases(audit)[0], f"{evidence.pruning}-pruned")
    return [
        {"recipe": recipe, "manifest": manifest, "arm": arm}
        for draw, recipe in enumerate(_evidence_trainings(run, audit), start=1)
        for arm, manifest in (("pruned", gap_pruned), ("random", random_like(gap_pruned, draw)))
    ]


def _order_arms(run: Settings, audit: Similarity, evidence: Evidence) -> list[RelationRow]:
    if evidence.removed is None:
        return []
    label = size_label(evidence.removed)
    return [
        {"recipe": recipe, "manifest": pruned(web(audit), what), "arm": order}
        for draw, recipe in enumerate(_evidence_trainings(run, audit), start=1)
        for order, what in (
            ("near", f"{evidence.pruning}-near-{label}"),
            ("rand", rand(label, draw)),
            ("far", f"{evidence.pruning}-far-{label}"),
        )
    ]
