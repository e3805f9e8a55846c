"""Answers from accuracies on pruned data whether accuracy is just train-test similarity."""

from collections.abc import Iterator, Sequence

from clipaudit.plaindata import Row
from clipaudit.plaintext import plain
from clipaudit.reports.answers import CONTROL, Answer, Sentence, Tables, cannot, listed
from clipaudit.reports.layouts import (
    MISSING,
    count,
    digits_beside,
    interval,
    measured,
    number,
    percent,
)
from clipaudit.similarity.reports.losses import (
    GUESSING,
    is_guessing,
    loss_line,
    losses_headline,
    no_more_than_chance,
    told_loss,
)


def similarity_answer(tables: Tables) -> Answer:
    """Return the answer of the similarity audit, without the parts whose tables are missing."""
    name = "similarity_table1" if "similarity_table1" in tables else "similarity_table4"
    rows = tables.get(name, ())
    blind = _blind_encoders(tables)
    told = [row for row in rows if not _is_blind(row, blind)]
    pruned = [row for row in told if _is_own_pruning(row) and row["relative_change"] is not None]
    sentences = [Sentence(_nothing_told_apart(row), "similarity_encoders") for row in blind]
    guessing = [row for row in pruned if is_guessing(row, rows)]
    learned = [row for row in pruned if row not in guessing]
    sentences += [Sentence(no_more_than_chance(row, rows), name) for row in guessing]
    sentences += [Sentence(told_loss(row, rows), name) for row in learned]
    if learned and not any(row.get("control") for row in learned):
        sentences.append(Sentence(_NO_RANDOM_CONTROL, name, CONTROL))
    sentences += _beyond_line(tables, learned)
    sentences += [*_excess(tables, blind), *_nearer(tables, blind), *_near_duplicates(tables)]
    sentences += _other_encoders(tables, blind)
    sentences += _gap_check(tables)
    if name not in tables:
        headline = _untrained(tables, blind)
    elif guessing and not learned:
        headline = cannot(f"{GUESSING} on {listed([row['testset_title'] for row in guessing])}")
    else:
        headline = losses_headline(learned, rows, _nothing_distinguished(blind))
    return Answer(
        headline,
        tuple(sentences),
        ("Test set", "Accuracy, %", "Without similar samples, %", "Relative change, %"),
        tuple(loss_line(row, rows) for row in pruned),
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
            within = "at most" if row.get("is_calibrated") else "below"
            text = (
                f"{plain(row['testset_title'])}: {count(row['near_duplicates'])} of "
                f"{count(row['images'])} images have a near duplicate in "
                f"{plain(row['corpus_title'])} (1 - similarity {within} "
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
    digits = digits_beside(0, row["kappa_low"], row["kappa_high"], digits=2)
    bounds = interval(row["kappa_low"], row["kappa_high"], form=number, digits=digits)
    kappa = f"{number(row['kappa'], digits=digits)} {bounds}".strip()
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
