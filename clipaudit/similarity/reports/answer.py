"""Answers from accuracies on pruned data whether accuracy is just train-test similarity."""

from collections.abc import Iterator, Sequence
from math import hypot

from clipaudit.plaindata import Row
from clipaudit.plaintext import plain
from clipaudit.reports.answers import CONTROL, Answer, Sentence, Tables, cannot, listed
from clipaudit.reports.layouts import MISSING, count, interval, measured, number, percent


def similarity_answer(tables: Tables) -> Answer:
    """Return the answer of the similarity audit, without the parts whose tables are missing."""
    name = "similarity_table1" if "similarity_table1" in tables else "similarity_table4"
    rows = tables.get(name, ())
    blind = _blind_encoders(tables)
    told = [row for row in rows if not _is_blind(row, blind)]
    pruned = [row for row in told if _is_own_pruning(row) and row["relative_change"] is not None]
    sentences = [Sentence(_nothing_told_apart(row), "similarity_encoders") for row in blind]
    guessing = [row for row in pruned if _is_guessing(row, rows)]
    learned = [row for row in pruned if row not in guessing]
    sentences += [Sentence(_no_more_than_chance(row, rows), name) for row in guessing]
    sentences += [Sentence(_pruning(row, rows), name) for row in learned]
    if learned and not any(row.get("control") for row in learned):
        sentences.append(Sentence(_NO_RANDOM_CONTROL, name, CONTROL))
    sentences += _beyond_line(tables, learned)
    sentences += [*_excess(tables, blind), *_nearer(tables, blind), *_near_duplicates(tables)]
    sentences += _other_encoders(tables, blind)
    sentences += _gap_check(tables)
    if name not in tables:
        headline = _untrained(tables, blind)
    elif guessing and not learned:
        headline = cannot(f"{_GUESSING} on {listed([row['testset_title'] for row in guessing])}")
    else:
        headline = _similarity_headline(learned, rows, blind)
    return Answer(
        headline,
        tuple(sentences),
        ("Test set", "Accuracy, %", "Without similar samples, %", "Relative change, %"),
        tuple(_pruning_line(row, rows) for row in pruned),
        "Similar samples are those of the large set that are closer to some test image than any "
        "sample of the small set. They are removed, and the model is trained again.",
    )


_NOT_TRAINED = (
    "No model was trained, so accuracies are not compared. Comparing them takes a recipe "
    "(`similarity.recipe`), a small set and labels."
)

_NO_RANDOM_CONTROL = (
    "There is no random control: no model was trained on a random set of the same size, so the "
    "effect of similarity cannot be separated from that of fewer samples and of another training "
    "run (`similarity.random_arm`, `similarity.seeds`)."
)


def _untrained(tables: Tables, blind: Sequence[Row]) -> str:
    """Return what can be said without trained models."""
    near = " ".join(sentence.text for sentence in _near_duplicates(tables))
    if near:
        return f"{near} {_NOT_TRAINED}"
    notes = [row["note"] for row in tables.get("similarity_table2", ()) if row.get("note")]
    why = notes[0] if notes else "no similarities were computed"
    return _nothing_distinguished(blind) or cannot(why)


def _nothing_distinguished(blind: Sequence[Row]) -> str:
    """Return the headline for a collapsed encoder of the audit; "" if it is another one."""
    own = [plain(row["encoder_title"]) for row in blind if row["position"] == 0]
    return cannot(f"the encoder {own[0]} does not distinguish the test images") if own else ""


def _is_own_pruning(row: Row) -> bool:
    """Return whether a data set is pruned to the gap of the test set that the row is about."""
    manifest = str(row["manifest"] or "")
    return row["baseline"] is not None and manifest.endswith(f".{row['testset']}-pruned")


def _blind_encoders(tables: Tables) -> list[Row]:
    """Return the encoders that have collapsed, each with the test set on which it did."""
    return [row for row in tables.get("similarity_encoders", ()) if row["collapsed"]]


def _is_blind(row: Row, blind: Sequence[Row]) -> bool:
    """Return whether a row is about a test set on which the audit's own encoder has collapsed."""
    return any(row["testset"] == each["testset"] and each["position"] == 0 for each in blind)


def _nothing_told_apart(row: Row) -> str:
    return (
        f"{plain(row['testset_title'])}: the encoder {plain(row['encoder_title'])} does not "
        f"distinguish images, so no similarity is reported. Two random images have a similarity "
        f"of {number(row['random_mean'], digits=4)} on average, an image and its nearest one "
        f"{number(row['nearest_mean'], digits=4) or MISSING}; the effective rank is "
        f"{number(row['effective_rank'], digits=1)}."
    )


def _similarity_headline(pruned: Sequence[Row], rows: Sequence[Row], blind: Sequence[Row]) -> str:
    undistinguished = _nothing_distinguished(blind)
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


def _is_guessing(row: Row, rows: Sequence[Row]) -> bool:
    """Return whether the model without pruning may be no better than chance on the test set."""
    base = _unpruned(row, rows)
    if base is None or base["accuracy_low"] is None or base.get("chance") is None:
        return False
    return bool(base["accuracy_low"] <= base["chance"])


_GUESSING = "the model trained without pruning is not certainly better than chance"


def _no_more_than_chance(row: Row, rows: Sequence[Row]) -> str:
    base = _unpruned(row, rows)
    assert base is not None, "a model that is compared with chance exists"
    return (
        f"{plain(row['testset_title'])}: {_GUESSING}: its accuracy is "
        f"{measured(base, 'accuracy', unit=' %')}; the same predictions, assigned to the images at "
        f"random, would have {percent(base['chance'], digits=1)} %. So this run cannot measure the "
        "effect of pruning. Train longer, or on more samples."
    )


def _pruning_line(row: Row, rows: Sequence[Row]) -> tuple[str, ...]:
    base = _unpruned(row, rows)
    before = measured(base, "accuracy") if base else MISSING
    change = measured(row, "relative_change", sign=True)
    return plain(row["testset_title"]), before, measured(row, "accuracy"), change


def _pruning(row: Row, rows: Sequence[Row]) -> str:
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
        and not _is_guessing(other, rows)
    ]


def _beyond_line(tables: Tables, pruned: Sequence[Row]) -> Iterator[Sentence]:
    """Yield how far the pruned models are off the line of models of the small set alone."""
    rows = tables.get("similarity_robustness", ())
    reference = next((row["testset_title"] for row in rows if row["is_reference"]), None)
    shown = {(row["manifest"], row["testset"]): row.get("seeds", 1) for row in pruned}
    for row in rows:
        seeds = shown.get((row["manifest"], row["testset"]))
        if seeds is not None and row["effective_robustness"] is not None:
            text = _off_line(row, plain(reference), one_of_several=seeds > 1)
            yield Sentence(text, "similarity_robustness")


def _off_line(row: Row, reference: str, *, one_of_several: bool) -> str:
    low = row["effective_robustness_low"]
    theirs = (
        f" In the paper: {percent(row['published_accuracy'])} % instead of "
        f"{percent(row['published_expected_accuracy'], digits=0)} %."
        if row["published_accuracy"] is not None
        else ""
    )
    conclusion = (
        "Too few models give the line an interval, so chance is not ruled out."
        if low is None
        else "So similarity does not explain all of its accuracy. An interval that reaches the "
        "line would refute that."
        if low > 0
        else "So nothing shows that more than similarity explains its accuracy. An interval above "
        "the line would refute that."
    )
    distance = measured(row, "effective_robustness", sign=True, unit=" points")
    model = "the first of these training runs" if one_of_several else "the same model"
    return (
        f"{plain(row['testset_title'])}: {model} reaches "
        f"{percent(row['accuracy'], digits=1)} %. A model of the small set alone that also has "
        f"{percent(row['reference_accuracy'], digits=1)} % on {reference} is expected to reach "
        f"{percent(row['expected_accuracy'], digits=1)} %, by a line through {row['points']} "
        f"models: {distance}.{theirs} {conclusion}"
    )


def _excess(tables: Tables, blind: Sequence[Row]) -> Iterator[Sentence]:
    """Yield the cost of pruning, over seeds, beyond that of a random set of the same size."""
    for row in tables.get("similarity_evidence", ()):
        if _is_blind(row, blind):
            continue
        # the reference test set's own excess is 0 by definition, without an interval
        if row["measure"] == "excess" and row["value_low"] is not None:
            excess = measured(row, "value", sign=True, unit=" points")
            text = (
                f"{plain(row['testset_title'])}, over seeds: beyond what a random set of the same "
                f"size loses, and beyond the reference test set, {excess}."
            )
            yield Sentence(text, "similarity_evidence")


def _near_duplicates(tables: Tables) -> Iterator[Sentence]:
    for row in tables.get("similarity_table2", ()):
        if row["share"] is not None:
            text = (
                f"{plain(row['testset_title'])}: {count(row['near_duplicates'])} of "
                f"{count(row['images'])} images have a near duplicate in "
                f"{plain(row['corpus_title'])} (1 - similarity below "
                f"{row['distance']:.3g}), {measured(row, 'share', unit=' %')}."
            )
            yield Sentence(text, "similarity_table2")


def _nearer(tables: Tables, blind: Sequence[Row]) -> Iterator[Sentence]:
    found = [row for row in tables.get("similarity_table7", ()) if row["share"] is not None]
    rows = [row for row in found if not _is_blind(row, blind)]
    spans: dict[str, list[str]] = {}
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        shares = [row for row in rows if row["corpus"] == corpus]
        spans.setdefault(_span(shares), []).append(plain(shares[0]["corpus_title"]))
    if spans:
        parts = [f"{span} in {' and in '.join(corpora)}" for span, corpora in spans.items()]
        yield Sentence(
            "Test images whose nearest sample is in the large set rather than in the small set: "
            f"{'; '.join(parts)}.",
            "similarity_table7",
        )


def _span(rows: Sequence[Row]) -> str:
    """Return the lowest and the highest share of some test sets, with intervals and names."""
    low, high = (end(rows, key=lambda row: row["share"]) for end in (min, max))
    least, most = (
        f"{measured(row, 'share', unit=' %')} ({plain(row['testset_title'])})"
        for row in (low, high)
    )
    return least if low is high else f"{least} to {most}"


def _other_encoders(tables: Tables, blind: Sequence[Row]) -> Iterator[Sentence]:
    """Yield how far other encoders prune the same samples, without collapsed encoders."""
    collapsed = {(row["testset"], row["position"]) for row in blind}
    for row in tables.get("similarity_table5", ()):
        either = {(row["testset"], place) for place in (0, row["encoder_position"] + 1)}
        if row["kappa"] is not None and not either & collapsed:
            yield Sentence(_agreement(row), "similarity_table5")


def _agreement(row: Row) -> str:
    bounds = interval(row["kappa_low"], row["kappa_high"], form=number, digits=2)
    kappa = f"{number(row['kappa'])} {bounds}".strip()
    either = row["by_both"] + row["by_first_alone"] + row["by_other_alone"]
    low = row["kappa_low"]
    conclusion = (
        "no interval, so chance is not ruled out"
        if low is None
        else "more than chance; 1 would be the same samples"
        if low > 0
        else "chance may give as much, so the pruned samples may depend on the encoder"
    )
    return (
        f"{plain(row['testset_title'])}, {plain(row['encoders_title'])}: both encoders prune "
        f"{count(row['by_both'])} of the {count(either)} samples that either prunes, "
        f"{measured(row, 'jaccard', unit=' %')}; by chance it would be "
        f"{number(row['both_by_chance'], digits=1)}. Cohen's kappa is {kappa}: {conclusion}."
    )


def _gap_check(tables: Tables) -> Iterator[Sentence]:
    rows = tables.get("similarity_gap_check", ())
    if rows:
        above, images = (sum(row[name] for row in rows) for name in ("above", "images"))
        good = "as required" if not above else "but none may: do not trust the pruning"
        yield Sentence(
            "Each pruning was checked by a new search for each test image: "
            f"{count(above)} of {count(images)} searches find a kept sample above the image's gap, "
            f"{good}.",
            "similarity_gap_check",
        )
