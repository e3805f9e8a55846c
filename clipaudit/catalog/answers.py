"""Answer typed questions to the catalog: read-only SQL, and the meanings of columns."""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import click
import duckdb

from clipaudit.catalog.answer_forms import (
    SHOWN_ROWS,
    as_csv,
    as_json,
    as_json_lines,
    as_markdown,
    as_table,
)
from clipaudit.catalog.refusals import refusal, table_names
from clipaudit.catalog.scores import free_name
from clipaudit.catalog.sqltext import identifier, literal
from clipaudit.errors import InputError, StoreError
from clipaudit.plaintext import plain
from clipaudit.store.outputs import replaced
from clipaudit.store.store import Store
from clipaudit.suggestions import did_you_mean

RECORDS = "records"  # the view of lineage records, made on demand
BATCH_ROWS = 10_000  # held in memory where the form allows it
_READING = {"SELECT", "MULTI", "EXPLAIN"}  # kinds of statements; MULTI: a pivot
_ZONED = re.compile(r"\bTIME\w* WITH TIME ZONE\b")
_NOT_IN_PARQUET = re.compile(r"\b(UHUGEINT|BIGNUM|BIT|INTERVAL|UNION)\b")  # or not by their values

Answer = TypeVar("Answer")


def write_answers(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    form: str,
    output: Path | None = None,
    store: Path | None = None,
) -> None:
    """Write the rows of a query's statements, one statement after the other.

    `form` is table, csv, json, jsonl, markdown, or parquet, which needs a file. In JSON and Parquet
    the second of two columns `shard` is `shard_2`. A file is written whole or not at all, and holds
    one answer. With a `store` the view `records` is made on demand.
    Raises InputError for invalid SQL, for unknown names, and for statements that do more than read.
    """
    try:
        statements = connection.extract_statements(query)
        for statement in statements:
            _require_reading(statement)
        if output is not None and len(statements) != 1:
            raise InputError(f"{output}: {len(statements)} statements; a file holds one answer.")
        for statement in statements:
            if form == "parquet" and output is not None:
                _write_parquet(_asked(connection.sql, connection, statement, store), output)
            else:
                answer = _asked(connection.execute, connection, statement, store)
                _write(_zoned_as_text(answer, statement), form, output)
    except duckdb.Error as error:
        raise refusal(connection.cursor(), query, error) from error


def _asked(
    ask: Callable[[duckdb.Statement], Answer],
    connection: duckdb.DuckDBPyConnection,
    statement: duckdb.Statement,
    store: Path | None,
) -> Answer:
    try:
        return ask(statement)
    except duckdb.CatalogException as error:
        if store is None or f"Table with name {RECORDS} does not exist" not in str(error):
            raise
        _make_records(connection, store)
        return ask(statement)


def _zoned_as_text(
    answer: duckdb.DuckDBPyConnection, statement: duckdb.Statement
) -> duckdb.DuckDBPyConnection:
    """Return the answer with its times with a zone as text: as values, DuckDB needs pytz."""
    kinds = [(name, str(kind)) for name, kind, *_ in answer.description or ()]
    texts = [_ZONED.sub("VARCHAR", kind) for _, kind in kinds]
    if texts == [kind for _, kind in kinds]:
        return answer
    columns = [
        f"#{place}{'' if text == kind else f'::{text}'} as {identifier(name)}"
        for place, ((name, kind), text) in enumerate(zip(kinds, texts, strict=True), start=1)
    ]
    return answer.execute(answer.sql(statement).project(", ".join(columns)).sql_query())


def _make_records(connection: duckdb.DuckDBPyConnection, store: Path) -> None:
    from clipaudit.store.packing import register_records

    if not (store / "lineage").is_dir():
        raise StoreError(f"{store}: no store with lineage records. Name the store with --store.")
    register_records(connection, Store(store))


_TABLES = (
    "select view_name as name, coalesce(comment, '') as row_is from duckdb_views() where not "
    "internal union all select table_name, coalesce(comment, '') from duckdb_tables() where not "
    "internal order by name"
)
_COLUMNS = (
    "select column_name as name, lower(data_type) as type, coalesce(comment, '') as meaning "
    "from duckdb_columns() where not internal and table_name = {} order by column_index"
)


def list_tables(connection: duckdb.DuckDBPyConnection, form: str = "table") -> None:
    """Print the views of a catalog with the meaning of a row; other forms as `write_answers`."""
    if form != "table":
        write_answers(connection, _TABLES, form)
        return
    rows = connection.execute(_TABLES).fetchall()
    width = max((len(name) for name, _ in rows), default=0)
    for name, comment in rows:
        click.echo(f"{plain(name):<{width}}  {plain(comment)}".rstrip())


def describe_view(
    connection: duckdb.DuckDBPyConnection,
    view: str,
    store: Path | None = None,
    form: str = "table",
) -> None:
    """Print the columns of a view, their types and meanings; raises InputError for no such view.

    Forms other than a table are as in `write_answers`.
    """
    name = view.strip('"')
    if name == RECORDS and store is not None:
        _make_records(connection, store)
    query = _COLUMNS.format(literal(name))
    rows = connection.execute(query).fetchall()
    if not rows:
        raise InputError(f"no table {plain(name)}.{did_you_mean(name, table_names(connection))}")
    if form != "table":
        write_answers(connection, query, form)
        return
    width = max(len(column) for column, _, _ in rows)
    for column, kind, comment in rows:
        click.echo(f"{plain(column):<{width}}  {kind:<9}  {plain(comment)}".rstrip())


def _require_reading(statement: duckdb.Statement) -> None:
    """Refuse a statement that might write, for example into the readable store."""
    kind = statement.type.name
    runs = kind == "EXPLAIN" and re.search(r"\banaly[sz]e\b", statement.query, re.IGNORECASE)
    if kind not in _READING or runs:
        words = statement.query.split()
        raise InputError(
            f"{plain(' '.join(words[:6]))} ...: only queries are allowed, no statement that "
            "writes or changes settings. To write an answer to a file, use --output FILE."
        )


def _write(answer: duckdb.DuckDBPyConnection, form: str, output: Path | None) -> None:
    if output is None:
        for piece in _pieces(answer, form, terminal=sys.stdout.isatty()):
            click.echo(piece, nl=False)
    else:
        with _whole(output) as path, path.open("w", encoding="utf-8") as file:
            file.writelines(_pieces(answer, form, terminal=False))


def _pieces(answer: duckdb.DuckDBPyConnection, form: str, *, terminal: bool) -> Iterator[str]:
    columns = [column[0] for column in answer.description or ()]
    if form == "table" and terminal:
        rows = answer.fetchmany(SHOWN_ROWS + 1)
        answer.abort()
        return as_table(columns, rows, terminal=True)
    if form == "table":
        return as_table(columns, answer.fetchall(), terminal=False)
    if form == "markdown":
        return as_markdown(columns, answer.fetchall())
    batches = iter(lambda: answer.fetchmany(BATCH_ROWS), [])
    if form == "csv":
        return as_csv(columns, batches)
    return {"json": as_json, "jsonl": as_json_lines}[form](_distinct(columns), batches)


def _distinct(columns: Sequence[str]) -> list[str]:
    """Return the names of columns, with numbers after repeated ones: an object keeps only one."""
    taken: set[str] = set()
    return [free_name(column, taken) for column in columns]


def _write_parquet(answer: duckdb.DuckDBPyRelation, output: Path) -> None:
    """Write an answer through Arrow, since DuckDB may not write files here."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name, kind in zip(answer.columns, answer.types, strict=True):
        if _NOT_IN_PARQUET.search(re.sub(r"\"[^\"]*\"|'[^']*'", "", str(kind))):
            raise InputError(
                f"{output}: Parquet cannot hold column {plain(name)}, of type {plain(str(kind))}. "
                "Cast it to text with ::varchar."
            )
    batches = answer.to_arrow_reader(BATCH_ROWS)
    names = _distinct(batches.schema.names)
    schema = batches.schema.empty_table().rename_columns(names).schema
    with _whole(output) as path, pq.ParquetWriter(path, schema) as writer:
        for batch in batches:
            try:
                batch.validate(full=True)
            except pa.ArrowInvalid as error:
                raise InputError(
                    f"{output}: Parquet cannot hold integers of more than 38 digits. "
                    "Cast them to text with ::varchar."
                ) from error
            writer.write_batch(batch.rename_columns(names))


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """Yield a temporary path that replaces `path` on success."""
    try:
        with replaced(path) as spare:
            yield spare
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}.") from error
