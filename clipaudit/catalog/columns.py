"""What the views of a catalog and their columns mean: the comments that DuckDB keeps for each.

The comments stand in `columns.tsv`: view, column, comment. Views and columns may be
patterns, such as `drops_*`; of the lines that fit, the first counts, so that the general ones stand
last. A line without a column says what a row of the view is. Report tables and their columns bear
the comments of their SQL, and only where that says nothing those of the file.
"""

import csv
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from itertools import takewhile

import duckdb

from clipaudit.catalog.comments import column_comments
from clipaudit.catalog.sqltext import identifier, literal
from clipaudit.catalog.tables import TABLES
from clipaudit.config.audits import audits
from clipaudit.steps.reportfiles import report_file

READS = ("columns.tsv",)


def comment_views(
    connection: duckdb.DuckDBPyConnection,
    columns: Mapping[str, Iterable[str]],
    sources: Mapping[str, str],
) -> None:
    """Give the views of a catalog and their columns their comments.

    `columns` are those of each view or table, `sources` the names of the SQL of report tables.
    """
    for name, own in columns.items():
        stated = column_comments(sources.get(name, name))
        view = identifier(name)
        kind = "table" if name in TABLES else "view"
        grain = _first_words(sources.get(name, name)) or meaning(name, "")
        if grain:
            connection.execute(f"comment on {kind} {view} is {literal(grain)}")
        for column in own:
            comment = stated.get(column) or meaning(name, column)
            if comment:
                place = f"{view}.{identifier(column)}"
                connection.execute(f"comment on column {place} is {literal(comment)}")


def meaning(view: str, column: str) -> str | None:
    """Return the comment of a column, or of the view itself where `column` is empty; None if none.

    >>> meaning("embeddings", "shard")
    "the sample's shard: its position in the corpus's list of shards, from 0"
    >>> meaning("embeddings", "colour")
    """
    for pattern, name, comment in _lines():
        if fnmatchcase(column, name) and fnmatchcase(view, pattern):
            return comment
    return None


def _first_words(sql: str) -> str | None:
    """Return what the SQL of a report table says of itself, before its views and parameters."""
    path = report_file("sql", f"{sql}.sql")
    if not path.is_file():
        return None
    lines = takewhile(lambda line: line.startswith("-- "), path.read_text("utf-8").splitlines())
    return " ".join(line.removeprefix("-- ") for line in lines)


@cache
def _lines() -> tuple[tuple[str, str, str], ...]:
    folders = [f"clipaudit.{audit.name}.reports" for audit in audits()]
    found = [files(name).joinpath(READS[0]) for name in (*folders, "clipaudit.catalog")]
    text = "".join(file.read_text("utf-8") for file in found)
    rows = csv.reader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    return tuple((view, column, comment) for view, column, comment in rows)
