"""Shows a finished run's time by rule, with start-up and imports apart from the work.

    .venv/bin/python benchmarks/line.py [--folder .] [--results results] [--imports]

Reads the events of the last run in `logs/runs` (when each job started and ended, for Snakemake) and
the lineage records (when its step began to compute, how long, with how much CPU time). So a job's
time has three parts: *start* (Python, Snakemake's preamble, the action key), *work*, *end* (moving
outputs into place, interpreter teardown, Snakemake's own notes). Jobs without a record made no
outputs of the store, or took theirs from it: all of their time is work. With `--imports`, the
libraries in a record are imported in fresh processes, and *imports* is that part of the work.

The last lines add up to cores times the run's wall clock: the time that jobs held, and the time
that no job held.
"""

import argparse
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from clipaudit.runs.events import newest
from clipaudit.steps.workflow import OBJECTS_PER_COLLECTION
from clipaudit.store.placements import placements
from clipaudit.store.records import Execution, read_records
from clipaudit.store.store import Store

TRAINING = ("train", "train_supervised")
ROUNDS = 3
# named as in records, in an order in which steps import them
LIBRARIES = ("numpy", "pyarrow", "duckdb", "PIL", "torch", "torchvision", "open_clip", "timm",
             "matplotlib", "rapidocr")  # fmt: skip
IMPORT = """
import gc, sys, time
gc.set_threshold(int(sys.argv.pop()))
started = time.perf_counter()
for name in sys.argv[1:]:
    __import__(name)
print(time.perf_counter() - started)
"""

About = tuple[str, frozenset[tuple[str, str]]]  # a job's rule and wildcards


@dataclass
class Held:
    """One job: when Snakemake started it and saw it end, and its record if it has one."""

    rule: str
    threads: int
    start: float
    end: float
    record: Execution | None = None

    @property
    def seconds(self) -> float:
        """From start to end."""
        return self.end - self.start

    @property
    def before(self) -> float:
        """From start to the beginning of the work."""
        return began(self.record) - self.start if self.record else 0.0

    @property
    def work(self) -> float:
        """The time of the step, or all of the job's if it has no record."""
        return self.record.seconds if self.record else self.seconds


@dataclass
class Run:
    """What the events of a run say: its jobs, and when it was planned and ended."""

    began: float = 0.0  # when Snakemake had its arguments
    planned: float = 0.0  # when the graph of jobs was built
    ended: float = 0.0
    cpu_seconds: float | None = None  # of Snakemake; None in old runs, which did not record it
    jobs_cpu_seconds: float | None = None
    jobs: list[Held] = field(default_factory=list)

    def busy(self) -> Iterator[tuple[int, float]]:
        """Yield how many threads were held, and for how long, over the whole run."""
        changes = [(job.start, job.threads) for job in self.jobs]
        changes += [(job.end, -job.threads) for job in self.jobs]
        held = 0
        for (moment, change), (later, _) in pairwise(
            [(self.began, 0), *sorted(changes), (self.ended, 0)]
        ):
            held += change
            yield held, later - moment


def main() -> None:
    """Read the run, print the table; see the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path(), help="in which the run ran")
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--store", type=Path, default=Path("store"))
    parser.add_argument("--imports", action="store_true", help="measure them, some minutes")
    asked = parser.parse_args()
    file = newest(asked.folder / "logs/runs")
    if file is None:
        sys.exit(f"{asked.folder}: no run in logs/runs. Run `make demo` there first.")
    executions = recorded(asked.folder / asked.results, Store(asked.folder / asked.store))
    run = read_run(file.events(), executions)
    show_rules(run, import_seconds(run) if asked.imports else {})
    show_rest(run)


def recorded(results: Path, store: Store) -> dict[About, Execution]:
    """Return the last execution of every action of a results folder, by what its job was."""
    keys = {placed.action for placed in placements(results).values()}
    return {
        (record.ingredients.step, frozenset(record.wildcards.items())): record.execution
        for record in read_records(store, keys).values()
    }


def read_run(events: Iterable[Mapping[str, Any]], executions: Mapping[About, Execution]) -> Run:
    """Put the events of a run and the records of its jobs together."""
    run = Run()
    started: dict[int, float] = {}
    told: dict[int, Mapping[str, Any]] = {}
    for event in events:
        run.ended = event["time"]
        match event["event"]:
            case "opened":
                run.began = event.get("began", event["time"])
            case "run":
                run.planned = event["time"]
            case "started":
                started |= dict.fromkeys(event["jobs"], event["time"])
            case "job":
                told[event["job"]] = event
            case "finished":
                run.jobs += [
                    held(told[number], started[number], event["time"], executions)
                    for number in event["jobs"]
                ]
            case "end":
                run.cpu_seconds = event.get("cpu_seconds")
                run.jobs_cpu_seconds = event.get("jobs_cpu_seconds")
    return run


def held(
    told: Mapping[str, Any], start: float, end: float, executions: Mapping[About, Execution]
) -> Held:
    """Return a job with its record, if it has one of this run."""
    record = executions.get((told["rule"], frozenset(told["wildcards"].items())))
    if record and not start <= began(record) <= end:
        record = None
    return Held(told["rule"], told["threads"], start, end, record)


def began(execution: Execution) -> float:
    """Return when a step began to compute, in seconds since 1970."""
    return datetime.fromisoformat(execution.started).timestamp()


# --- imports -----------------------------------------------------------------------------------


def import_seconds(run: Run) -> dict[tuple[str, ...], float]:
    """Return what it takes a fresh Python to import each set of libraries that a record names."""
    sets = {libraries(job.record) for job in run.jobs if job.record}
    taken: dict[tuple[str, ...], list[float]] = {names: [] for names in sets}
    for _ in range(ROUNDS):
        for names, seconds in taken.items():
            command = [sys.executable, "-c", IMPORT, *names, str(OBJECTS_PER_COLLECTION)]
            printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            seconds.append(float(printed))
    return {names: statistics.median(seconds) for names, seconds in taken.items()}


def libraries(record: Execution) -> tuple[str, ...]:
    """Return the libraries that a step had loaded when it ended."""
    return tuple(name for name in LIBRARIES if name in record.versions)


# --- printing ----------------------------------------------------------------------------------


def show_rules(run: Run, imports: Mapping[tuple[str, ...], float]) -> None:
    """Print a line a rule, the longest first, and the sums."""
    rules: dict[str, list[Held]] = defaultdict(list)
    for job in run.jobs:
        rules[job.rule].append(job)
    print(f"{'rule':<22}{'jobs':>5}{'seconds':>9}{'start':>8}{'imports':>9}{'work':>8}{'end':>7}"
          f"{'cpu of work':>13}")  # fmt: skip
    ordered = sorted(rules.items(), key=lambda rule: -sum(job.seconds for job in rule[1]))
    for rule, jobs in ordered:
        print(line(f"{rule}{' (training)' if rule in TRAINING else ''}", jobs, imports))
    print(line("all that is training", [job for job in run.jobs if job.rule in TRAINING], imports))
    print(line("all", run.jobs, imports))


def line(name: str, jobs: list[Held], imports: Mapping[tuple[str, ...], float]) -> str:
    """Return the sums over some jobs as a line of the table."""
    seconds = sum(job.seconds for job in jobs)
    before, work = sum(job.before for job in jobs), sum(job.work for job in jobs)
    importing = sum(imports.get(libraries(job.record), 0.0) for job in jobs if job.record)
    cpu = sum(job.record.cpu_seconds or 0.0 for job in jobs if job.record)
    return (
        f"{name:<22}{len(jobs):>5}{seconds:>9.1f}{before:>8.1f}"
        f"{importing if imports else '':>9{'.1f' if imports else ''}}"
        f"{work - importing:>8.1f}{seconds - before - work:>7.1f}{cpu:>13.1f}"
    )


def show_rest(run: Run) -> None:
    """Print what the run's wall clock is made of."""
    held = sorted(run.busy())
    cores = held[-1][0]
    wall = run.ended - run.began
    jobs = sum(job.seconds * job.threads for job in run.jobs)
    print(f"\nwall clock {wall:.1f} s on {cores} cores: {cores * wall:.1f} s of cores")
    print(f"  jobs held {jobs:.1f} s ({jobs / (cores * wall):.1%})")
    print(f"  before the first job (the graph is built) {cores * (run.planned - run.began):.1f} s")
    for number in range(cores):
        idle = sum(seconds for busy, seconds in held if busy == number)
        print(f"  {number} of {cores} cores held for {idle:.1f} s of the clock")
    if run.jobs_cpu_seconds is not None:
        print(f"processors: jobs {run.jobs_cpu_seconds:.1f} s, Snakemake {run.cpu_seconds:.1f} s")


if __name__ == "__main__":
    main()
