"""Find the differences between two actions' ingredients, as causes to report and count."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal, get_args

from clipaudit.lineage.changed import changed_entries, changed_settings
from clipaudit.store.actions import ActionInput, Ingredients
from clipaudit.store.code_records import read_code
from clipaudit.store.store import Store

Kind = Literal["not reproduced", "data", "code", "settings", "environment", "not recorded"]
KINDS: tuple[Kind, ...] = get_args(Kind)

File = tuple[str, ActionInput]  # an input file and its path relative to the results folder


@dataclass(frozen=True)
class Cause:
    """One thing that differs: a file, a module, a setting, a library; None if it is absent."""

    kind: Kind
    name: str
    before: str | None
    after: str | None

    def order(self) -> tuple[int, str, str, str]:
        """Return the sort key of causes: the kind, then the name."""
        return KINDS.index(self.kind), self.name, self.before or "", self.after or ""


def own_causes(before: Ingredients, after: Ingredients, stores: tuple[Store, Store]) -> list[Cause]:
    """Return how two actions differ in code, settings and environment, without inputs.

    Code is compared by module if both digests were recorded, everything else as in `changed`.
    """
    found = [] if before.code == after.code else list(_code(before, after, stores))
    if before.step != after.step:
        found.append(Cause("settings", "step", before.step, after.step))
    settings = changed_settings(before.settings, after.settings)
    environment = changed_entries(before.environment, after.environment)
    found += [Cause("settings", *changed) for changed in settings]
    return found + [Cause("environment", *changed) for changed in environment]


def unnamed_cause(before: Ingredients, after: Ingredients) -> Cause:
    """Return why two actions with equal inputs, code, settings and environment differ.

    The cause is the labels of their inputs, or the order of inputs.
    """
    for name in sorted(before.inputs.keys() | after.inputs.keys()):
        labels = [
            [json.dumps(dict(file.labels), sort_keys=True) for file in each.inputs.get(name, ())]
            for each in (before, after)
        ]
        if sorted(labels[0]) != sorted(labels[1]):
            return Cause(
                "settings", f"labels of input {name}", *(" ".join(each) for each in labels)
            )
    return Cause("settings", f"order of inputs of step {after.step}", None, None)


def match_files(
    before: Sequence[File], after: Sequence[File]
) -> list[tuple[File | None, File | None]]:
    """Return the files of one input in pairs: by path, else by labels, else only by name.

    Of several files with one path, the first is paired with the first. A file without a counterpart
    is paired with None. Files of `after` come first, in order, then those only in `before`.
    """
    pairs: dict[int, int] = {}  # places in `after` -> places in `before`
    for called in (_paths, _labels, _names):
        rest_before = _without(before, set(pairs.values()))
        rest_after = _without(after, set(pairs))
        places = _only_places(called(rest_before))
        for name, place in _only_places(called(rest_after)).items():
            if name in places:
                pairs[place] = places[name]
    matched = [
        (before[pairs[place]] if place in pairs else None, file) for place, file in enumerate(after)
    ]
    return [*matched, *((file, None) for file in _without(before, set(pairs.values())) if file)]


def _without(files: Sequence[File], places: set[int]) -> list[File | None]:
    return [None if place in places else file for place, file in enumerate(files)]


def _only_places(names: Sequence[object]) -> dict[object, int]:
    """Return the index of each name that exactly one file has; false values are no names."""
    counts = Counter(names)
    return {name: place for place, name in enumerate(names) if name and counts[name] == 1}


def _paths(files: Sequence[File | None]) -> list[object]:
    seen: Counter[str] = Counter()
    found: list[object] = []
    for file in files:
        seen[file[0] if file else ""] += 1
        found.append((file[0], seen[file[0]]) if file else None)
    return found


def _labels(files: Sequence[File | None]) -> list[object]:
    return [tuple(sorted(file[1].labels.items())) if file else None for file in files]


def _names(files: Sequence[File | None]) -> list[object]:
    """Return user files' names without folders; files made by actions match only by path."""
    return [
        PurePosixPath(file[0]).name if file and file[1].action is None else None for file in files
    ]


def _code(before: Ingredients, after: Ingredients, stores: tuple[Store, Store]) -> Iterator[Cause]:
    old, new = read_code(stores[0], before.code), read_code(stores[1], after.code)
    if old is None or new is None:
        name = f"of step {after.step}, its modules not recorded"
        yield Cause("code", name, before.code, after.code)
        return
    for changed in changed_entries(old.parts, new.parts):
        yield Cause("code", *changed)
