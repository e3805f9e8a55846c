"""Does the model remember objects? The answer, from the gaps between two models."""

from collections.abc import Sequence

from clipaudit.plaindata import Row
from clipaudit.plaintext import plain
from clipaudit.reports.answers import Answer, Sentence, Tables, cannot
from clipaudit.reports.layouts import MINUS, MISSING, count

_METRICS = ("prg", "ppg", "aucg")  # the paper's; the histogram's is its code's reading of the last


def memorization_answer(tables: Tables) -> Answer:
    """Return the answer of the memorization audit; what its tables lack is left out."""
    rows = [
        row
        for row in tables.get("memorization_gaps", ())
        if row["point"] == "default" and row["measure"] in _METRICS and row["value"] is not None
    ]
    seen = [row for row in rows if row["target"] == "mean"] or [
        row for row in rows if row["target"] != "control"
    ]
    unseen = [row for row in rows if row["target"] == "control"]
    fewest = min((row["k"] for row in seen), default=None)  # the table below has every number k
    sentences = [
        Sentence(_attack(group, unseen), "memorization_gaps")
        for group in _attacks(seen)
        if group[0]["k"] == fewest
    ]
    return Answer(
        _headline(seen) + _caveat(unseen),
        tuple(sentences),
        ("Public set, images looked up", *(metric.upper() for metric in _METRICS)),
        tuple(_attack_line(group) for group in [*_attacks(seen), *_attacks(unseen)]),
        "PRG and PPG: the share of records on which the model that was trained on them has the "
        "higher recall, or precision, of their objects, less the share on which the other model "
        "has. AUCG: the area between both models' survival curves of recall. 0: no difference.",
    )


def _attacks(rows: Sequence[Row]) -> list[list[Row]]:
    """Return the rows of each attack: those of one public set, number k and target."""
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["public_title"], row["k"], row["target"]), []).append(row)
    return list(groups.values())


def _headline(seen: Sequence[Row]) -> str:
    known = [row for row in seen if row["value_low"] is not None]
    if not known:
        return cannot("no pair of models with an interval for its gap was asked for")
    positive = [row for row in known if row["value_low"] > 0]
    if len(positive) == len(known):
        return (
            "Yes: in every attack the model that was trained on a record recovers more of its "
            "objects than one that was not, beyond chance."
        )
    if positive:
        return (
            f"Yes, in part: {len(positive)} of {len(known)} gaps between the model that was "
            "trained on a record and one that was not exclude 0."
        )
    return "Not that this run shows: no gap between the two models excludes 0."


def _caveat(unseen: Sequence[Row]) -> str:
    """Say where two models differ on records of neither: by that much trainings differ anyway."""
    known = [
        row for row in unseen if row["value_low"] is not None and row["value_high"] is not None
    ]
    apart = [row for row in known if row["value_low"] > 0 or row["value_high"] < 0]
    if not apart:
        return ""
    widest = max(abs(row["value"]) for row in apart)
    return (
        " But on records that neither model saw gaps exclude 0 as well "
        f"({len(apart)} of {len(known)}): up to {widest:.3f} is how two trainings differ anyway."
    )


def _attack(group: Sequence[Row], unseen: Sequence[Row]) -> str:
    first = group[0]
    same = [
        row
        for row in unseen
        if (row["public_title"], row["k"]) == (first["public_title"], first["k"])
    ]
    control = f" On records that neither model saw: {_gaps(same)}." if same else ""
    return (
        f"With {plain(first['public_title'])} to look things up in, and the {first['k']} nearest "
        f"images: {_gaps(group)}, over {count(first['evaluated'])} records.{control}"
    )


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
