"""Estimate what jobs will take from what they took when they were last computed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from operator import add
from statistics import median
from typing import Any

from clipaudit.store.store import Store

_HOUR = 3600.0  # seconds
_LAST = """
select
    step,
    wildcards,
    arg_max(action, started),
    arg_max(seconds / coalesce(nullif(share, 0), 1), started),
    arg_max(threads, started),
    arg_max(coalesce(environment['device'], ''), started),
    coalesce(arg_max(list_sum(list_transform(outputs, lambda each: each.bytes)), started), 0)::int8,
from records
where list_contains($names, step)
group by step, wildcards
"""
_ACTIONS = """
select distinct action
from records
where list_contains($names, step || ' ' || code)
order by action
"""


@dataclass(frozen=True)
class Cost:
    """What some jobs take together.

    `typical` jobs were never recorded and count as the median job of their rule. `unknown` jobs
    belong to rules that were never recorded, and count as zero.
    """

    jobs: int = 0
    cpu_hours: float = 0.0
    gpu_hours: float = 0.0
    bytes: int = 0
    unknown: int = 0
    typical: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        """Return the sum of both."""
        return Cost(*map(add, vars(self).values(), vars(other).values()))


NOTHING = Cost()


@dataclass(frozen=True)
class Execution:
    """One recorded execution of a step: its action, its cost and its output."""

    action: str
    seconds: float  # of all its work, also if earlier actions gave a part of the outputs
    threads: int
    device: str  # as in the key of a numeric step; "" for an exact step
    bytes: int


def ask_records(
    store: Store, query: str, names: list[str], **more: object
) -> list[tuple[Any, ...]]:
    """Query a store's records with SQL and its parameter `names`; without names, read nothing."""
    if not names:
        return []
    import duckdb

    from clipaudit.store.packing import register_records

    with duckdb.connect() as connection:
        register_records(connection, store)
        return connection.execute(query, {"names": names, **more}).fetchall()


class History:
    """The recorded executions of some steps: the last one of every job, and all by code."""

    def __init__(self, store: Store, steps: Iterable[str]) -> None:
        """Read the last executions of these steps; without steps, open no record."""
        self._store = store
        self._typical = cache(self._median)
        self._last = {
            (step, frozenset(wildcards.items())): Execution(*taken)
            for step, wildcards, *taken in ask_records(store, _LAST, sorted(set(steps)))
        }

    def actions(self, codes: Iterable[tuple[str, str]]) -> list[str]:
        """Return the recorded actions of some steps, given with their code digests, sorted."""
        named = [" ".join(each) for each in codes]
        return [action for (action,) in ask_records(self._store, _ACTIONS, named)]

    def last(self, step: str, wildcards: Mapping[str, str]) -> Execution | None:
        """Return the last execution of the job with these wildcards; None if it never ran."""
        return self._last.get((step, frozenset(wildcards.items())))

    def cost(self, step: str, wildcards: Mapping[str, str], gpus: int) -> Cost:
        """Return the cost of a job: as last time, else as the median job of its step.

        `gpus` is the number that the job would hold; it counts if the step ran on a GPU last time.
        """
        last = self.last(step, wildcards)
        past = last or self._typical(step)
        if past is None:
            return Cost(jobs=1, unknown=1)
        on_gpu = past.device.startswith("cuda")
        return Cost(
            jobs=1,
            cpu_hours=past.seconds * past.threads / _HOUR,
            gpu_hours=past.seconds * max(1, gpus) / _HOUR if on_gpu else 0.0,
            bytes=past.bytes,
            typical=0 if last else 1,
        )

    def _median(self, step: str) -> Execution | None:
        ran = [past for (name, _), past in self._last.items() if name == step]
        if not ran:
            return None
        return Execution(
            action="",
            seconds=median(past.seconds for past in ran),
            threads=round(median(past.threads for past in ran)),
            device=ran[0].device,
            bytes=round(median(past.bytes for past in ran)),
        )
