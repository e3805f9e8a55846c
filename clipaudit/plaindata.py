"""Types for plain Python data: rows of tables, and JSON objects."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]  # column names to values
Rows = Sequence[Row]
Json = Mapping[str, Any]  # an object that json.loads returns, or that json.dumps can write


def plain_value(value: object) -> Any:  # noqa: ANN401
    """Return a value that JSON can hold: bytes become their count, non-finite floats a text.

    >>> plain_value({"share": float("nan"), "pictures": (b"ab", None)})
    {'share': 'nan', 'pictures': ['2 bytes', None]}
    """
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(name): plain_value(each) for name, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain_value(each) for each in value]
    return value if isinstance(value, str | int | None) else str(value)
