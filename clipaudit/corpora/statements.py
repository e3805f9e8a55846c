"""Reads the JSON of samples, as the index keeps it, and shows faulty values."""

import json
import re
from typing import Any, TypeGuard

import numpy as np

from clipaudit.errors import InputError

_FLOAT32_MAX = float(np.finfo(np.float32).max)
_HALF_PAIR = re.compile(r"[\ud800-\udfff]")  # cannot be stored as UTF-8


def stated_fields(text: str | None, place: str) -> dict[str, Any]:
    """Return the fields of a sample's JSON, {} without one; raise InputError for a non-object."""
    if text is None:
        return {}
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: its JSON cannot be read ({error}): write it again") from error
    if not isinstance(fields, dict):
        raise InputError(
            f"{place}: its JSON is {shown_value(fields)}: make it an object with fields"
        )
    return fields


def shown_value(value: object) -> str:
    """Return a JSON value, shortened for a message."""
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 100 else f"{text[:97]}..."


def is_text(value: object) -> TypeGuard[str]:
    """Return whether a JSON value is text, without half surrogate pairs, which JSON allows.

    >>> is_text("zebra"), is_text(""), is_text("\\ud800"), is_text(3)
    (True, True, False, False)
    """
    return isinstance(value, str) and not _HALF_PAIR.search(value)


def is_finite(value: object) -> TypeGuard[float]:
    """Return whether a JSON value is a number that float32 can hold.

    >>> is_finite(1), is_finite(10**999), is_finite(float("nan")), is_finite(True)
    (True, False, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= _FLOAT32_MAX  # neither nan nor infinite, which Python reads from JSON
