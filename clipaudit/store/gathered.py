"""Gathered lists: the pointers of all parts of a folder by one name, for rules that read them all.

    results/gathered/<folder>.list   one line a pointer: the digest that it names, and its path

Where each part reads every part, jobs times inputs are the square of the parts, and Snakemake
holds each pair. A list is one input to it. A step takes the pointers in its place: keys and records
are as if the rule had named them all.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from clipaudit.errors import InputError
from clipaudit.store.store import Pointer, replace_text

SUFFIX = ".list"


def write_list(path: Path, pointers: Iterable[str]) -> None:
    """Write the list of some pointers, in their order, whole or not at all."""
    lines = [f"{Pointer.read(Path(each)).digest} {each}\n" for each in pointers]
    replace_text(path, "".join(lines))


def spread(paths: Iterable[str]) -> Iterator[str]:
    """Yield paths, in order, and in the place of each gathered list the pointers that it names.

    Raises InputError for a list that cannot be read.
    """
    for path in paths:
        if path.endswith(SUFFIX):
            yield from _listed(Path(path))
        else:
            yield path


def _listed(path: Path) -> list[str]:
    try:
        lines = path.read_text().splitlines()
        return [line.split(" ", 1)[1] for line in lines]
    except (OSError, IndexError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: not a list of pointers ({error!r}). Remove it and run the same command again."
        ) from error
