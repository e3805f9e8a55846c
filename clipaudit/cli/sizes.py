"""Bytes as people read them."""

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def size(count: float) -> str:
    """Return a number of bytes in the unit that leaves three digits or less before the point.

    >>> size(1500), size(0)
    ('1.5 kB', '0 B')
    """
    for unit in _UNITS[:-1]:
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} {_UNITS[-1]}"
