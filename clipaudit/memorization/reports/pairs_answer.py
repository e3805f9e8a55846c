"""Answer whether a model distinguishes its training pairs from other pairs, by the pair tests.

Only one score answers, the cosine minus the reference's: a second would add false alarms.
"""

from collections.abc import Sequence

from clipaudit.plaindata import Row
from clipaudit.plaintext import plain
from clipaudit.reports.answers import Answer, Sentence, cannot
from clipaudit.reports.layouts import count, digits_beside

TABLE = "memorization_pairs"
_SCORES = ("target", "difference", "reference")
_MEANING = (
    "An AUC of 1 means that every training pair scores above every other pair; 0.5 is chance."
)
_TWO_TRAININGS = (
    "To measure how many objects captions reveal beyond a second model, and which records are "
    "memorized most, train two models in this run: `memorization.recipe`."
)

Test = dict[str, Row]  # the rows of the AUC of one model on one source, by score


def auc_tests(rows: Sequence[Row]) -> list[Test]:
    """Return the tests of `memorization_pairs` that have an AUC, in the order of the rows."""
    tests: dict[tuple[object, ...], Test] = {}
    for row in rows:
        if row["measure"] == "auc" and row["value"] is not None:
            key = row["encoder"], row["source"], row["holdout"]
            tests.setdefault(key, {})[row["score"]] = row
    return [test for test in tests.values() if set(_SCORES) <= test.keys()]


def targets_answer(rows: Sequence[Row]) -> Answer:
    """Return the answer of an audit that trains no model, from the rows of its pair tests."""
    tests = auc_tests(rows)
    return Answer(
        _headline(tests),
        (*(Sentence(_told(test), TABLE) for test in tests), Sentence(_TWO_TRAININGS, "")),
        ("Model and source", "AUC of the cosine", "minus the reference's", "control"),
        tuple(_line(test) for test in tests),
        f"{_MEANING} The control is the reference, which saw neither set: an interval without 0.5 "
        "means that the sets differ for another reason than training.",
    )


def beside_gaps(rows: Sequence[Row]) -> Sentence | None:
    """Return the sentence on the first model's pair tests beside gaps; None without such tests."""
    tests = auc_tests(rows)
    own = [test for test in tests if _first(test)["encoder"] == _first(tests[0])["encoder"]]
    if not own:
        return None
    found = " ".join(_told(test) for test in own)
    return Sentence(
        f"{found} {_MEANING} A model may know every pair while the gaps above are small: the "
        "AUC shows whether membership leaks, the gaps whether a caption reveals objects that it "
        "does not name.",
        TABLE,
    )


def _headline(tests: Sequence[Test]) -> str:
    if not tests:
        return cannot("no pair test of a target against a reference has records for an AUC")
    sound = [test for test in tests if not test["reference"]["control_fails"]]
    if not sound:
        return cannot(
            "the reference, which saw neither set, also separates members and hold-out, so they "
            "differ for another reason than training"
        )
    shown = [test for test in sound if test["difference"]["value_low"] > 0.5]
    if not shown:
        return (
            "Not shown: no interval of an AUC, of the cosine minus the reference's, is above 0.5."
        )
    certain = [test for test in shown if _first(test)["by_lot"]]
    if not certain:
        return cannot(
            "the model distinguishes its training pairs from other pairs, but these come from "
            "another source, and it may only distinguish the sources"
        )
    if len(certain) == len(tests):
        return "Yes, in every test: the model distinguishes its training pairs from other pairs."
    return (
        f"Yes, in part: in {len(certain)} of {len(tests)} tests the model distinguishes its "
        "training pairs from other pairs. One such test in forty shows this by chance for a "
        "model that knows no pair."
    )


def _told(test: Test) -> str:
    first = _first(test)
    target, difference, control = (_auc(test[score]) for score in _SCORES)
    return (
        f"{plain(first['test_title'])}: the AUC of {count(first['members'])} training pairs "
        f"against {count(first['holdout_records'])} of the hold-out is {difference} by the cosine "
        f"minus the reference's, {target} by the cosine alone.{_warning(test, control)}"
    )


def _warning(test: Test, control: str) -> str:
    if test["reference"]["control_fails"]:
        return (
            f" Warning: the reference alone reaches {control}, though it saw neither set. The sets "
            "differ for another reason than training, so this is no evidence of memory."
        )
    if not _first(test)["by_lot"]:
        return (
            " Warning: members and hold-out come from different sources, and the score may only "
            "distinguish these."
        )
    return ""


def _line(test: Test) -> tuple[str, ...]:
    return plain(_first(test)["test_title"]), *(_auc(test[score]) for score in _SCORES)


def _first(test: Test) -> Row:
    return test["difference"]


def _auc(row: Row) -> str:
    bounds = row["value_low"], row["value_high"]
    digits = digits_beside(0.5, *bounds, digits=3)
    value, low, high = (f"{each:.{digits}f}" for each in (row["value"], *bounds))
    return f"{value} [{low}, {high}]"
