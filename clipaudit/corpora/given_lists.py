"""Checks lists given from Python: one list of texts or labels for each image."""

from collections.abc import Collection, Iterable

from clipaudit.errors import InputError


def refuse_flat(lists: object, name: str, *, holds: str) -> None:
    """Raise InputError unless `lists` is a list with a list for each image.

    A text in the place of such a list is refused, because it would be read letter by letter.

    >>> refuse_flat([["sale"], []], "texts", holds="the texts in it")
    """
    for at, each in enumerate(listed(lists, name)):
        if not _is_list(each):
            raise InputError(
                f"{name}: entry {at} is {_shown(each)}; give a list for each image, of {holds}, "
                "and [] if there are none"
            )


def listed(values: object, name: str) -> Iterable[object]:
    """Return `values`; raise InputError for a single value instead of a list."""
    if isinstance(values, Collection) and _is_list(values):
        return values
    raise InputError(
        f"{name}: {_shown(values)} is not a list; give a list, one entry for each image"
    )


def refuse_others(
    lists: Iterable[Iterable[object]], name: str, *, kind: type, expected: str
) -> None:
    """Raise InputError unless each value of each list is of a `kind`."""
    for at, values in enumerate(lists):
        for value in values:
            if not isinstance(value, kind):
                raise InputError(f"{name}: entry {at} has {_shown(value)}; give {expected}")


def _is_list(value: object) -> bool:
    return isinstance(value, Collection) and not isinstance(value, str | bytes)


def _shown(value: object) -> str:
    return f"{value!r:.60} ({type(value).__name__})"
