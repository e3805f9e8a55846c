"""Run status: progress by stage, rate, and failures.

A stage is a rule, its parts are its jobs. The time left is an estimate: the remaining jobs of each
stage, times the mean duration of its finished jobs (of all stages if it has none), divided by the
largest number of jobs that ran at the same time.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from clipaudit.plaindata import Json
from clipaudit.plaintext import plain


@dataclass
class Stage:
    """One rule of a run: its jobs, the number done, and the seconds that those took."""

    total: int
    done: int = 0
    running: int = 0
    failed: int = 0
    seconds: float = 0.0


@dataclass
class Job:
    """A job that has started."""

    rule: str
    wildcards: Mapping[str, str]
    log: list[str]
    started: float


@dataclass
class RunStatus:
    """The state of a run after its events; `take` them in order."""

    host: str = ""
    process: int = 0
    opened: float = 0.0
    seen: float = 0.0  # time of the last event
    ended: bool = False
    lost: bool = False  # its process died before its end
    stages: dict[str, Stage] = field(default_factory=dict)
    jobs: dict[int, Job] = field(default_factory=dict)  # those that run now
    failures: dict[int, Job] = field(default_factory=dict)  # without those that run again
    left_out: list[str] = field(default_factory=list)  # what the run omits, and why
    at_once: int = 1  # the most jobs that ran at the same time

    def take(self, event: Json) -> None:
        """Add one event of `clipaudit.runs.events`."""
        self.seen = event["time"]
        match event["event"]:
            case "opened":
                self.host, self.process, self.opened = event["host"], event["process"], self.seen
            case "run":
                for rule, count in event["rules"].items():
                    self.stages.setdefault(rule, Stage(0)).total = count
            case "left_out":
                self.left_out.append(event["what"])
            case "job":
                self._start(event)
            case "finished":
                for job, stage in self._ended(*event["jobs"]):
                    stage.done += 1
                    stage.seconds += self.seen - job.started
            case "error":
                for job, stage in self._ended(event["job"]):
                    stage.failed += 1
                    self.failures[event["job"]] = job
            case "end":
                self.ended = True

    @property
    def total(self) -> int:
        """The number of jobs in the run."""
        return sum(stage.total for stage in self.stages.values())

    @property
    def done(self) -> int:
        """The number of finished jobs."""
        return sum(stage.done for stage in self.stages.values())

    def per_second(self, now: float) -> float:
        """Return the jobs done per second since the run opened; 0 before the first."""
        return self.done / max(now - self.opened, 1e-9)

    def seconds_left(self, now: float) -> float | None:
        """Return the estimate of the time left; None before any job is done."""
        if not self.done:
            return None
        mean = sum(stage.seconds for stage in self.stages.values()) / self.done
        work = 0.0
        for stage in self.stages.values():
            each = stage.seconds / stage.done if stage.done else mean
            work += (stage.total - stage.done - stage.failed) * each
        work -= sum(now - job.started for job in self.jobs.values())
        return max(work, 0.0) / self.at_once

    def _start(self, event: Json) -> None:
        job = Job(event["rule"], event["wildcards"], event["log"], self.seen)
        if event["job"] not in self.jobs:
            self._stage(job.rule).running += 1
        if self.failures.pop(event["job"], None) is not None:  # it is tried again
            self._stage(job.rule).failed -= 1
        self.jobs[event["job"]] = job
        self.at_once = max(self.at_once, len(self.jobs))

    def _ended(self, *numbers: int) -> Iterator[tuple[Job, Stage]]:
        """Yield the jobs of these numbers that were running, with their stages."""
        for number in numbers:
            if number in self.jobs:
                job = self.jobs.pop(number)
                stage = self._stage(job.rule)
                stage.running -= 1
                yield job, stage

    def _stage(self, rule: str) -> Stage:
        return self.stages.setdefault(rule, Stage(1))


def live_line(status: RunStatus, now: float) -> str:
    """Return the run's status in one line of at most 100 characters.

    >>> status = RunStatus(opened=0.0, stages={"embed": Stage(4, 2, 1, 0, 10.0)})
    >>> live_line(status, 20.0)
    '2 of 4 jobs, 6 a minute, about 10 s left | embed 2/4'
    """
    left = status.seconds_left(now)
    parts = [f"{status.done} of {status.total} jobs", f"{60 * status.per_second(now):.0f} a minute"]
    parts.append("time left unknown" if left is None else f"about {duration(left)} left")
    if status.failures:
        parts.append(f"{len(status.failures)} FAILED")
    running = [
        f"{rule} {stage.done}/{stage.total}"
        for rule, stage in status.stages.items()
        if stage.running
    ]
    line = plain(", ".join(parts) + (f" | {', '.join(running)}" if running else ""))
    return line if len(line) <= 100 else line[:99] + "…"


def duration(seconds: float) -> str:
    """Return a duration in readable units.

    >>> duration(9.6), duration(200), duration(7320)
    ('10 s', '3 min 20 s', '2 h 2 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
