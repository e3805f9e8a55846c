"""Answer whether the model remembers objects, from the gaps between models."""

from collections.abc import Sequence

from clipaudit.memorization.reports.pairs_answer import TABLE as PAIRS
from clipaudit.memorization.reports.pairs_answer import beside_gaps, targets_answer
from clipaudit.plaindata import Row
from clipaudit.plaintext import plain
from clipaudit.reports.answers import Answer, Sentence, Tables, cannot
from clipaudit.reports.layouts import MINUS, MISSING, count

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
    fewest = min((row["k"] for row in whole), default=None)  # the table below has every number k
    sentences = [
        Sentence(_attack(group, gaps, unseen), table)
        for group in _attacks(whole)
        if group[0]["k"] == fewest
    ]
    known = beside_gaps(pairs)
    sentences += [known] if known else []
    return Answer(
        _headline(whole),
        tuple(sentences),
        ("Public set, images looked up", *(metric.upper() for metric in _METRICS)),
        tuple(_attack_line(group) for group in [*_attacks(whole), *_attacks(unseen)]),
        "PRG and PPG: the share of records whose objects the model trained on them finds with the "
        "higher recall, or precision, minus the share on which the other model does. "
        "AUCG: the area between both models' survival curves of recall. 0: no difference. "
        "Each is the mean over the records of both models, so a model's general advantage "
        "cancels. Only PRG in the first public set, with the fewest images, gives the answer.",
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
        return cannot("the settings ask for no pair of models with an interval for its gap")
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


def _attack(group: Sequence[Row], gaps: Sequence[Row], unseen: Sequence[Row]) -> str:
    first = group[0]
    where = first["public"], first["k"]
    same = [row for row in unseen if (row["public"], row["k"]) == where]
    control = f" On records that neither model saw, they differ by {_gaps(same)}." if same else ""
    of_source = [row for row in gaps if row["source"] and (row["public"], row["k"]) == where]
    by_source = "".join(
        f" {plain(rows[0]['source_title'])} alone: {_gaps(rows)}, over "
        f"{count(rows[0]['evaluated'])} records."
        for rows in _by(of_source, "source")
    )
    return (
        f"With the {first['k']} nearest images of {plain(first['public_title'])}: "
        f"{_gaps(group)}, over {count(first['evaluated'])} records.{by_source}{control}"
    )


def _by(rows: Sequence[Row], column: str) -> list[list[Row]]:
    groups: dict[object, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[column], []).append(row)
    return list(groups.values())


def _attack_line(group: Sequence[Row]) -> tuple[str, ...]:
    first = group[0]
    control = ", records of neither set" if first["target"] == "control" else ""
    by_metric = {row["measure"]: _signed(row) for row in group}
    name = f"{plain(first['public_title'])}, {first['k']}{control}"
    return name, *(by_metric.get(metric, MISSING) for metric in _METRICS)


def _gaps(rows: Sequence[Row]) -> str:
    ordered = sorted(rows, key=lambda row: _METRICS.index(row["measure"]))
    return ", ".join(f"{row['measure_title']} {_signed(row)}" for row in ordered)


def _signed(row: Row) -> str:
    bounds = [f"{row[name]:+.3f}" for name in ("value_low", "value_high") if row[name] is not None]
    text = f"{row['value']:+.3f}" + (f" [{', '.join(bounds)}]" if bounds else "")
    return text.replace("-", MINUS)
