"""Expands the patterns in the config to a list of shards, and cuts the list into parts.

The position of a shard in the list is half of the address of its samples, so the list must not
change: wildcards, whose meaning depends on the content of a folder, are refused.
"""

import os.path
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from math import prod

from clipaudit.errors import ConfigError
from clipaudit.remote.urls import check_url, is_url

MAX_SHARDS = 10_000_000  # DataComp's 12.8 billion samples are 1.3 million shards
_BRACES = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"(\d+)\.\.(\d+)(?:\.\.(\d+))?", re.ASCII)


def expand_shards(patterns: str | Sequence[str]) -> list[str]:
    """Expand brace patterns, in the order written, the last brace fastest, as a shell does.

    Results are cached, as rules ask again for each of their files.

    `{00000..00019}`, `{0..100..10}` (a leading zero pads to the longer bound) and `{a,b}` are
    understood. Raises ConfigError for no pattern, a wildcard, another brace, or a repeated shard.

    >>> expand_shards(["small/{08..10}.tar", "large/{a,b}-{0..1}.tar"])
    ... # doctest: +NORMALIZE_WHITESPACE
    ['small/08.tar', 'small/09.tar', 'small/10.tar',
     'large/a-0.tar', 'large/a-1.tar', 'large/b-0.tar', 'large/b-1.tar']
    """
    return _expanded((patterns,) if isinstance(patterns, str) else tuple(patterns))


@cache
def _expanded(patterns: tuple[str, ...]) -> list[str]:
    shards = [shard for pattern in patterns for shard in _expand(pattern)]
    if not shards:
        raise ConfigError("the list of shards is empty. Name the corpus's tar files.")
    _refuse_duplicates(shards)
    return shards


def parts(n_shards: int, shards_per_part: int) -> list[range]:
    """Cut shard numbers 0 to `n_shards` - 1 into consecutive parts; the last may be shorter.

    >>> parts(5, 2)
    [range(0, 2), range(2, 4), range(4, 5)]
    """
    if shards_per_part < 1:
        raise ConfigError(f"shards per part: {shards_per_part}. Write a number of 1 or more.")
    return [
        range(start, min(start + shards_per_part, n_shards))
        for start in range(0, n_shards, shards_per_part)
    ]


def part_name(number: int) -> str:
    """Return a part's file name without its ending: five digits, more when five are too few.

    >>> part_name(7)
    '00007'
    """
    return f"{number:05d}"


def _expand(pattern: str) -> Iterator[str]:
    if not pattern.strip():
        raise ConfigError("the list of shards has an empty name. Name a tar file or a pattern.")
    if is_url(pattern):
        check_url(pattern)
    if wildcard := re.search(r"[*?\[]", pattern):
        raise ConfigError(
            f"shards {pattern!r}: {wildcard[0]!r} may match other files later, but a shard's "
            "place in the list is its address. Write a range such as {00000..00041}."
        )
    pieces = _BRACES.split(pattern)  # text, inside of a brace, text, ...
    if any("{" in text or "}" in text for text in pieces[::2]):
        raise ConfigError(
            f"shards {pattern!r}: braces do not pair, or are nested. Write several patterns."
        )
    choices = [
        [piece] if position % 2 == 0 else _choices(piece, pattern)
        for position, piece in enumerate(pieces)
    ]
    count = prod(map(len, choices))
    if count > MAX_SHARDS:
        raise ConfigError(f"shards {pattern!r}: {count} files, the limit is {MAX_SHARDS}.")
    return map("".join, product(*choices))


def _choices(inside: str, pattern: str) -> Sequence[str]:
    if "," in inside:
        return inside.split(",")
    found = _RANGE.fullmatch(inside)
    if found is None or (found[3] is not None and int(found[3]) == 0):
        raise ConfigError(
            f"shards {pattern!r}: {{{inside}}} is neither a range of numbers, {{000..041}}, "
            "nor a list, {a,b}."
        )
    first, last, step = int(found[1]), int(found[2]), int(found[3] or 1)
    if abs(last - first) // step >= MAX_SHARDS:
        raise ConfigError(f"shards {pattern!r}: more than {MAX_SHARDS} files, which is the limit.")
    padded = any(len(bound) > 1 and bound[0] == "0" for bound in found.group(1, 2))
    width = max(len(found[1]), len(found[2])) if padded else 0
    numbers = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    return [f"{number:0{width}d}" for number in numbers]


def _refuse_duplicates(shards: Sequence[str]) -> None:
    places: dict[str, int] = {}
    for number, shard in enumerate(shards):
        place = shard if is_url(shard) else os.path.normpath(shard)
        first = places.setdefault(place, number)
        if first != number:
            raise ConfigError(
                f"shards: {shard!r} is in the list twice, as numbers {first} and {number}. "
                "Its samples would count twice: name it once."
            )
