"""Write what a run of Snakemake does as lines of JSON that another process can read.

    logs/runs/<start>-<process>.jsonl   one run; the first line gives its process and host

Events are `run` (number of jobs per rule), `left_out` (what the run omits, and why), `job` (a job
that starts: rule, wildcards, logs), `started`, `finished`, `error`, `end` (with the CPU seconds of
Snakemake itself, and of its jobs together). Each has the time in seconds since 1970.
"""

import json
import logging
import os
import platform
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Event = dict[str, Any]


@dataclass(frozen=True)
class EventFile:
    """The file of one run, appended to line by line."""

    path: Path

    @classmethod
    def new(cls, folder: Path, *, began: float | None = None) -> "EventFile":
        """Start the file of this process in `folder`; `began` is the time when planning began."""
        folder.mkdir(parents=True, exist_ok=True)
        start = time.strftime("%Y-%m-%dT%H%M%S", time.gmtime())
        file = cls(folder / f"{start}-{os.getpid()}.jsonl")
        now, about = time.time(), {"host": platform.node(), "process": os.getpid()}
        file.write({"event": "opened", "time": now, "began": began or now, **about})
        return file

    def write(self, event: Event) -> None:
        """Append one event in a single write, so that readers rarely see half of it."""
        with self.path.open("a") as file:
            file.write(json.dumps(event, default=str) + "\n")

    def events(self) -> Iterator[Event]:
        """Yield the events written so far; skip a last line that is incomplete."""
        with self.path.open() as file:
            for line in file:
                if line.endswith("\n"):
                    yield json.loads(line)


def newest(folder: Path) -> EventFile | None:
    """Return the file of the run that started last; None if there is none."""
    files = sorted(folder.glob("*.jsonl"))
    return EventFile(files[-1]) if files else None


def event_of(record: logging.LogRecord, now: float) -> Event | None:
    """Return the event in a log record of Snakemake; None if it is not about jobs.

    >>> record = logging.makeLogRecord({"event": "job_finished", "job_id": 3})
    >>> event_of(record, 5.0)
    {'event': 'finished', 'time': 5.0, 'jobs': [3]}
    >>> event_of(logging.makeLogRecord({"msg": "words"}), 5.0) is None
    True
    """
    fields = record.__dict__
    kind = str(fields.get("event", ""))
    if kind == "run_info":
        rules = {rule: n for rule, n in fields["stats"].items() if rule != "total"}
        return {"event": "run", "time": now, "rules": rules}
    if "left_out" in fields:
        return {"event": "left_out", "time": now, "what": str(fields["left_out"])}
    if kind == "job_info":
        about = {"job": fields["jobid"], "rule": fields["rule_name"], "threads": fields["threads"]}
        wildcards = dict(fields["wildcards"] or {})
        return {"event": "job", "time": now, **about, "wildcards": wildcards, "log": _logs(fields)}
    if kind == "job_started":
        return {"event": "started", "time": now, "jobs": [int(job) for job in fields["jobs"]]}
    if kind == "job_finished":
        return {"event": "finished", "time": now, "jobs": [int(fields["job_id"])]}
    if kind == "job_error":
        about = {"job": fields["jobid"], "rule": fields["rule_name"]}
        return {"event": "error", "time": now, **about, "log": _logs(fields)}
    return None


def end_event(now: float) -> Event:
    """Return the last event of this process; it counts jobs that the process waited for."""
    spent = os.times()
    return {
        "event": "end",
        "time": now,
        "cpu_seconds": round(spent.user + spent.system, 2),
        "jobs_cpu_seconds": round(spent.children_user + spent.children_system, 2),
    }


def _logs(fields: dict[str, Any]) -> list[str]:
    return [str(path) for path in fields["log"]]
