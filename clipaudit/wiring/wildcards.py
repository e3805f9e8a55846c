"""Types and constraints of a job's wildcards."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, runtime_checkable

from pydantic import BaseModel


@runtime_checkable
class Wildcards(Protocol):
    """What Snakemake passes to functions of inputs and params: the wildcards' values, by name."""

    def __getattribute__(self, name: str, /) -> str:
        """Return the value of a wildcard."""


Paths = list[str]
Chosen = Callable[[Wildcards], Paths]  # gives a job's files
ChosenByName = Callable[[Wildcards], dict[str, Paths]]
Setting = Callable[[Wildcards], object]


def setting_of(section: Mapping[str, BaseModel], wildcard: str, field: str = "") -> Setting:
    """Return a function that gives the section's entry that a wildcard names, or a field of it."""

    def chosen(wildcards: Wildcards) -> object:
        entry = section[getattr(wildcards, wildcard)]
        return getattr(entry, field) if field else entry.model_dump(mode="json")

    return chosen


def one_of(names: Iterable[str]) -> str:
    """Return the wildcard constraint that matches exactly these names; without names, nothing.

    >>> one_of(["a", "b.c"]), one_of([])
    ('a|b\\\\.c', '(?!)')
    """
    return "|".join(re.escape(name) for name in names) or r"(?!)"
