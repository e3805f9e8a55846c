"""Gathered lists: one file that names the pointers of all parts, for rules that read them all.

    results/gathered/<folder>.list   one line per pointer: the digest that it names, and its path

If each part reads every part, the number of inputs is the square of the parts, and Snakemake holds
each one. A list is a single input. A step replaces it with its pointers, so keys and records are as
if the rule had named them all.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from clipaudit.errors import InputError
from clipaudit.store.store import Pointer, replace_text


def write_list(path: Path, pointers: Iterable[str]) -> None:
    """Write a list of pointers, in their order, whole or not at all."""
    lines = [f"{Pointer.read(Path(each)).digest} {each}\n" for each in pointers]
    replace_text(path, "".join(lines))


def spread(paths: Iterable[str], results: Path) -> Iterator[str]:
    """Yield paths in order, with each gathered list replaced by its pointers.

    Only files below `gathered` of the folder `results` are lists: a user's file may end in `.list`,
    too. Raise InputError for a list that cannot be read.
    """
    for path in paths:
        if Path(path).is_relative_to(results / "gathered"):
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
