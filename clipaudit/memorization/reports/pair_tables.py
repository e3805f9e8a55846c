"""The tables of tests of single models: on their training pairs, and against captions alone."""

from collections.abc import Sequence

from clipaudit.config.settings import Settings
from clipaudit.memorization.fixed import RATES
from clipaudit.memorization.points import (
    TRAINED,
    PairTest,
    default_pair_tests,
    one_model_tests,
    pair_tests,
)
from clipaudit.memorization.reports.points import SETS, point_title
from clipaudit.memorization.settings import Memorization
from clipaudit.reports.specification import (
    RelationRow,
    ReportTable,
    encoder_title,
    numbered,
    titled,
)
from clipaudit.steps import paths

SCORES = {
    "target": "cosine",
    "difference": "cosine minus the reference's",
    "augmented": "cosine minus its mean with a word dropped",
    "augmented_pictures": "cosine minus its mean with the image cropped",
    "recall_gap": "recall gap of objects",
    "reference": "control: the reference's cosine",
}


def pairs(run: Settings, audit: Memorization) -> ReportTable:
    """Return the table of whether models know their training pairs."""
    tests = pair_tests(audit, run.recipes)
    over_seeds = _over_seeds(run, audit)
    return ReportTable(
        sql="memorization_pairs",
        inputs={
            "pair_tests_over_seeds": [
                paths.pair_tests_over_seeds(str(row["source"]), str(row["holdout"]))
                for row in over_seeds
            ],
            "pair_tests": [
                paths.pair_test(each.target, each.source, each.holdout) for each in tests
            ],
        },
        relations={
            "tests": numbered(over_seeds + _test_rows(run, tests)),
            "scores": titled("score", SCORES.items()),
            "measures": numbered(
                {"measure": measure, "title": title, "needed": needed}
                for measure, (title, needed) in _PAIR_MEASURES.items()
            ),
        },
        notes=_not_by_lot(tests),
    )


REFERENCES = {
    "words": "words of captions",
    "captions": "nearest captions",
    "model": "a second model",
}
PARTS = {
    "members": "trained on",
    "holdout": "hold-out",
    "net": "net",
    "less_model": "less two models'",
    "agreement_members": "agreement",
    "agreement_holdout": "agreement, hold-out",
}


def one_model(run: Settings, audit: Memorization) -> ReportTable:
    """Return the table of what models recall beyond captions alone."""
    tests = [each.of for each in one_model_tests(audit, run.recipes, run.corpora, run.encoders)]
    over_seeds = _over_seeds(run, audit)
    return ReportTable(
        sql="memorization_one_model",
        inputs={
            "one_model_over_seeds": [
                paths.one_model_over_seeds(str(row["source"]), str(row["holdout"]))
                for row in over_seeds
            ],
            "one_model": [
                paths.one_model(each.target, each.source, each.holdout) for each in tests
            ],
        },
        relations={
            "tests": numbered(over_seeds + _test_rows(run, tests)),
            "baselines": titled("reference", REFERENCES.items()),
            "parts": titled("part", PARTS.items()),
        },
        notes=_not_by_lot(tests),
    )


def _test_rows(run: Settings, tests: Sequence[PairTest]) -> list[RelationRow]:
    """Return rows of the relation `tests`: encoder, source, holdout, title."""
    return [
        {
            "encoder": each.target,
            "source": each.source,
            "holdout": each.holdout,
            "title": _tested(run, each),
        }
        for each in tests
    ]


def _over_seeds(run: Settings, audit: Memorization) -> list[RelationRow]:
    """Return rows of `tests` for the mean over seeds, one for each source of the default models."""
    if audit.seeds == 1:
        return []
    first = default_pair_tests(audit, run.recipes)[0]
    compared = dict.fromkeys((test.source, test.holdout) for test in first)
    return [
        {
            "encoder": "",
            "source": source,
            "holdout": holdout,
            "title": f"{_compared(run, source, holdout)}, default, mean over {audit.seeds} seeds",
        }
        for source, holdout in compared
    ]


def _not_by_lot(tests: Sequence[PairTest]) -> list[str]:
    return [_NOT_BY_LOT] if any(each.source != each.holdout for each in tests) else []


_PAIR_MEASURES = {
    "auc": ("AUC", 1),
    **{name: (f"TPR at {100 / one_in:g} % FPR", one_in) for name, one_in in RATES.items()},
}
_NOT_BY_LOT = (
    "Warning: no source has both `train` and `holdout`, so members and hold-out come from "
    "different sources. A score that separates them may only distinguish the sources. Give one "
    "source both, or for a checkpoint two sources that were split by lot before its training."
)


def _tested(run: Settings, test: PairTest) -> str:
    """Return a test's title in the table: its source and model."""
    if test.point is None:
        model = encoder_title(run, test.target)
    else:
        trained = next(name for name in TRAINED if test.point.encoder(name) == test.target)
        model = f"{point_title(test.point)}, model of {SETS[trained]}"
    return f"{_compared(run, test.source, test.holdout)}, {model}"


def _compared(run: Settings, source: str, holdout: str) -> str:
    against = "" if source == holdout else f" against {run.title(holdout)}"
    return f"{run.title(source)}{against}"
