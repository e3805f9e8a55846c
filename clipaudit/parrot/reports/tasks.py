"""The zero-shot and retrieval tasks of the parrot audit, and the inputs of their numbers."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from clipaudit.config.settings import Settings
from clipaudit.evaluation.suite_tasks import TASKS, SuiteTask, available_tasks
from clipaudit.parrot.settings import Parrot
from clipaudit.reports.specification import RelationRow, ReportTable, numbered
from clipaudit.steps import paths

# The tracks of DataComp, by their titles in tables.
TRACKS = {
    "ImageNet": "imagenet",
    "ImageNet dist. shifts": "shifts",
    "VTAB": "vtab",
    "Retrieval": "retrieval",
    "Others": "others",
}


class SuiteFolder(NamedTuple):
    """DataComp's name of a task of the suite, and the folder of its webdataset."""

    task: str
    folder: str


def suite_tasks(run: Settings) -> dict[str, SuiteFolder]:
    """Return the tasks whose webdatasets exist, by names that are valid for files.

    They are in DataComp's order; none if the settings ask for no suite. Raises InputError if its
    folder is missing or holds a task twice.
    """
    return {
        task.name.replace("/", "-"): SuiteFolder(task.name, str(folder))
        for task, folder in _found(run).items()
    }


def suite_rows(run: Settings) -> list[RelationRow]:
    """Return the tasks of the suite, found or not: position, task, title, track, reason.

    The reason says why a task is skipped; "" if it is not. It names no path, so that the suite's
    location changes no table.
    """
    found = _found(run)
    return numbered(
        {
            "task": task.name,
            "title": task.title,
            "track": task.track,
            "reason": "" if task in found else task.missing or f"no folder {task.folder}",
        }
        for task in TASKS
    )


def task_result_table(run: Settings, encoder: str) -> ReportTable:
    """Return the inputs of one model's task results: the rule `task_results`."""
    listed = listed_tasks(run)
    names = {
        source: [str(row["task"]) for row in listed if row["source"] == source]
        for source in ("zero-shot", "retrieval")
    }
    return ReportTable(
        sql="parrot_task_results",
        inputs={
            "tasks": [paths.tasks(encoder, name) for name in names["zero-shot"]],
            "pair_ranks": [paths.pair_ranks(encoder, name) for name in names["retrieval"]],
            "suite": [paths.suite(encoder, name) for name in suite_tasks(run)],
        },
        relations={"listed": listed},
    )


def listed_tasks(run: Settings) -> list[RelationRow]:
    """Return the relation `listed`: position, task, title, track, source.

    The first test set stands for ImageNet, others for its shifts; then come the retrieval corpora
    and the suite. If the suite has tasks in a track, only these are listed; otherwise ImageNet
    would count twice in an average.
    """
    audit = run.section(Parrot)
    assert audit is not None, "tasks belong to the parrot audit"
    found = [
        (name, run.title(name), "shifts" if number else "imagenet", "zero-shot")
        for number, name in enumerate(audit.test_sets)
    ]
    found += [(name, run.title(name), "retrieval", "retrieval") for name in audit.retrieval]
    suite = [(task.name, task.title, TRACKS[task.track], "suite") for task in _found(run)]
    tracks = {track for _, _, track, _ in suite}
    found = [each for each in found if each[2] not in tracks] + suite
    names = ("task", "title", "track", "source")
    return numbered(dict(zip(names, each, strict=True)) for each in found)


def _found(run: Settings) -> Mapping[SuiteTask, Path]:
    """Return the folders of the suite's tasks to run."""
    audit = run.section(Parrot)
    return _look(audit.suite.folder) if audit is not None and audit.suite is not None else {}


@cache
def _look(folder: str) -> Mapping[SuiteTask, Path]:
    """Return the suite's tasks; cached, since rules ask for each model."""
    found, _ = available_tasks(Path(folder))
    return found
