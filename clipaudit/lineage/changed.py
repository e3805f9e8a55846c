"""Find the settings, parts of the code and libraries in which two actions differ, by name.

`plan` uses it for reasons and `diff` for causes, so that both agree.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from clipaudit.plaindata import Json
from clipaudit.plaintext import many

_ABSENT = object()


class Changed(NamedTuple):
    """One name with both values as text; None if it is absent."""

    name: str
    before: str | None
    after: str | None


def changed_entries(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Changed]:
    """Yield the entries that differ, by name: parts of a code digest or library versions.

    >>> list(changed_entries({"torch": "2.14"}, {"torch": "2.14", "pillow": "13"}))
    [Changed(name='pillow', before=None, after='13')]
    """
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            yield Changed(name, before.get(name), after.get(name))


def changed_settings(before: Json, after: Json) -> Iterator[Changed]:
    """Yield the settings that differ, by dotted name; items of equally long lists by number.

    Values are in JSON form, with texts unquoted where that is unambiguous; a tuple is a list, as in
    its record.

    >>> list(changed_settings({"sets": [{"k": 1}, {"k": 2}]}, {"sets": [{"k": 1}, {"k": 3}]}))
    [Changed(name='sets[1].k', before='2', after='3')]
    """
    yield from _values(before, after, "")


def _values(before: object, after: object, name: str) -> Iterator[Changed]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted(before.keys() | after.keys()):
            inner = f"{name}.{key}" if name else str(key)
            yield from _values(before.get(key, _ABSENT), after.get(key, _ABSENT), inner)
    elif _json(before) != _json(after):
        if _has_settings(before) and _has_settings(after):
            yield from _items(before, after, name)  # type: ignore[arg-type]
        elif _text(before) != _text(after):
            yield Changed(name, _text(before), _text(after))
        else:
            yield Changed(name, _json(before), _json(after))


def _has_settings(value: object) -> bool:
    return isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value)


def _items(before: list[Any], after: list[Any], name: str) -> Iterator[Changed]:
    """Compare lists of settings: by item if equally long, else give added and removed items."""
    if len(before) == len(after):
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _values(old, new, f"{name}[{number}]")
        return
    old_texts, new_texts = [_text(item) for item in before], [_text(item) for item in after]
    gone = [text for text in old_texts if text not in new_texts]
    come = [text for text in new_texts if text not in old_texts]
    yield Changed(
        name,
        many(len(before), "item") + (f", {' '.join(map(str, gone))}" if gone else ""),
        many(len(after), "item") + (f", {' '.join(map(str, come))}" if come else ""),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else _json(value)


def _json(value: object) -> str | None:
    if value is _ABSENT:
        return None
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
