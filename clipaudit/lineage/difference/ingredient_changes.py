"""What differs between the ingredients of two actions, as causes that can be told and counted."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Literal

from clipaudit.actions import ActionInput, Ingredients
from clipaudit.lineage.code_records import read_code
from clipaudit.store import Store

Kind = Literal["not reproduced", "data", "code", "settings", "environment", "not recorded"]
KINDS: tuple[Kind, ...] = (
    "not reproduced", "data", "code", "settings", "environment", "not recorded",
)  # fmt: skip

File = tuple[str, ActionInput]  # an input file and its path relative to the results folder

_ABSENT = object()


@dataclass(frozen=True)
class Cause:
    """One thing that differs: a file, a module, a setting, a library; None where it is absent."""

    kind: Kind
    name: str
    before: str | None
    after: str | None

    def order(self) -> tuple[int, str, str, str]:
        """Return what causes are sorted by: the kind, then the name."""
        return KINDS.index(self.kind), self.name, self.before or "", self.after or ""


def own_causes(before: Ingredients, after: Ingredients, stores: tuple[Store, Store]) -> list[Cause]:
    """Return in which code, settings and environment two actions differ; inputs aside.

    Code is told by module where both digests were recorded, settings by dotted name, items of
    equally long lists by number. Values are as JSON writes them, texts without quotes.
    """
    found = [] if before.code == after.code else list(_code(before, after, stores))
    if before.step != after.step:
        found.append(Cause("settings", "step", before.step, after.step))
    found += [Cause("settings", *each) for each in _values(before.settings, after.settings)]
    return found + [
        Cause("environment", name, before.environment.get(name), after.environment.get(name))
        for name in sorted(before.environment.keys() | after.environment.keys())
        if before.environment.get(name) != after.environment.get(name)
    ]


def unnamed_cause(before: Ingredients, after: Ingredients) -> Cause:
    """Return why two actions differ whose inputs, code, settings and environment are the same.

    That is what their inputs are called, or the order of inputs.
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


def counted(number: int, thing: str) -> str:
    """Return a number of things in words.

    >>> counted(1, "file"), counted(0, "file")
    ('1 file', '0 files')
    """
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def match_files(
    before: Sequence[File], after: Sequence[File]
) -> list[tuple[File | None, File | None]]:
    """Return the files of one input side by side: by path, else by labels, else by name alone.

    Of several files of one path the first stands beside the first. A file without a counterpart
    stands beside None. Those of `after` come in their order, then what only `before` has.
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
    """Return where each name stands that exactly one file bears; what is false is no name."""
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
    """Name users' files without their folders; what actions made is called by its path alone."""
    return [
        PurePosixPath(file[0]).name if file and file[1].action is None else None for file in files
    ]


def _code(before: Ingredients, after: Ingredients, stores: tuple[Store, Store]) -> Iterator[Cause]:
    old, new = read_code(stores[0], before.code), read_code(stores[1], after.code)
    if old is None or new is None:
        name = f"of step {after.step}, its modules not recorded"
        yield Cause("code", name, before.code, after.code)
        return
    for name in sorted(old.parts.keys() | new.parts.keys()):
        if old.parts.get(name) != new.parts.get(name):
            yield Cause("code", name, old.parts.get(name), new.parts.get(name))


def _values(
    before: object, after: object, name: str = ""
) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield name and both values of each setting that differs, None where there is none."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted(before.keys() | after.keys()):
            inner = f"{name}.{key}" if name else str(key)
            yield from _values(before.get(key, _ABSENT), after.get(key, _ABSENT), inner)
    elif _are_settings(before) and _are_settings(after) and _text(before) != _text(after):
        yield from _items(before, after, name)  # type: ignore[arg-type]
    elif _text(before) != _text(after):
        yield name, _text(before), _text(after)


def _are_settings(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(item, Mapping) for item in value)


def _items(
    before: list[Any], after: list[Any], name: str
) -> Iterator[tuple[str, str | None, str | None]]:
    """Compare lists of settings: item by item if equally long, else which items came and went."""
    if len(before) == len(after):
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _values(old, new, f"{name}[{number}]")
        return
    old_texts, new_texts = [_text(item) for item in before], [_text(item) for item in after]
    gone = [text for text in old_texts if text not in new_texts]
    come = [text for text in new_texts if text not in old_texts]
    yield (
        name,
        counted(len(before), "item") + (f", {' '.join(map(str, gone))}" if gone else ""),
        counted(len(after), "item") + (f", {' '.join(map(str, come))}" if come else ""),
    )


def _text(value: object) -> str | None:
    if value is _ABSENT:
        return None
    return (
        value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
    )
