"""Lineage records: what each execution of an action was made of, gave and took.

    store/lineage/ab/cdef.../<start>-<process>.json   one execution of the action `abcdef...`: its
        ingredients in the clear, the pointers it gave, library versions, start, seconds, host and
        peak memory

Never an input of a rule. Together with the placements beside a run's results they are the graph
that the commands walk.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from clipaudit.actions import ActionOutput, Ingredients
from clipaudit.errors import StoreError
from clipaudit.store import Store, replace_text


@dataclass(frozen=True)
class Execution:
    """The circumstances of one execution; they never enter a key."""

    started: str
    seconds: float
    host: str
    peak_memory_mb: int
    threads: int
    versions: Mapping[str, str]
    written: Mapping[str, float]  # output -> seconds after the start: an epoch's end, for one


@dataclass(frozen=True)
class Record:
    """One execution of an action; `wildcards` say what its job was about."""

    action: str
    ingredients: Ingredients
    outputs: Mapping[str, ActionOutput]
    wildcards: Mapping[str, str]
    execution: Execution

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "Record":
        """Return the record that `dataclasses.asdict` made these fields of."""
        return cls(
            action=fields["action"],
            ingredients=Ingredients.from_json(fields["ingredients"]),
            outputs={
                name: ActionOutput.from_json(output) for name, output in fields["outputs"].items()
            },
            wildcards=fields["wildcards"],
            execution=Execution(**fields["execution"]),
        )


def write_record(store: Store, record: Record) -> None:
    """Write the record of one execution, whole or not at all."""
    name = f"{record.execution.started.replace(':', '')}-{os.getpid()}.json"
    text = json.dumps(asdict(record), sort_keys=True, indent=1) + "\n"
    replace_text(_folder(store, record.action) / name, text)


def read_record(store: Store, key: str) -> Record:
    """Return the record of the last execution of an action; raise StoreError when there is none."""
    names = sorted(_folder(store, key).glob("*.json"))
    if not names:
        raise StoreError(f"{_folder(store, key)}: no lineage record of action {key}.")
    return Record.from_json(json.loads(names[-1].read_text()))


def _folder(store: Store, key: str) -> Path:
    return store.root / "lineage" / key[:2] / key[2:]
