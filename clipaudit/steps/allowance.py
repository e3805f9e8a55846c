"""Track what a run may still use: GPU hours, and space on the store's disk.

    <results>/.runs/<run>.gpu.jsonl   the GPUs that each action of one run of Snakemake holds,
        with the start time

CLIPAUDIT_RUN names the run; the Snakefile sets it and jobs inherit it.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from clipaudit.errors import StepError
from clipaudit.plaindata import Json
from clipaudit.store.disks import free_bytes

RUN_VARIABLE = "CLIPAUDIT_RUN"
_GIGABYTE = 10**9
_HOUR = 3600.0  # seconds


def name_run() -> None:
    """Give this run a name that its jobs inherit; in a job, keep the inherited name."""
    start = time.strftime("%Y-%m-%dT%H%M%S", time.gmtime())
    os.environ.setdefault(RUN_VARIABLE, f"{start}-{os.getpid()}")


class Allowance:
    """What the jobs of one run may still use under the section `limits`; None: no limits."""

    def __init__(self, limits: Json | None, results: Path, store: Path) -> None:
        """Read nothing yet."""
        self._limits = limits or {}
        self._store = store
        self._ledger = results / ".runs" / f"{os.environ.get(RUN_VARIABLE, 'unnamed')}.gpu.jsonl"

    @contextmanager
    def spent(self, action: str, gpus: int) -> Iterator[None]:
        """Count the time of a job that computes an action on `gpus` GPUs.

        Raise StepError if the run has used up its GPU hours, or its disk has too little free space.
        """
        self._refuse_full_disk()
        if not gpus or self._limits.get("gpu_hours") is None:
            yield
            return
        self._refuse_spent()
        self._write({"action": action, "time": time.time(), "gpus": gpus})
        try:
            yield
        finally:
            self._write({"action": action, "time": time.time(), "gpus": 0})

    def gpu_hours(self) -> float:
        """Return the GPU hours that the jobs of this run have used so far.

        A running job counts until now, a killed one until its action started again.
        """
        seconds, held = 0.0, dict[str, tuple[float, int]]()
        for line in self._lines():
            since, gpus = held.get(line["action"], (line["time"], 0))
            seconds += (line["time"] - since) * gpus
            held[line["action"]] = line["time"], line["gpus"]
        now = time.time()
        return (seconds + sum((now - since) * gpus for since, gpus in held.values())) / _HOUR

    def _refuse_spent(self) -> None:
        taken, limit = self.gpu_hours(), self._limits["gpu_hours"]
        if taken >= limit:
            raise StepError(
                f"limits.gpu_hours: this run has used {taken:.3g} GPU h and the limit is "
                f"{limit:g}. Raise it and start the same command again: finished work is kept."
            )

    def _refuse_full_disk(self) -> None:
        spared = self._limits.get("keep_free_gigabytes", 0)
        if not spared:
            return
        free = free_bytes(self._store)
        if free < spared * _GIGABYTE:
            raise StepError(
                f"limits.keep_free_gigabytes: the disk of {self._store} has "
                f"{free / _GIGABYTE:.3g} GB free, but {spared:g} GB must stay free. Free some "
                "space there and start the same command again: finished work is kept."
            )

    def _lines(self) -> Iterator[dict[str, Any]]:
        if not self._ledger.exists():
            return
        for line in self._ledger.read_text().splitlines():
            with suppress(ValueError):  # empty, or cut off: no beginning of an object is JSON
                yield json.loads(line)

    def _write(self, line: Json) -> None:
        self._ledger.parent.mkdir(parents=True, exist_ok=True)
        with self._ledger.open("a") as file:
            file.write(f"\n{json.dumps(line)}\n")  # a full disk may have cut off the one before
