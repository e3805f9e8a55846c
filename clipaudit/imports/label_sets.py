"""Shares label sets among test sets, by class names, their order and prompts, not by paths."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from clipaudit.config.corpora import LabelSet
from clipaudit.corpora.classes import read_classes
from clipaudit.corpora.labels import map_by_names
from clipaudit.errors import ConfigError, InputError
from clipaudit.imports.blocks import Blocks
from clipaudit.plaindata import Json
from clipaudit.plaintext import plain

_Content = tuple[list[str], list[str]]  # class names in their order, prompts


def share_label_sets(blocks: Blocks, settings: Json, *, force: bool) -> tuple[Blocks, list[str]]:
    """Return the blocks without label sets that the settings already have, and lines that say so.

    A corpus of such a label set gets the existing one's name. If its classes are a subset of
    another label set's, like ImageNet-A's, it gets the label map to that. Raise ConfigError if a
    label set of the same name has other content, unless `force` replaces it and only the corpus of
    the import uses it.
    """
    there: Mapping[str, Any] = settings.get("label_sets") or {}
    notes, found = [], {section: dict(named) for section, named in blocks.items()}
    for name, block in blocks.get("label_sets", {}).items() if there else ():
        classes, prompts = _content(block)
        for other in sorted(there, key=lambda each: each != name):  # its own name first
            if _same(there[other], classes, prompts if "templates" in block else None):
                del found["label_sets"][name]
                for corpus, own in found["corpora"].items():
                    found["corpora"][corpus] = {**own, "labels": other}
                notes.append(f"label_sets.{other} has the same {len(classes):,} classes: used")
                break
        else:
            users = _users(settings, name) - found["corpora"].keys()
            if name in there and (users or not force):
                raise ConfigError(_conflict(name, there[name], (classes, prompts), block, users))
        if (to := _label_map(classes, there)) is not None:
            for corpus, own in found["corpora"].items():
                found["corpora"][corpus] = {**own, "label_map": to}
            notes.append(
                f"the {len(classes):,} classes are a subset of label_sets.{to['to']}: "
                "label_map says which"
            )
    return {section: named for section, named in found.items() if named}, notes


def _label_map(classes: list[str], there: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the label map to the first larger label set that has all of the classes, in order."""
    for name, block in there.items():
        known = _known(block)
        if not isinstance(known, str) and len(known[0]) > len(classes):
            places = map_by_names(classes, known[0])
            if places is not None:
                return {"to": name, "classes": places}
    return None


def _content(block: Json) -> _Content:
    label_set = LabelSet.model_validate(block)
    return [each.strip() for each in read_classes(Path(label_set.classes))], label_set.templates


def _known(block: Json) -> _Content | str:
    """Return the content of a label set of the settings, or why it cannot be read."""
    try:
        return _content(block)
    except InputError as error:
        return str(error)
    except ValidationError as error:
        return str(error.errors()[0]["msg"])


def _same(block: Json, classes: list[str], prompts: list[str] | None) -> bool:
    known = _known(block)
    return not isinstance(known, str) and known == (classes, prompts or known[1])


def _users(settings: Json, name: str) -> set[str]:
    corpora: Mapping[str, Any] = settings.get("corpora") or {}
    return {corpus for corpus, block in corpora.items() if block.get("labels") == name}


def _conflict(name: str, there: Json, new: _Content, block: Json, users: set[str]) -> str:
    known = _known(there)
    place = f"label_sets.{name} ({plain(str(there.get('classes')))})"
    other = plain(block["classes"])
    if isinstance(known, str):
        differ = f"{place} cannot be compared with {other}: {known.rstrip('.')}."
    else:
        what, old, now = next(
            (what, old, now)
            for what, old, now in zip(("classes", "prompts"), known, new, strict=True)
            if old != now
        )
        at = next((at for at, (a, b) in enumerate(zip(old, now, strict=False)) if a != b), None)
        first = "" if at is None else f"; number {at} is {old[at]!r} there and {now[at]!r} here"
        differ = f"{place} has {len(old):,} {what}, {other} has {len(now):,}{plain(first)}."
    users_named = f" It is used by corpora.{', corpora.'.join(sorted(users))}." if users else ""
    forced = "" if users else ", or replace it by --force"
    return f"{differ}{users_named} Name another label set by --label-set{forced}."
