"""Data in Python's own types: rows of tables, and objects of JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]  # of a table: its columns' values
Rows = Sequence[Row]
Json = Mapping[str, Any]  # what json.loads gives of an object, or json.dumps can write
