"""Answer whether the model remembers objects, from the gaps between models."""

from collections.abc import Iterator, Sequence

from clipaudit.memorization.reports.pairs_answer import TABLE as PAIRS
from clipaudit.memorization.reports.pairs_answer import beside_gaps, targets_answer
from clipaudit.plaindata import Row
from clipaudit.plaintext import plain
from clipaudit.reports.answers import Answer, Sentence, Tables, cannot
from clipaudit.reports.layouts import MINUS, MISSING, count, digits_beside

_METRICS = ("prg", "ppg", "aucg")  # the paper's; its code computes the last from a histogram
_DECIDES = "prg"  # in the first public set, with the fewest images looked up


def memorization_answer(tables: Tables) -> Answer:
    """Return the answer of the memorization audit, as far as its tables allow.

    It uses the means over seeds if there are several, else one pair of models. Without gaps it uses
    the pair tests of targets.
    """
    pairs = tables.get(PAIRS, ())
    if pairs and not tables.get("memorization_gaps"):
        return targets_answer(pairs)
    over_seeds = [
        row for row in tables.get("memorization_evidence", ()) if row["setting"] == "default"
    ]
    table = "memorization_evidence" if over_seeds else "memorization_gaps"
    rows = [
        row
        for row in over_seeds or tables.get("memorization_gaps", ())
        if (over_seeds or row["point"] == "default")
        and row["measure"] in _METRICS
        and row["value"] is not None
    ]
    gaps = [row for row in rows if row["target"] == "mean"]
    whole = [row for row in gaps if not row["source"]]
    unseen = [row for row in rows if row["target"] == "control" and not row["source"]]
    deciding = [row for row in whole if row["measure"] == _DECIDES]
    fewest = min((row["k"] for row in deciding), default=None)  # the table below has every number k
    sentences = [
        Sentence(_attack(row, gaps, unseen), table) for row in deciding if row["k"] == fewest
    ]
    known = beside_gaps(pairs)
    sentences += [known] if known else []
    return Answer(
        _headline(whole),
        tuple(sentences),
        ("Public set, images looked up", *(metric.upper() for metric in _METRICS)),
        tuple(map(_attack_line, _with_controls(_attacks(whole), _attacks(unseen)))),
        "PRG and PPG: the share of records whose objects the model trained on them finds with the "
        "higher recall, or precision, minus the share on which the other model does. "
        "AUCG: the area between both models' survival curves of recall. 0: no difference. "
        "Each is the mean over the records of both models, so a model's general advantage "
        "cancels. Control: records that neither model saw. Only PRG in the first public set, with "
        "the fewest images, gives the answer.",
    )


def _attacks(rows: Sequence[Row]) -> list[list[Row]]:
    """Return the rows of each attack, given by public set, number k and target."""
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["public"], row["k"], row["target"]), []).append(row)
    return list(groups.values())


def _headline(gaps: Sequence[Row]) -> str:
    """Return the answer by one gap, since each further gap adds a false alarm in 1 of 20 runs."""
    row = next((row for row in gaps if row["measure"] == _DECIDES), None)
    if row is None or row["value_low"] is None:
        return cannot("a gap needs two models, and records of both whose images show an object")
    seeds = row.get("seeds")
    where = f"over {seeds} seeds" if seeds else "in this pair of models"
    gap = f"{row['measure_title']} {_signed(row)}"
    if row["value_low"] > 0:
        found = (
            f"Yes, {where}: a model trained on a record recovers more of its objects than "
            f"one that was not, {gap}."
        )
    else:
        found = f"Not that this run shows {where}: {gap}."
    if seeds:
        return found
    return f"{found} Other training runs may differ: memorization.seeds trains more."


def _attack(row: Row, gaps: Sequence[Row], unseen: Sequence[Row]) -> str:
    """Return a sentence on one measure of an attack: all records, each source's, the control's."""
    by_source = "".join(
        f"; in {plain(each['source_title'])} alone {_over(each)}"
        for each in gaps
        if each["source"] and _what(each) == _what(row)
    )
    same = next((each for each in unseen if _what(each) == _what(row)), None)
    title = row["measure_title"]
    control = (
        f" Control: on records that neither model saw, {title} is {_signed(same)}." if same else ""
    )
    return (
        f"With the {row['k']} nearest images of {plain(row['public_title'])}, {title} is "
        f"{_over(row)}{by_source}.{control}"
    )


def _what(row: Row) -> tuple[object, ...]:
    return row["public"], row["k"], row["measure"]


def _over(row: Row) -> str:
    return f"{_signed(row)} over {count(row['evaluated'])} records"


def _with_controls(
    attacks: Sequence[list[Row]], controls: Sequence[list[Row]]
) -> Iterator[list[Row]]:
    """Yield each attack, followed by its control."""
    for group in attacks:
        yield group
        yield from (each for each in controls if _what(each[0])[:2] == _what(group[0])[:2])


def _attack_line(group: Sequence[Row]) -> tuple[str, ...]:
    first = group[0]
    name = f"{plain(first['public_title'])}, {first['k']}"
    by_metric = {row["measure"]: _signed(row) for row in group}
    return (
        "control" if first["target"] == "control" else name,
        *(by_metric.get(metric, MISSING) for metric in _METRICS),
    )


def _signed(row: Row) -> str:
    known = [row[name] for name in ("value_low", "value_high") if row[name] is not None]
    digits = digits_beside(0, *known, digits=3)
    bounds = [f"{bound:+.{digits}f}" for bound in known]
    text = f"{row['value']:+.{digits}f}" + (f" [{', '.join(bounds)}]" if bounds else "")
    return text.replace("-", MINUS)
