"""Format a table's values for readers."""

from clipaudit.reports.layouts import MINUS, MISSING, THIN

_WHOLE = 1e15  # above it the next float is not always the next whole number


def shown(value: object) -> str:
    """Format a value for readers: digit groups, six digits, yes or no.

    >>> shown(0.123456789), shown(True), shown(None) == MISSING, shown(9e6) == shown(9_000_000)
    ('0.123457', 'yes', True, True)
    """
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer() and abs(value) < _WHOLE:
        value = int(value)
    if isinstance(value, int):
        return f"{value:,}".replace(",", THIN).replace("-", MINUS)
    return f"{value:.6g}".replace("-", MINUS) if isinstance(value, float) else str(value)
