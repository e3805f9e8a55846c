"""Compute report tables: one SQL file each, over named views of stored tables.

The files are in an audit's `reports/sql/`, named after the table, or after the first of several
that share a form. Their first comment gives the grain, and the views and parameters that they read.
The papers' numbers, typed by hand, are in `reports/published/` under the tables' names. The columns
of views that may have no file are in `<audit>_empty_views.sql`.
"""

import csv
from collections.abc import Mapping, Sequence

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow.fs import LocalFileSystem

from clipaudit.catalog.sqltext import identifier
from clipaudit.errors import StepError, StoreError
from clipaudit.reports.fits import register_fits
from clipaudit.reports.intervals import register_intervals
from clipaudit.reports.over_seeds import register_over_seeds
from clipaudit.reports.words import register_words
from clipaudit.steps.reportfiles import report_file
from clipaudit.store.actions import LabelledFile

# One thread: a table's bytes must not depend on how work is split. SQL can read only the views: no
# file, no extension, no Python variable that happens to have a view's name.
_DUCKDB: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "enable_external_access": False,
    "python_enable_replacements": False,
}

# DuckDB does not know the views' lengths and would guess. Joins run as written: the left side
# streams, the right side is held in memory.
_JOINS_AS_WRITTEN = "set disabled_optimizers = 'join_order,build_side_probe_side'"

# The papers call one data set by several names: published rows are found by either.
_MACROS = """
create macro paper_name(title) as
    replace(replace(title, 'LAION-', 'L-'), 'ImageNet-Train', 'IN-Train');
"""

PUBLISHED_SCHEMA = pa.schema(
    [
        pa.field("row", pa.string(), nullable=False),  # a data set's or corpus's title, or ""
        pa.field("testset", pa.string(), nullable=False),  # a test set's title, or ""
        pa.field("measure", pa.string(), nullable=False),
        pa.field("value", pa.float64(), nullable=False),  # as printed: percent stays percent
    ]
)


def report_table(
    sql: str,
    views: Mapping[str, pa.Table | Sequence[LabelledFile]],
    parameters: Mapping[str, object],
) -> pa.Table:
    """Return the table that `sql/<sql>.sql` gives over `views`, with its `$parameters`.

    A view given as files is the union, by column name, of their rows, each with its file's labels
    as further string columns, null if it has no such label. Equal content gives an equal table,
    including the row order, for any order of the files. The SQL reads only its views. Joins run as
    written, with the right side held in memory. Parameters that the SQL does not name are ignored,
    so that related tables can share theirs.

    Besides DuckDB's own functions the SQL has those of `intervals`, `over_seeds`, `fits` and
    `words`, and `paper_name`.

    Raises StepError for an invalid view: one with a label that is already a column, or without
    files, unless it may be empty, such as `predictions` when no model is trained. Raises StoreError
    if a file cannot be read or lacks what the SQL asks for.
    """
    query = report_file("sql", f"{sql}.sql").read_text("utf-8")
    with duckdb.connect(config=_DUCKDB) as connection:
        connection.execute(_JOINS_AS_WRITTEN)
        connection.execute(_MACROS)
        register_intervals(connection)
        register_over_seeds(connection)
        register_fits(connection)
        register_words(connection)
        connection.execute("create schema empty; use empty")
        empty_views = report_file("sql", f"{sql.partition('_')[0]}_empty_views.sql")
        if empty_views.is_file():
            connection.execute(empty_views.read_text("utf-8"))
        connection.execute("use main")
        try:
            for name, source in views.items():
                _register(connection, name, source)
            (statement,) = connection.extract_statements(query)
            named = {
                name: parameters[name] for name in statement.named_parameters & parameters.keys()
            }
            answer = connection.sql(statement, params=named).to_arrow_table()
        except duckdb.Error as error:
            raise StoreError(
                f"{sql}.sql: {error}\nThe tables or parameters given to this query are not the "
                "ones it was written for, or a stored file is damaged: run `clipaudit verify`."
            ) from error
    return answer.combine_chunks()


def published_values(table: str) -> pa.Table:
    """Return the paper's numbers for a table, PUBLISHED_SCHEMA; no rows if none exist.

    Numbers are as printed: an accuracy of 62.94 % has the measure `accuracy_percent` and the
    value 62.94.

    >>> published_values("similarity_table1").slice(1, 1).to_pylist()
    [{'row': 'OpenAI', 'testset': 'ImageNet-Val', 'measure': 'accuracy_percent', 'value': 63.38}]
    """
    path = report_file("published", f"{table}.csv")
    if not path.is_file():
        return PUBLISHED_SCHEMA.empty_table()
    # not a data-frame reader, which takes words such as NA for missing values
    lines = csv.DictReader(path.read_text("utf-8").splitlines())
    rows = [{**line, "value": float(line["value"])} for line in lines]
    return pa.Table.from_pylist(rows, schema=PUBLISHED_SCHEMA)


def _register(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    source: pa.Table | Sequence[LabelledFile],
) -> None:
    """Make `source` readable as `name`.

    Paths and labels reach DuckDB as Arrow objects, never as SQL text, so no character in them needs
    escaping. A filter on a label skips whole files.
    """
    if isinstance(source, pa.Table) and source.num_columns:
        connection.register(name, source)
    elif source:
        connection.register(name, _labelled_dataset(name, source))
    else:
        try:
            connection.execute(f"create view {identifier(name)} as from empty.{identifier(name)}")
        except duckdb.CatalogException as error:
            raise StepError(
                f"The view `{name}` has no file, so its columns are unknown. "
                "Give an empty Arrow table that has them."
            ) from error


def _labelled_dataset(name: str, files: Sequence[LabelledFile]) -> ds.Dataset:
    """Return the rows of all files, with the files' labels as columns."""
    schemas = [_file_schema(name, file) for file in files]
    labels = sorted({label for file in files for label in file.labels})
    try:
        schema = pa.unify_schemas(schemas)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise StoreError(
            f"The files of the view `{name}` do not fit together ({error}). "
            f"The first is {files[0].path}. Were they written by different versions of clipaudit?"
        ) from error
    for label in labels:
        if label in schema.names:
            raise StepError(
                f"{label!r} is a label of some files of the view `{name}` and a column of others. "
                "Choose another name for the label."
            )
        schema = schema.append(pa.field(label, pa.string()))
    parquet, local = ds.ParquetFileFormat(), LocalFileSystem()
    fragments = [
        parquet.make_fragment(str(file.path), local, partition_expression=_where(file.labels))
        for file in sorted(files, key=lambda file: (sorted(file.labels.items()), str(file.path)))
    ]
    return ds.FileSystemDataset(fragments, schema, parquet, local)


def _where(labels: Mapping[str, str]) -> ds.Expression:
    """Return the condition that all rows of a file satisfy: its labels."""
    condition = ds.scalar(True)
    for label, value in labels.items():
        condition = condition & (ds.field(label) == value)
    return condition


def _file_schema(name: str, file: LabelledFile) -> pa.Schema:
    """Return the columns of a file; refuse a column that a label would shadow."""
    try:
        schema = pq.read_schema(file.path)
    except (OSError, pa.ArrowInvalid) as error:
        raise StoreError(
            f"{file.path}: not readable as a Parquet table of the view `{name}` ({error}). "
            "Run `clipaudit verify` to see what is missing or altered."
        ) from error
    if taken := sorted(set(file.labels) & set(schema.names)):
        raise StepError(
            f"{file.path}: already has the column {taken[0]!r}, so it cannot be a label "
            f"({file.labels[taken[0]]!r}) of the view `{name}`. "
            "Choose another name for the label."
        )
    return schema.remove_metadata()
