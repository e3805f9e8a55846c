"""Find an audit's SQL and published numbers, which are next to the code of its reports."""

from pathlib import Path
from typing import Literal

from clipaudit.config.audits import folder_of
from clipaudit.config.plugins import package_place


def report_file(kind: Literal["sql", "published"], name: str) -> Path:
    """Return a report file of the audit that begins its name; it may not exist.

    >>> report_file("sql", "similarity_table1.sql").is_file()
    True
    """
    return package_place(folder_of(name)) / "reports" / kind / name
