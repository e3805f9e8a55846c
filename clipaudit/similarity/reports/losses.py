"""What the answer says about accuracy lost by pruning, and when a loss is certain."""

from collections.abc import Sequence
from math import hypot

from clipaudit.plaindata import Row
from clipaudit.plaintext import plain
from clipaudit.reports.answers import cannot, listed
from clipaudit.reports.layouts import MISSING, count, measured, percent


def losses_headline(pruned: Sequence[Row], rows: Sequence[Row], undistinguished: str) -> str:
    """Return on which test sets the models trained on `pruned` sets certainly lose accuracy.

    `rows` are those of the whole table. `undistinguished` is the headline for an encoder that
    distinguishes no images, "" for another one.
    """
    change = _effect(pruned)
    high = f"{change}_joint_high"
    known = [row for row in pruned if row.get(high) is not None]
    falls = [row[high] < 0 and _exceeds_controls(row, rows, change) for row in known]
    fell = [row["testset_title"] for row, does in zip(known, falls, strict=True) if does]
    others = [row["testset_title"] for row, does in zip(known, falls, strict=True) if not does]
    has_control = change == _AGAINST or any(_controls(row, rows, _OWN) for row in known)
    if pruned and not known:
        return cannot("the changes of accuracy have no intervals, so chance is not ruled out")
    if not known and undistinguished:
        return undistinguished
    if not known:
        return cannot(
            "no model was trained on a data set that is pruned to one of the test sets, so there "
            "is nothing to compare"
        )
    beyond = _BEYOND[change] if has_control else ""
    if not fell:
        return (
            f"Not that this run shows: removing the most similar samples causes no certain loss of "
            f"accuracy{beyond} on {listed(others)}."
        )
    rest = f"; on {listed(others)} no such loss is certain" if others else ""
    seeds = max(row.get("seeds", 1) for row in known)
    trained = f"over {seeds} training runs" if seeds > 1 else "in one training run"
    noise = "chance among its images and training runs" if seeds > 1 else "chance among its images"
    lower = "lower than with as many random samples" if change == _AGAINST else "lower"
    together = f", at 95 % for all {len(known)} test sets together" if len(known) > 1 else ""
    control = _CONTROLS[change] if has_control else "There is no control."
    return (
        f"In part, {trained}: without the most similar samples, the accuracy on {listed(fell)} is "
        f"{lower}, by more than {noise} explains{together}{rest}."
        f"{'' if seeds > 1 else ' Another training run may differ.'} {control}"
    )


_OWN, _AGAINST = "relative_change", "control_change"
_BEYOND = {
    _OWN: " beyond that on test sets that the pruning did not target",
    _AGAINST: " beyond what a random set of the same size loses",
}
_CONTROLS = {
    _OWN: "The control is the change on test sets that the pruning did not target: the "
    "loss there is smaller, by more than chance explains.",
    _AGAINST: "The control is a model trained on a random set of the same size.",
}


def _effect(pruned: Sequence[Row]) -> str:
    """Return which change measures the effect of pruning: against random sets, if there are any."""
    compared = any(row.get(_AGAINST) is not None for row in pruned)
    return _AGAINST if compared else _OWN


def _unpruned(row: Row, rows: Sequence[Row]) -> Row | None:
    """Return the row of the same test set for what the row's data set was pruned from."""
    for other in rows:
        same = all(other[name] == row[name] for name in ("recipe", "testset"))
        if same and other["manifest"] == row["baseline"] and other["accuracy"] is not None:
            return other
    return None


def is_guessing(row: Row, rows: Sequence[Row]) -> bool:
    """Return whether the model without pruning may be no better than chance on the test set."""
    base = _unpruned(row, rows)
    if base is None or base["accuracy_low"] is None or base.get("chance") is None:
        return False
    return bool(base["accuracy_low"] <= base["chance"])


GUESSING = "the model trained without pruning is not certainly better than chance"


def no_more_than_chance(row: Row, rows: Sequence[Row]) -> str:
    """Return the sentence on a pruned set whose effect cannot be measured, as `is_guessing`."""
    base = _unpruned(row, rows)
    assert base is not None, "a model that is compared with chance exists"
    return (
        f"{plain(row['testset_title'])}: {GUESSING}: its accuracy is "
        f"{measured(base, 'accuracy', unit=' %')}; the same predictions, assigned to the images at "
        f"random, would have {percent(base['chance'], digits=1)} %. So this run cannot measure the "
        "effect of pruning. Train longer, or on more samples."
    )


def loss_line(row: Row, rows: Sequence[Row]) -> tuple[str, ...]:
    """Return test set, accuracy before and after pruning, and change, as texts."""
    base = _unpruned(row, rows)
    before = measured(base, "accuracy") if base else MISSING
    change = measured(row, "relative_change", sign=True)
    return plain(row["testset_title"]), before, measured(row, "accuracy"), change


def told_loss(row: Row, rows: Sequence[Row]) -> str:
    """Return the sentence on a pruned set's accuracy, with its controls."""
    base = _unpruned(row, rows)
    before = f" instead of {measured(base, 'accuracy', unit=' %')}" if base else ""
    accuracy = measured(row, "accuracy", unit=" %")
    change = measured(row, "relative_change", sign=True, unit=" %")
    less = (
        f" {count(row['removed'])} {'sample' if row['removed'] == 1 else 'samples'} fewer:"
        if row["removed"] is not None
        else ""
    )
    return (
        f"{plain(row['testset_title'])}: the model trained without the samples closer to its "
        f"images than the small set{',' if less else ''}{less} {accuracy}{before}, "
        f"a relative change of {change}{_over(row)}.{_against_random(row, rows)}"
        f"{_on_others(row, rows)}"
    )


def _over(row: Row) -> str:
    seeds = row.get("seeds", 1)
    return f" over {seeds} training runs" if seeds > 1 else ""


def _against_random(row: Row, rows: Sequence[Row]) -> str:
    """Return the change with as many random samples, and this model's change against it."""
    if row.get(_AGAINST) is None:
        return ""
    of_random = next(
        measured(other, "relative_change", sign=True, unit=" %")
        for other in rows
        if (other["recipe"], other["manifest"]) == (row["recipe"], row["control"])
        and other["testset"] == row["testset"]
    )
    against = measured(row, _AGAINST, sign=True, unit=" %")
    return (
        f" Random control: with as many random samples, accuracy changes by {of_random}; "
        f"against that control it changes by {against}."
    )


def _on_others(row: Row, rows: Sequence[Row]) -> str:
    """Return the same model's changes on the other test sets: the variation of one training run."""
    changes = sorted(other[_OWN] for other in _controls(row, rows, _OWN))
    if not changes:
        return ""
    low, high = (percent(changes[at], digits=1, sign=True) for at in (0, -1))
    if len(changes) == 1:
        return f" Control: on the other test set it changes by {low} %."
    return f" Control: on the other {len(changes)} test sets it changes by {low} to {high} %."


def _exceeds_controls(row: Row, rows: Sequence[Row], change: str) -> bool:
    """Return whether a loss is certainly larger than those on test sets that are not targeted.

    These show what fewer samples cost if there are no random sets, and what another training run
    changes if there is only one. Over seeds, the random sets are the control.
    """
    if change == _AGAINST and row.get("seeds", 1) > 1:
        return True
    return all(_is_below(row, other, change) for other in _controls(row, rows, change))


def _is_below(row: Row, other: Row, change: str) -> bool:
    """Return whether a change is certainly below one on other images.

    The interval of their difference is that of Zou and Donner (2008,
    https://doi.org/10.1002/sim.2948) for independent estimates, here of different images.
    """
    least = other[f"{change}_joint_low"]
    if least is None:
        return False
    half_width = hypot(row[f"{change}_joint_high"] - row[change], other[change] - least)
    return bool(row[change] - other[change] + half_width < 0)


def _controls(row: Row, rows: Sequence[Row], change: str) -> list[Row]:
    """Return the same model's rows of other test sets, on which its baseline does not guess."""
    return [
        other
        for other in rows
        if (other["recipe"], other["manifest"]) == (row["recipe"], row["manifest"])
        and other["testset"] != row["testset"]
        and other.get(change) is not None
        and not is_guessing(other, rows)
    ]
