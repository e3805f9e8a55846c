"""Lineage records: the ingredients, outputs and cost of each execution of an action.

    store/lineage/ab/cdef.../<start>-<process>.json   one execution of the action `abcdef...`: its
        ingredients in plain text, its pointers, library versions, start, seconds, host, owner and
        peak memory

They are never an input of a rule. Together with the placements of a run's results they form the
graph that the commands walk. A loose file like this may move into a packed one at any time
(clipaudit.store.packing); the functions here read both.
"""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from clipaudit.errors import StoreError
from clipaudit.plaindata import Json
from clipaudit.store.actions import ActionOutput, Ingredients
from clipaudit.store.store import Store, replace_text

WRITE_ATTEMPTS = 10  # one fails only if a packer removes the emptied folder within microseconds


@dataclass(frozen=True)
class Execution:
    """The circumstances of one execution; they never enter a key.

    `cpu_seconds` are those of its process and of the children that it waited for; older records
    have None, and no device. `share` is less than 1 if earlier actions gave a part of the outputs:
    the cost of the execution then covers only that share of the work.
    """

    started: str
    seconds: float
    host: str
    peak_memory_mb: int
    threads: int
    versions: Mapping[str, str]
    written: Mapping[str, float]  # output -> seconds after the start, such as an epoch's end
    owner: str = ""  # name of the user that ran it; "" in records older than this field
    cpu_seconds: float | None = None
    device: str = ""  # cpu or cuda, as the job requested; keys of exact steps have none
    share: float = 1.0  # share of the work by the law of its script, 0 to 1


@dataclass(frozen=True)
class Record:
    """One execution of an action; `wildcards` are those of its job."""

    action: str
    ingredients: Ingredients
    outputs: Mapping[str, ActionOutput]
    wildcards: Mapping[str, str]
    execution: Execution

    @classmethod
    def from_json(cls, fields: Json) -> "Record":
        """Return the record from the fields that `dataclasses.asdict` gave."""
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
    path = _folder(store, record.action) / name
    for _ in range(WRITE_ATTEMPTS - 1):
        try:
            return replace_text(path, text)
        except FileNotFoundError:
            continue  # a packer removed the folder before the file was written
    replace_text(path, text)


def read_record(store: Store, key: str) -> Record:
    """Return the record of the last execution of an action; raise StoreError if there is none.

    For more than a few keys use `read_records`: it opens each packed file once.
    """
    found = read_records(store, [key])
    if key not in found:
        raise StoreError(
            f"{_folder(store, key)}: no lineage record of action {key}, loose or packed."
        )
    return found[key]


def read_records(store: Store, keys: Iterable[str]) -> dict[str, Record]:
    """Return the records of the last execution of each of these actions, in the given order.

    Keys without a record are omitted, repeated keys returned once. Raise StoreError for a damaged
    record.
    """
    wanted = list(dict.fromkeys(keys))
    # loose first: records that a packer moves meanwhile are then in the packed files, or in both
    loose = {key: last for key in wanted if (last := _last_loose(_folder(store, key)))}
    packed = _packed(store, wanted)
    found = {}
    for key in wanted:
        executions = [texts[key] for texts in (packed, loose) if key in texts]
        if executions:
            name, text = max(executions)  # names begin with the start
            found[key] = _parse(_folder(store, key) / name, text)
    return found


def _last_loose(folder: Path) -> tuple[str, bytes] | None:
    """Return name and text of the last loose file of an action; None if it has none."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return None
    for name in sorted(filter(is_record_name, names), reverse=True):
        try:
            return name, (folder / name).read_bytes()
        except FileNotFoundError:
            continue  # packed after it was listed
    return None


def _packed(store: Store, keys: list[str]) -> dict[str, tuple[str, bytes]]:
    if not (store.root / "lineage" / "packed").is_dir():
        return {}  # most stores; jobs that only write then need not import pyarrow
    from clipaudit.store.record_tables import packed_texts

    return packed_texts(store, keys)


def is_record_name(name: str) -> bool:
    """Return whether a file in an action's folder is a finished record."""
    return name.endswith(".json") and not name.startswith(".")


def _parse(path: Path, text: bytes) -> Record:
    try:
        return Record.from_json(json.loads(text))
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(
            f"{path}: not a lineage record ({error!r}). Remove it: its action is recorded when it "
            "is next computed."
        ) from error


def _folder(store: Store, key: str) -> Path:
    return store.root / "lineage" / key[:2] / key[2:]
