"""Compare what a run needs, by forecast, with its limits before it starts."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clipaudit.errors import InputError, StepError
from clipaudit.lineage.keeping.condemned import stored_files
from clipaudit.lineage.planning.costs import NOTHING, Cost
from clipaudit.lineage.planning.estimates import JobEstimate, estimate_jobs
from clipaudit.lineage.planning.forecasts import Outlook
from clipaudit.lineage.planning.observations import observations
from clipaudit.lineage.planning.rates import Rates
from clipaudit.lineage.planning.shardsizes import ShardSizes
from clipaudit.steps.jobs import Job, Workflow
from clipaudit.store.disks import free_bytes
from clipaudit.store.store import Store

logger = logging.getLogger(__name__)

_GIGABYTE = 10**9
_NAMED = 4  # stages in a message


@dataclass(frozen=True)
class Room:
    """The space of a store: bytes of its objects, and bytes free on its disk."""

    store: str
    held: int
    free: int


def room_of(store: Path) -> Room:
    """Return the bytes that a store's objects take, and the bytes free on its disk."""
    held = sum(size for _, size, _ in stored_files(Store(store), "objects"))
    return Room(str(store), held, free_bytes(store))


def needs(outlooks: Iterable[Outlook], estimates: Iterable[JobEstimate] = ()) -> dict[str, Cost]:
    """Return by rule what the certain and possible jobs take, in their order.

    A recorded job takes what it took then, any other job its estimate.
    """
    estimated = {_identity(each.job): each.cost for each in estimates}
    found: dict[str, Cost] = {}
    for each in outlooks:
        if each.planned.fate in ("certain", "possible"):
            job, cost = each.planned.job, each.cost
            if cost.typical or cost.unknown:
                cost = estimated.get(_identity(job), cost)
            found[job.rule] = found.get(job.rule, NOTHING) + cost
    return found


def own_estimates(workflow: Workflow) -> list[JobEstimate]:
    """Return what the jobs of a workflow take, from the rates of its own store.

    Return none if the number of samples in the shards of some corpus is unknown, as it may be
    before they are indexed.
    """
    scripts = {job.rule: job.script for job in workflow.jobs}
    rates = Rates(observations(Store(workflow.store), scripts))
    try:
        return estimate_jobs(workflow, rates, ShardSizes({}))
    except InputError:
        logger.warning(
            "limits: the number of samples in some corpus's shards is unknown before indexing. "
            "Jobs that never ran count as the median of their rule."
        )
        return []


def _identity(job: Job) -> tuple[str, frozenset[tuple[str, str]]]:
    return job.rule, frozenset(job.wildcards.items())


def refuse_excess(needed: Mapping[str, Cost], limits: Mapping[str, Any], room: Room) -> None:
    """Raise StepError if a run would exceed the section `limits`.

    Unknown jobs count as zero; the message names them.
    """
    total = sum(needed.values(), NOTHING)
    spared = round(limits["keep_free_gigabytes"] * _GIGABYTE)
    most, hours = limits["store_gigabytes"], limits["gpu_hours"]
    stages = _largest(needed, "bytes", _gigabytes)
    if total.bytes > room.free - spared:
        raise StepError(
            f"limits.keep_free_gigabytes: the run needs {_gigabytes(total.bytes)} more{stages}, "
            f"and the disk of {room.store} has {_gigabytes(room.free)} free, of which "
            f"{_gigabytes(spared)} must stay free{_unknown(needed)}. Free "
            f"{_gigabytes(total.bytes - room.free + spared)} there, or name fewer targets."
        )
    if most is not None and room.held + total.bytes > most * _GIGABYTE:
        raise StepError(
            f"limits.store_gigabytes: {room.store} holds {_gigabytes(room.held)} and the run needs "
            f"{_gigabytes(total.bytes)} more{stages}; the limit is {most:g} GB{_unknown(needed)}. "
            "Run `clipaudit gc`, raise the limit, or name fewer targets."
        )
    if hours is not None and total.gpu_hours > hours:
        raise StepError(
            f"limits.gpu_hours: the run needs {_hours(total.gpu_hours)}"
            f"{_largest(needed, 'gpu_hours', _hours)}; the limit is {hours:g}{_unknown(needed)}. "
            "Raise the limit, or name fewer targets."
        )


def _largest(needed: Mapping[str, Cost], what: str, told: Any) -> str:  # noqa: ANN401
    """Name the stages that need most, `` (embed 2 GB, train 1 GB)``."""
    stages: Sequence[tuple[str, float]] = sorted(
        ((rule, getattr(cost, what)) for rule, cost in needed.items()), key=lambda each: -each[1]
    )
    named = [f"{rule} {told(amount)}" for rule, amount in stages if amount][:_NAMED]
    return f" ({', '.join(named)})" if named else ""


def _unknown(needed: Mapping[str, Cost]) -> str:
    never = [f"{cost.unknown} of {rule}" for rule, cost in needed.items() if cost.unknown]
    return f"; without any record, so not fully counted: jobs {', '.join(never)}" if never else ""


def _gigabytes(count: float) -> str:
    return f"{count / _GIGABYTE:.3g} GB"


def _hours(hours: float) -> str:
    return f"{hours:.3g} GPU h"
