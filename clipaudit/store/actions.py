"""The action cache: what a step was asked to do, and the pointers that doing it gave.

An *action* is one execution of a step on given content. Its key is the SHA-256 of its
ingredients: step, code digest, settings, the content and labels of its inputs, and for numeric
steps the environment. Paths, times and hosts are not ingredients.

    store/actions/ab/cdef....json   the outputs that the action of this key gave
"""

import hashlib
import json
import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from clipaudit.plaindata import Json
from clipaudit.store.store import Pointer, Store, replace_text

if TYPE_CHECKING:
    import pyarrow as pa

logger = logging.getLogger(__name__)

_WORD = r"[\w-]+(?:\.[\w-]+)*"  # a dot within, such as of cotr-0.1-500, and never two
_NAME = re.compile(rf"{_WORD}(?:/{_WORD})?", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}")
_EXTENSION = re.compile(r"\.\w+", re.ASCII)


@dataclass(frozen=True)
class ActionInput:
    """One input file of an action: its content, where it lay, and what it is (its labels).

    `action` is the key of the action that had put it there; none for a user's file.
    """

    digest: str
    path: str
    labels: Mapping[str, str] = field(default_factory=dict)
    action: str | None = None


@dataclass(frozen=True)
class LabelledFile:
    """A file and what the job that made it was about: corpus, model, test set ..."""

    path: Path
    labels: Mapping[str, str] = field(default_factory=dict)

    def table(self, *columns: str) -> "pa.Table":
        """Return the rows of a Parquet file, of some columns or of all."""
        import pyarrow.parquet as pq

        # not pq.read_table: it imports pyarrow.dataset, a third of a second in every job
        return pq.ParquetFile(self.path).read(list(columns) or None)

    def batches(self) -> "Iterator[pa.RecordBatch]":
        """Yield the rows of a Parquet file, in order; see `parquet.read_batches`."""
        from clipaudit.store.parquet import read_batches

        return read_batches(self.path)


@dataclass(frozen=True)
class ActionOutput:
    """One output of an action: the pointer, and labels besides those of the job."""

    pointer: Pointer
    extension: str
    labels: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_json(cls, fields: Json) -> "ActionOutput":
        """Return the output that `dataclasses.asdict` made these fields of."""
        return cls(Pointer(**fields["pointer"]), fields["extension"], fields["labels"])


@dataclass(frozen=True)
class Ingredients:
    """All that decides what an action gives."""

    step: str
    code: str
    settings: Json
    inputs: Mapping[str, Sequence[ActionInput]]
    environment: Mapping[str, str]
    reads_labels: bool = True  # whether what the inputs are called can change what the step gives

    @classmethod
    def from_json(cls, fields: Json) -> "Ingredients":
        """Return the ingredients that `dataclasses.asdict` made these fields of."""
        inputs = {
            name: [ActionInput(**file) for file in files]
            for name, files in fields["inputs"].items()
        }
        return cls(**{**fields, "inputs": inputs})

    def key(self) -> str:
        """Return the action key; where the inputs lay, and who put them there, do not enter it."""
        recipe = {
            "step": self.step,
            "code": self.code,
            "settings": self.settings,
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


@dataclass
class ActionCache:
    """The records of one store: action key -> outputs."""

    store: Store

    def find(self, key: str) -> dict[str, ActionOutput] | None:
        """Return the outputs recorded for `key` if every object is intact, else None.

        A recorded object that is missing or altered is logged as a warning: the action is then
        computed again, which repairs it. What is found is young from then on, which keeps it from
        collections until its pointers are placed.
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

        A file that a crash of the machine left cut is logged and counts as none.
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
            logger.warning("%s: not what an action gave (%r). Computing it again.", path, error)
            return None

    def record(self, key: str, outputs: Mapping[str, ActionOutput]) -> None:
        """Remember what the action of `key` gave; the same key giving other bytes is a warning."""
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
        """Return where the record of `key` lies, whether it is there or not."""
        return self.store.root / "actions" / key[:2] / f"{key[2:]}.json"

    def _freshen(self, key: str) -> bool:
        """Make the file of a key young, so that no collection takes it; False where there is none.

        Before it is read: read first, it could be collected, objects and all, in between.
        """
        path = self.file(key)
        try:
            os.utime(path)
        except FileNotFoundError:
            return False
        except PermissionError:  # another user's: a copy of ours takes its place
            with suppress(FileNotFoundError):
                replace_text(path, path.read_text())
                return True
            return False
        return True


def _refuse_paths(outputs: Mapping[str, ActionOutput]) -> None:
    """Raise ValueError for what could lead out of a folder: others may have written the record."""
    for name, output in outputs.items():
        for pattern, text in (
            (_NAME, name),
            (_EXTENSION, output.extension),
            (_DIGEST, output.pointer.digest),
        ):
            if not pattern.fullmatch(text):
                raise ValueError(f"{text!r} is no name, extension or digest of an output")
