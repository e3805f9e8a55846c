"""Build the tree of actions behind a table: their inputs, and the makers, down to user files."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from clipaudit.lineage.walk import Makers, known_records
from clipaudit.store.actions import ActionInput
from clipaudit.store.records import Record
from clipaudit.store.store import Store

# Labels that only number the pieces of one thing: files that differ only in these come from one
# step with equal settings, so that one file stands for all.
_NUMBERING = ("part", "group", "epoch")


@dataclass(frozen=True)
class Bundle:
    """An input file, the action that made it (None: a user's file), and similar files."""

    file: ActionInput
    action: str | None
    more: Sequence[ActionInput]


@dataclass(frozen=True)
class Branch:
    """One input of an action: the number of relevant files, and these in bundles."""

    name: str
    files: int
    of_files: int
    bundles: Sequence[Bundle]


@dataclass(frozen=True)
class Tree:
    """The actions below `root`, each once, with their inputs, by key."""

    root: str
    records: Mapping[str, Record]
    branches: Mapping[str, Sequence[Branch]]


def tree_below(
    results: Path,
    store: Store,
    root: Record,
    kept: Mapping[str, Sequence[ActionInput]],
    *,
    fold: bool,
) -> Tree:
    """Return the tree behind the kept input files of an action.

    Below the root, all inputs of an action count, with one exception: if a label distinguishes its
    outputs (the test sets of an evaluation) and an input's files by the same values, only the files
    of the used outputs count. With `fold`, the first of files that differ only in numbers stands
    for the others, and the records of the others' makers are not read. Raise StoreError for an
    action without a record.
    """
    grower = _Grower(results, store, fold=fold)
    grower.grow(root, kept)
    return grower.tree(root.action)


class _Grower:
    """The walk by levels; the records of a level are read together."""

    def __init__(self, results: Path, store: Store, *, fold: bool) -> None:
        self._store, self._fold = store, fold
        self._makers = Makers(results)
        self._records: dict[str, Record] = {}
        self._branches: dict[str, list[Branch]] = {}
        self._used: dict[str, dict[str, ActionInput]] = {}  # action -> its outputs that we met

    def grow(self, root: Record, kept: Mapping[str, Sequence[ActionInput]]) -> None:
        self._records[root.action] = root
        self._branches[root.action] = self._bundled(root, kept)
        level = self._makers_of(root.action)
        while level:
            new = [key for key in level if key not in self._records]
            self._records |= known_records(self._store, new)
            for key in level:
                record = self._records[key]
                used = list(self._used[key].values())
                self._branches[key] = self._bundled(record, concerned(record, used))
            level = list(dict.fromkeys(made for key in level for made in self._makers_of(key)))

    def tree(self, root: str) -> Tree:
        """Return what can be reached: a bundle's first file may have changed on the way."""
        found: dict[str, None] = {}
        waiting = [root]
        while waiting:
            key = waiting.pop()
            if key not in found:
                found[key] = None
                bundles = [b for branch in self._branches[key] for b in branch.bundles]
                waiting += [bundle.action for bundle in bundles if bundle.action]
        return Tree(
            root,
            {key: self._records[key] for key in found},
            {key: self._branches[key] for key in found},
        )

    def _makers_of(self, key: str) -> list[str]:
        """Return the makers of an action's inputs that have an output not seen before."""
        new = []
        for bundle in (each for branch in self._branches[key] for each in branch.bundles):
            if bundle.action:
                used = self._used.setdefault(bundle.action, {})
                if bundle.file.path not in used:
                    used[bundle.file.path] = bundle.file
                    new.append(bundle.action)
        return new

    def _bundled(
        self, record: Record, concerned: Mapping[str, Sequence[ActionInput]]
    ) -> list[Branch]:
        return [
            Branch(
                name,
                len(concerned.get(name, ())),
                len(files),
                list(self._bundles(concerned.get(name, ()))),
            )
            for name, files in sorted(record.ingredients.inputs.items())
        ]

    def _bundles(self, files: Iterable[ActionInput]) -> Iterator[Bundle]:
        alike: dict[object, list[ActionInput]] = {}
        for file in files:
            alike.setdefault(_kind(file) if self._fold else file.path, []).append(file)
        for first, *more in alike.values():
            yield Bundle(first, self._makers.maker(first), more)


def concerned(record: Record, used: Sequence[ActionInput]) -> dict[str, Sequence[ActionInput]]:
    """Return the inputs of an action that its used outputs come from, by name."""
    inputs = dict(record.ingredients.inputs)
    labels = {name for output in record.outputs.values() for name in output.labels}
    for label in labels:
        given = {output.labels.get(label) for output in record.outputs.values()}
        wanted = {file.labels.get(label) for file in used}
        if len(given) > 1 and wanted < given:
            inputs = {name: _told_apart(files, given, wanted) for name, files in inputs.items()}
    return inputs


def _told_apart(
    files: Sequence[ActionInput], given: set[str | None], wanted: set[str | None]
) -> Sequence[ActionInput]:
    """Return the files with the wanted values, if some label of all files has the given values."""
    for name in files[0].labels if files else ():
        values = {file.labels.get(name) for file in files}
        if len(values) > 1 and wanted <= values <= given:
            return [file for file in files if file.labels.get(name) in wanted]
    return files


def _kind(file: ActionInput) -> object:
    """Return a key that is equal for files that differ only in numbers."""
    if not file.labels:
        return re.sub(r"\d+", "#", file.path)
    labels = sorted((k, v) for k, v in file.labels.items() if k not in _NUMBERING)
    return Path(file.path).parent.name if not labels else tuple(labels)
