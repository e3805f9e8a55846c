"""A row of a table as a mapping: of its columns to Python values."""

from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
Rows = Sequence[Row]
