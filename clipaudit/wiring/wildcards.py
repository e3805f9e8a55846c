"""The wildcards of a job, and what they may match."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, runtime_checkable

from pydantic import BaseModel


@runtime_checkable
class Wildcards(Protocol):
    """What Snakemake hands to functions of inputs and params: the wildcards' values, by name."""

    def __getattribute__(self, name: str, /) -> str:
        """Return the value of a wildcard."""


Paths = list[str]
Chosen = Callable[[Wildcards], Paths]  # what gives a job's files
Setting = Callable[[Wildcards], object]


def setting_of(section: Mapping[str, BaseModel], wildcard: str, field: str = "") -> Setting:
    """Return what gives the entry of a section that a job's wildcard names, or a field of it."""

    def chosen(wildcards: Wildcards) -> object:
        entry = section[getattr(wildcards, wildcard)]
        return getattr(entry, field) if field else entry.model_dump(mode="json")

    return chosen


def one_of(names: Iterable[str]) -> str:
    """Return the constraint of a wildcard: exactly one of these names; of none, nothing matches.

    >>> one_of(["a", "b.c"]), one_of([])
    ('a|b\\\\.c', '(?!)')
    """
    return "|".join(re.escape(name) for name in names) or r"(?!)"
