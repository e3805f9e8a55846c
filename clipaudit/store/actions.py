"""The action cache maps what a step was asked to do to the pointers that it gave.

An *action* is one execution of a step on given content. Its key is the SHA-256 of its
ingredients: step, code digest, settings, the content and labels of its inputs, and for numeric
steps the environment. Paths, times and hosts are not ingredients.

    store/actions/ab/cdef....json   the outputs of the action with this key
"""

import hashlib
import json
import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from clipaudit.plaindata import Json
from clipaudit.store.store import Pointer, Store, replace_text

if TYPE_CHECKING:
    import pyarrow as pa

logger = logging.getLogger(__name__)

_WORD = r"[\w-]+(?:\.[\w-]+)*"  # single dots inside, as in cotr-0.1-500, never two in a row
_NAME = re.compile(rf"{_WORD}(?:/{_WORD})?", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}")
_EXTENSION = re.compile(r"\.\w+", re.ASCII)


@dataclass(frozen=True)
class ActionInput:
    """One input file of an action: its content, its path and its labels.

    `action` is the key of the action that placed it; none for a user's file.
    """

    digest: str
    path: str
    labels: Mapping[str, str] = field(default_factory=dict)
    action: str | None = None


@dataclass(frozen=True)
class LabelledFile:
    """A file, with the labels of the job that made it: corpus, model, test set ..."""

    path: Path
    labels: Mapping[str, str] = field(default_factory=dict)

    def table(self, *columns: str) -> "pa.Table":
        """Return the rows of a Parquet file, with some columns or all."""
        import pyarrow.parquet as pq

        # not pq.read_table: it imports pyarrow.dataset, which costs every job 0.3 s
        return pq.ParquetFile(self.path).read(list(columns) or None)

    def batches(self) -> "Iterator[pa.RecordBatch]":
        """Yield the rows of a Parquet file, in order; see `parquet.read_batches`."""
        from clipaudit.store.parquet import read_batches

        return read_batches(self.path)


@dataclass(frozen=True)
class ActionOutput:
    """One output of an action: its pointer, and labels in addition to the job's."""

    pointer: Pointer
    extension: str
    labels: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_json(cls, fields: Json) -> "ActionOutput":
        """Return the output from the fields that `dataclasses.asdict` gave."""
        return cls(Pointer(**fields["pointer"]), fields["extension"], fields["labels"])


@dataclass(frozen=True)
class Ingredients:
    """Everything that determines the outputs of an action."""

    step: str
    code: str
    settings: Json
    inputs: Mapping[str, Sequence[ActionInput]]
    environment: Mapping[str, str]
    reads_labels: bool = True  # whether input labels can affect the result

    @classmethod
    def from_json(cls, fields: Json) -> "Ingredients":
        """Return the ingredients from the fields that `dataclasses.asdict` gave."""
        inputs = {
            name: [ActionInput(**file) for file in files]
            for name, files in fields["inputs"].items()
        }
        return cls(**{**fields, "inputs": inputs})

    def key(self) -> str:
        """Return the action key; it ignores where the inputs were and which action placed them.

        A setting that is the path of a user's input file counts as that input, so that weights or
        a vocabulary can move.
        """
        recipe = {
            "step": self.step,
            "code": self.code,
            "settings": _without_paths(self.settings, self._users_files()),
            "environment": self.environment,
            "inputs": {
                name: [
                    [file.digest, dict(file.labels) if self.reads_labels else {}] for file in files
                ]
                for name, files in self.inputs.items()
            },
        }
        text = json.dumps(recipe, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def _users_files(self) -> dict[str, Json]:
        """Return by path which input a user's file is, for the paths that are settings."""
        texts = set(_texts(self.settings))
        return {
            file.path: {"input": name, "file": number}
            for name, files in sorted(self.inputs.items(), reverse=True)
            for number, file in enumerate(files)
            if file.path in texts and file.action is None
        }


def _texts(settings: object) -> Iterator[str]:
    if isinstance(settings, str):
        yield settings
    elif isinstance(settings, Mapping):
        yield from chain.from_iterable(map(_texts, settings.values()))
    elif isinstance(settings, list | tuple):
        yield from chain.from_iterable(map(_texts, settings))


def _without_paths(settings: object, files: Mapping[str, Json]) -> object:
    """Return settings with the input instead of each text that is its path."""
    if isinstance(settings, str):
        return files.get(settings, settings)
    if isinstance(settings, Mapping):
        return {name: _without_paths(value, files) for name, value in settings.items()}
    if isinstance(settings, list | tuple):
        return [_without_paths(value, files) for value in settings]
    return settings


@dataclass
class ActionCache:
    """The records of one store: action key -> outputs."""

    store: Store

    def find(self, key: str) -> dict[str, ActionOutput] | None:
        """Return the outputs recorded for `key` if every object is intact, else None.

        A missing or altered object logs a warning: the action is then computed again, which repairs
        it. Objects found get a new time, which protects them from collection until their pointers
        are placed.
        """
        if not self._freshen(key):
            return None
        outputs = self.recorded(key)
        for name, output in (outputs or {}).items():
            fault = self.store.fault(output.pointer)
            if fault:
                logger.warning(
                    "stored output %s (%s) cannot be used: %s. Computing it again.",
                    name, output.pointer.digest, fault,
                )  # fmt: skip
                return None
        return outputs

    def recorded(self, key: str) -> dict[str, ActionOutput] | None:
        """Return the outputs recorded for `key`, unchecked, or None.

        A file truncated by a crash of the machine is logged and ignored.
        """
        path = self.file(key)
        try:
            fields = json.loads(path.read_text())["outputs"]
            outputs = {name: ActionOutput.from_json(output) for name, output in fields.items()}
            _refuse_paths(outputs)
            return outputs
        except FileNotFoundError:
            return None
        except (KeyError, TypeError, ValueError) as error:
            logger.warning("%s: not an action's outputs (%r). Computing it again.", path, error)
            return None

    def record(self, key: str, outputs: Mapping[str, ActionOutput]) -> None:
        """Remember an action's outputs; warn if the same key yields different bytes."""
        before = self.recorded(key)
        for name in sorted(before or {}):
            old = before[name].pointer.digest if before else ""
            new = outputs[name].pointer.digest if name in outputs else "nothing"
            if old != new:
                logger.warning(
                    "NOT REPRODUCED: action %s gave %s for its output %s before and %s now. Its "
                    "ingredients are the same, so the step is not deterministic on this machine.",
                    key, old, name, new,
                )  # fmt: skip
        text = {"outputs": {name: asdict(output) for name, output in sorted(outputs.items())}}
        replace_text(self.file(key), json.dumps(text, sort_keys=True, indent=1) + "\n")

    def file(self, key: str) -> Path:
        """Return the path of the record of `key`, which may not exist."""
        return self.store.root / "actions" / key[:2] / f"{key[2:]}.json"

    def _freshen(self, key: str) -> bool:
        """Give a key's file a new time, so that no collection takes it; False if there is none.

        This must come before reading: otherwise it could be collected in between, with its objects.
        """
        path = self.file(key)
        try:
            os.utime(path)
        except FileNotFoundError:
            return False
        except PermissionError:  # another user's file: replace it with our copy
            with suppress(FileNotFoundError):
                replace_text(path, path.read_text())
                return True
            return False
        return True


def _refuse_paths(outputs: Mapping[str, ActionOutput]) -> None:
    """Raise ValueError for paths that could leave a folder: others may have written the record."""
    for name, output in outputs.items():
        for pattern, text in (
            (_NAME, name),
            (_EXTENSION, output.extension),
            (_DIGEST, output.pointer.digest),
        ):
            if not pattern.fullmatch(text):
                raise ValueError(f"{text!r} is not a name, extension or digest of an output")
