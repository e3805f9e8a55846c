"""Format the status of the last run as lines and as JSON."""

import json
import os
import platform
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from clipaudit.errors import InputError
from clipaudit.plaintext import plain
from clipaudit.runs.events import newest
from clipaudit.runs.status import Job, RunStatus, duration
from clipaudit.suggestions import cd_first

LOG_LINES = 8  # shown of a failed job's log
_CLOCKS_SECONDS = 60  # by which the clock may have been set since the process started
_START_TICKS = 19  # of /proc/<pid>/stat behind the name: ticks from boot to start
_QUIET_SECONDS = 3600  # a run on another host that is silent for so long may be dead


def run_status(runs: Path) -> RunStatus:
    """Return the status of the run that started last; raise InputError if there is none."""
    file = newest(runs)
    if file is None:
        start = "Start one in this folder with a profile that has `logger: clipaudit`"
        raise InputError(
            f"{runs}: no run has written a log here. {cd_first(runs) or start}, or give the folder "
            "with --runs."
        )
    status = RunStatus()
    for event in file.events():
        status.take(event)
    if not status.host:
        raise InputError(
            f"{file.path}: has no entry. Unless the run starts just now, it was killed as it "
            "began, or its disk was full: start the same command again."
        )
    here = status.host == platform.node()
    status.lost = not status.ended and here and not _is_alive(status.process, status.opened)
    return status


def status_lines(status: RunStatus, now: float) -> Iterator[str]:
    """Yield the status as text: the total, the stages, omissions, failures."""
    yield _heading(status, now)
    width = max((len(rule) for rule in status.stages), default=0)
    for rule, stage in status.stages.items():
        notes = [f"{stage.running} running"] if stage.running else []
        notes += [f"{stage.failed} FAILED"] if stage.failed else []
        if stage.done:
            notes.append(f"{duration(stage.seconds / stage.done)} each")
        counts = f"{stage.done:>5} of {stage.total:<5}"
        yield f"  {plain(rule):<{width}} {counts} {', '.join(notes)}".rstrip()
    for sentence in status.left_out:
        yield f"Left out: {plain(sentence)}"
    for job in status.failures.values():
        yield from _failure(job)


def status_json(status: RunStatus, now: float) -> str:
    """Return the status as one JSON object; times in seconds, `left` null while unknown."""
    fields = asdict(status)
    fields |= {"done": status.done, "total": status.total, "left": status.seconds_left(now)}
    fields["per_second"] = status.per_second(now)
    fields["failures"] = list(fields["failures"].values())
    for job in fields["failures"]:
        job["last_lines"] = _last_lines(job["log"])
    return json.dumps(fields)


def _heading(status: RunStatus, now: float) -> str:
    share = f"{status.done} of {status.total} jobs done"
    if status.failures:
        share += f", {len(status.failures)} failed"
    if status.ended:
        return f"ended after {duration(status.seen - status.opened)}: {share}"
    if status.lost:
        return (
            f"LOST: process {status.process} died {duration(now - status.seen)} ago: {share}. "
            "Start the same command again: finished jobs stay finished."
        )
    left = status.seconds_left(now)
    about = "time left unknown" if left is None else f"about {duration(left)} left"
    rate = f"{60 * status.per_second(now):.0f} a minute"
    quiet = now - status.seen
    silent = f", silent for {duration(quiet)}" if quiet > _QUIET_SECONDS else ""
    since = duration(now - status.opened)
    return f"running for {since} on {plain(status.host)}: {share}, {rate}, {about}{silent}"


def _failure(job: Job) -> Iterator[str]:
    about = ", ".join(f"{name} {value}" for name, value in job.wildcards.items())
    yield f"FAILED {plain(job.rule)} {plain(about)}".rstrip()
    for line in _last_lines(job.log):
        yield f"    {plain(line)}"


def _last_lines(logs: list[str]) -> list[str]:
    """Return the paths of the logs, each followed by its last lines if it exists."""
    lines = []
    for log in logs:
        lines.append(log)
        try:
            lines += Path(log).read_text(errors="replace").splitlines()[-LOG_LINES:]
        except OSError as error:
            lines.append(f"(cannot be read: {error.strerror})")
    return lines


def _is_alive(process: int, opened: float) -> bool:
    """Return whether a process runs that started before the time when its log was opened."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's process, but alive
        pass
    return _started(process) < opened + _CLOCKS_SECONDS


def _started(process: int) -> float:
    """Return when a process started, in seconds since 1970; 0 if this system does not say."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    after_boot = int(fields[_START_TICKS]) / os.sysconf("SC_CLK_TCK")
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + after_boot
