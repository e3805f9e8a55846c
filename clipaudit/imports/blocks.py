"""Defines what an importer returns: checked blocks of the settings, and notes on the data."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import ceil
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from clipaudit.config.settings import Settings
from clipaudit.corpora.parts import expand_shards
from clipaudit.errors import ConfigError, InputError
from clipaudit.plaindata import Json
from clipaudit.plaintext import plain
from clipaudit.steps.granted import granted_cores

Blocks = Mapping[str, Mapping[str, Json]]  # section, name, settings

LEAST_SAMPLES = 1_000  # of a part: in a smaller one, starting jobs takes longer than their work
MOST_SAMPLES = 100_000  # an hour for a core that embeds thirty images a second

_NUMBERED = re.compile(r"(.*?)(\d+)(\.\w+)", re.ASCII | re.DOTALL)


@dataclass(frozen=True)
class Imported:
    """Blocks by section and name, and lines to print: what was counted and compared."""

    blocks: Blocks
    notes: list[str] = field(default_factory=list)

    def __add__(self, other: "Imported") -> "Imported":
        """Return both, for other sections of the settings."""
        return Imported({**self.blocks, **other.blocks}, [*self.notes, *other.notes])

    def __post_init__(self) -> None:
        """Raise ConfigError for an invalid block; references are checked in a whole file."""
        for section, named in self.blocks.items():
            annotation: Any = Settings.model_fields[section].annotation
            try:
                TypeAdapter(annotation).validate_python(named)
            except ValidationError as error:
                fault = error.errors()[0]
                where = ".".join([section, *(str(part) for part in fault["loc"])])
                message = fault["msg"].removeprefix("Value error, ")
                raise ConfigError(f"{where}: {message}. Give another name or value.") from error


class _Dumper(yaml.SafeDumper):
    """Writes lists of numbers within lines, since a label map has hundreds of them."""


def _list_node(dumper: _Dumper, items: list[object]) -> yaml.SequenceNode:
    within = all(isinstance(each, int) for each in items) or None
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=within)


_Dumper.add_representer(list, _list_node)


def block_text(content: Json, *, indent: int = 0) -> str:
    """Return settings as YAML, each line indented by `indent` spaces.

    >>> print(block_text({"corpora": {"web": {"shards": "{0..1}.tar"}}}), end="")
    corpora:
      web:
        shards: '{0..1}.tar'
    """
    text: str = yaml.dump(
        dict(content), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100
    )
    return "".join(" " * indent + line for line in text.splitlines(keepends=True))


def part_size(shards: int, samples: int, *, most: int = MOST_SAMPLES) -> tuple[int, str]:
    """Return `shards_per_part` for this machine, and a line that says it.

    Each core gets a part, unless parts would have fewer than LEAST_SAMPLES samples. No part has
    many more than `most`, unless one shard alone has more.
    """
    cores = granted_cores()
    wanted = max(1, min(cores, samples // LEAST_SAMPLES), ceil(samples / most))
    size = max(1, shards // wanted)
    parts = ceil(shards / size)
    mean = ceil(samples / parts)
    cut = f"1 part of {samples:,}" if parts == 1 else f"{parts:,} parts of some {mean:,}"
    return size, f"shards_per_part: {size:,}, so {cut} samples for {cores} cores"


def file_patterns(paths: Sequence[str]) -> str | list[str]:
    """Return patterns that expand to exactly these files, in their order; a single one as text.

    Raise InputError if a name would itself be read as a pattern, or is not UTF-8.

    >>> file_patterns(["a/08.tar", "a/09.tar", "a/10.tar", "a/12.tar"])
    ['a/{08..10}.tar', 'a/12.tar']
    """
    for path in paths:
        refuse_if_not_utf8(path)
    runs = groupby(enumerate(paths), key=lambda pair: _run_of(*pair))
    patterns = [_pattern([path for _, path in run]) for _, run in runs]
    try:
        same = expand_shards(patterns) == list(paths)
    except ConfigError as error:
        raise InputError(f"{error} Rename the folder or its files, or link to them.") from error
    if not same:
        raise InputError(
            f"{paths[0]}: a name with braces would be read as a pattern. Rename or link the files."
        )
    return patterns[0] if len(patterns) == 1 else patterns


def refuse_if_not_utf8(path: str) -> None:
    """Raise InputError for a path that is not UTF-8, as settings are."""
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{plain(path)}: is not UTF-8, so settings cannot name it. Rename the file or the "
            "folder, or make a link with another name and give that."
        ) from error


def _run_of(place: int, path: str) -> tuple[object, ...]:
    """Return what consecutive numbers of one width, in one folder, have in common."""
    found = _NUMBERED.fullmatch(path)
    if found is None:
        return (place,)
    before, number, after = found.groups()
    return (before, after, len(number), int(number) - place)


def _pattern(paths: Sequence[str]) -> str:
    first, last = _NUMBERED.fullmatch(paths[0]), _NUMBERED.fullmatch(paths[-1])
    if first is None or last is None or len(paths) == 1:
        return paths[0]
    return f"{first[1]}{{{first[2]}..{last[2]}}}{first[3]}"
