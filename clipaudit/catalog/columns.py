"""The meanings of a catalog's views and columns, stored as DuckDB comments.

The comments are in `columns.tsv`: view, column, comment. Views and columns may be patterns, such as
`drops_*`. The first matching line counts, so general ones come last; those of all views (`*`) count
after every audit's others. A line without a column says what a row of the view is. Report tables
and their columns take the comments of their SQL, and those of the file only if the SQL has none.
"""

import csv
import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from itertools import takewhile
from pathlib import Path

import duckdb

from clipaudit.catalog.sqltext import identifier, literal
from clipaudit.catalog.tables import TABLES
from clipaudit.config.audits import audits, folder_of, plugged_among
from clipaudit.config.plugins import package_place
from clipaudit.steps.reportfiles import report_file

READS = ("columns.tsv",)

# a column of a select in this project's style: an expression, perhaps a name, a comma, a comment
_COLUMN = re.compile(r"^ +(?:.*\bas )?(?:\w+\.)?(\w+), -- (.+)$")


def comment_views(
    connection: duckdb.DuckDBPyConnection,
    columns: Mapping[str, Iterable[str]],
    sources: Mapping[str, str],
) -> None:
    """Set the comments of a catalog's views and columns.

    `columns` lists those of each view or table; `sources` names the SQL of report tables.
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
    """Return the comment of a column, or of the view if `column` is empty; None if there is none.

    >>> meaning("embeddings", "shard")
    "the sample's shard: its position in the corpus's list of shards, from 0"
    >>> meaning("embeddings", "colour")
    """
    for pattern, name, comment in _lines(*plugged_among([view, column])):
        if fnmatchcase(column, name) and fnmatchcase(view, pattern):
            return comment
    return None


def column_comments(table: str) -> dict[str, str]:
    """Return the comments of the last select of a report table's SQL, by column.

    Columns with self-explanatory names have none; nor has a table whose SQL has another name.

    >>> column_comments("parrot_table1")["unit"]
    'count; share: between 0 and 1'
    >>> column_comments("no_such_table")
    {}
    """
    _, _, last = _sql(table).rpartition("\nselect\n")
    found = (_COLUMN.match(line) for line in last.splitlines())
    return {match[1]: match[2] for match in found if match}


def _first_words(table: str) -> str:
    """Return the first comment of a report table's SQL, which precedes its views and parameters."""
    lines = takewhile(lambda line: line.startswith("-- "), _sql(table).splitlines())
    return " ".join(line.removeprefix("-- ") for line in lines)


def _sql(table: str) -> str:
    path = report_file("sql", f"{table}.sql")
    return path.read_text("utf-8") if path.is_file() else ""


@cache
def _lines(*plugged: str) -> tuple[tuple[str, str, str], ...]:
    names = (*(audit.name for audit in audits()), *plugged)
    folders = [package_place(folder_of(name)) / "reports" for name in names]
    found = [folder / READS[0] for folder in (*folders, Path(__file__).parent)]
    text = "".join(file.read_text("utf-8") for file in found if file.is_file())
    rows = csv.reader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    lines = sorted(rows, key=lambda line: line[0] == "*")  # stable
    return tuple((view, column, comment) for view, column, comment in lines)
