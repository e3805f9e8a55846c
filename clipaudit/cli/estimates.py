"""Print `clipaudit plan --estimate`: one line per rule, the totals, what is unknown."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from clipaudit.cli.options import size
from clipaudit.plaintext import many

if TYPE_CHECKING:
    from clipaudit.lineage.planning.estimates import Estimate, Stage

HEADINGS = ("rule", "jobs", "CPU h", "GPU h", "bytes", "work", "rate")
_SHORT = 60  # characters of a model's definition that are shown


def estimate_lines(found: "Estimate") -> Iterator[str]:
    """Yield the lines of an estimate as text."""
    for corpus, samples in found.samples.items():
        yield f"samples of {corpus}: {samples}"
    needed = found.total("bytes")
    total = (
        "total",
        f"{found.total('jobs'):,}",
        f"{found.total('cpu_hours'):.3g}",
        f"{found.total('gpu_hours'):.3g}",
        size(needed),
        "",
        "",
    )
    yield from _aligned([HEADINGS, *map(_row, found.stages), total])
    for stage in found.stages:
        for why, jobs in stage.unknown.items():
            yield f"unknown, {many(jobs, 'job')}: {_shortened(why)}"
    if found.no_steps:
        named = ", ".join(f"{rule} {jobs:,}" for rule, jobs in sorted(found.no_steps.items()))
        yield f"not counted, because never recorded: {named}"
    largest = max(found.stages, key=lambda stage: stage.asked_mb, default=None)
    if largest and largest.asked_mb:
        yield f"largest memory request of one job: {largest.asked_mb:,} MB ({largest.rule})"
    at_least = "at least " if found.total("unsized") else ""
    yield f"needed on the store's disk: {at_least}{size(needed)}"
    yield f"free on the store's disk: {size(found.free_bytes)}"


def estimate_json(found: "Estimate") -> str:
    """Return an estimate as JSON: totals, then each rule."""
    totals = {
        name: found.total(name)
        for name in ("cpu_hours", "gpu_hours", "bytes", "untimed", "unsized")
    }
    stages = [{**asdict(each), "devices": sorted(each.devices)} for each in found.stages]
    fields = {
        "total": {**totals, "bytes": round(totals["bytes"]), "free_bytes": found.free_bytes},
        "stages": stages,
        "not_counted": dict(found.no_steps),
        "samples": dict(found.samples),
    }
    return json.dumps(fields, indent=1)


def _row(stage: "Stage") -> tuple[str, ...]:
    timed, sized = stage.untimed < stage.jobs, stage.unsized < stage.jobs
    return (
        stage.rule,
        f"{stage.jobs:,}",
        f"{stage.cpu_hours:.3g}" if timed else "?",
        f"{stage.gpu_hours:.3g}" if timed else "?",
        size(stage.bytes) if sized else "?",
        f"{stage.work:.3g} {stage.unit}",
        _rate(stage),
    )


def _rate(stage: "Stage") -> str:
    if not stage.devices:
        return "unknown"
    said = [" and ".join(sorted(stage.devices))]
    if stage.records:
        said.append(many(stage.records, "record"))
    if stage.beyond > 1.5:
        said.append(f"from jobs with 1/{stage.beyond:,.3g} of the work")
    return ", ".join(said)


def _shortened(why: str) -> str:
    """Return a reason with the definition of a user's own model cut short."""
    before, brace, definition = why.partition("{")
    inside, end, after = definition.rpartition("}")
    cut = f"{inside[:_SHORT]}..." if len(inside) > _SHORT else inside
    return before + brace + cut + end + after


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEADINGS))]
    for row in rows:
        cells = [
            text.ljust(width) if place in {0, 5, 6} else text.rjust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()
