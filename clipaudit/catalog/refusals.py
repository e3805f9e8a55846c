"""Error messages for SQL that a catalog refuses, with the nearest names for unknown ones."""

import re
import shlex

import duckdb

from clipaudit.errors import InputError
from clipaudit.plaintext import plain
from clipaudit.suggestions import did_you_mean

_UNKNOWN_COLUMN = (
    r'column "(.+?)" not found|does not have a column named "(.+?)"|Column named (\S+) does not'
)
# of damaged Parquet files; for others, DuckDB raises its base class alone
_UNREADABLE = "No magic bytes|Failed to read|Could not read enough|Parquet (file|metadata)"
_SHOWN_LINES = 6  # lines of DuckDB's message, which may go on to list functions


def table_names(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the names of all views and tables of a catalog, sorted."""
    return [name for (name,) in connection.execute("show tables").fetchall()]


def refusal(connection: duckdb.DuckDBPyConnection, query: str, error: duckdb.Error) -> InputError:
    """Return the error for SQL that DuckDB refuses, with the nearest names for unknown ones."""
    text = str(error)
    tables = table_names(connection)
    if found := re.search(r"Table with name (.+?) does not exist", text):
        return InputError(f"no table {plain(found[1])}.{did_you_mean(found[1], tables)}")
    if found := re.search(_UNKNOWN_COLUMN, text):
        name = next(filter(None, found.groups()))
        named = set(re.findall(r"\w+", query)) & set(tables) or set(tables)
        columns = connection.execute(
            "select distinct column_name from duckdb_columns() where list_contains(?, table_name)",
            [sorted(named)],
        ).fetchall()
        guess = did_you_mean(name, [column for (column,) in columns])
        return InputError(f"no column {plain(name)}.{guess}")
    if found := re.search(r'No files found that match the pattern "(.+?)"', text):
        return InputError(
            f"{plain(found[1])}: no such file, though the catalog names it. If the folder was "
            "moved, repeat the `clipaudit audit` (with its new --to) or `clipaudit run` that made "
            "it. If not, `clipaudit verify` lists what the store lacks."
        )
    if type(error) is duckdb.Error or re.search(_UNREADABLE, text):
        return InputError(
            f"a file of the catalog cannot be read ({plain(text.splitlines()[0])}). `clipaudit "
            "verify` names each damaged one, and how to make it again."
        )
    if "disabled by configuration" in text:
        [(catalog,)] = connection.execute(
            "select path from duckdb_databases() where path is not null"
        ).fetchall()
        return InputError(
            f"{plain(text.splitlines()[0])}\nOnly the tables of the run can be read here. To join "
            "them with other files, open the catalog in DuckDB: "
            f"duckdb -readonly {shlex.quote(catalog)}"
        )
    lines = text.splitlines()[:_SHOWN_LINES]
    return InputError("\n".join([*map(plain, lines), f"The catalog has: {', '.join(tables)}."]))
