"""Does the model remember objects? The answer, from the gaps between models."""

from collections.abc import Sequence

from clipaudit.memorization.reports.pairs_answer import TABLE as PAIRS
from clipaudit.memorization.reports.pairs_answer import beside_gaps, targets_answer
from clipaudit.plaindata import Row
from clipaudit.plaintext import plain
from clipaudit.reports.answers import Answer, Sentence, Tables, cannot
from clipaudit.reports.layouts import MINUS, MISSING, count

_METRICS = ("prg", "ppg", "aucg")  # the paper's; the histogram's is its code's reading of the last
_DECIDES = "prg"  # in the first public set, with the fewest images looked up


def memorization_answer(tables: Tables) -> Answer:
    """Return the answer of the memorization audit; what its tables lack is left out.

    With several seeds it is that over seeds, else that of one pair of models. Without gaps it is
    what the pair tests of targets tell.
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
        "PRG and PPG: the share of records on which the model that was trained on them has the "
        "higher recall, or precision, of their objects, less the share on which the other model "
        "has. AUCG: the area between both models' survival curves of recall. 0: no difference. "
        "Each is the mean over the records of both models, so what one model finds more of every "
        "picture cancels. PRG in the first public set, with the fewest images, answers alone.",
    )


def _attacks(rows: Sequence[Row]) -> list[list[Row]]:
    """Return the rows of each attack: those of one public set, number k and target."""
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["public_title"], row["k"], row["target"]), []).append(row)
    return list(groups.values())


def _headline(gaps: Sequence[Row]) -> str:
    """Answer by one gap alone: each further one could be a false alarm, one time in twenty."""
    row = next((row for row in gaps if row["measure"] == _DECIDES), None)
    if row is None or row["value_low"] is None:
        return cannot("no pair of models with an interval for its gap was asked for")
    seeds = row.get("seeds")
    where = f"over {seeds} seeds" if seeds else "in this pair of models"
    gap = f"{row['measure_title']} {_signed(row)}"
    if row["value_low"] > 0:
        found = (
            f"Yes, {where}: a model that was trained on a record recovers more of its objects than "
            f"one that was not, {gap}."
        )
    else:
        found = f"Not that this run shows {where}: {gap}."
    if seeds:
        return found
    return f"{found} What other trainings would show is not known: memorization.seeds trains more."


def _attack(group: Sequence[Row], gaps: Sequence[Row], unseen: Sequence[Row]) -> str:
    first = group[0]
    where = first["public_title"], first["k"]
    same = [row for row in unseen if (row["public_title"], row["k"]) == where]
    control = f" On records that neither model saw the two differ by {_gaps(same)}." if same else ""
    of_source = [row for row in gaps if row["source"] and (row["public_title"], row["k"]) == where]
    by_source = "".join(
        f" Of {plain(rows[0]['source_title'])} alone: {_gaps(rows)}, over "
        f"{count(rows[0]['evaluated'])} records."
        for rows in _by(of_source, "source")
    )
    return (
        f"With {plain(first['public_title'])} to look things up in, and the {first['k']} nearest "
        f"images: {_gaps(group)}, over {count(first['evaluated'])} records.{by_source}{control}"
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
