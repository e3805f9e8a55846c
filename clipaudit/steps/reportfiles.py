"""Where an audit's SQL and published numbers stand: beside the code of its reports."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Literal


def report_file(kind: Literal["sql", "published"], name: str) -> Traversable:
    """Return a file of the reports of the audit that its name begins with; it may not exist.

    >>> report_file("sql", "similarity_table1.sql").is_file()
    True
    """
    return files("clipaudit").joinpath(name.partition("_")[0], "reports", kind, name)
