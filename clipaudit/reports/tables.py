"""Report tables: one SQL file each, over named views of stored tables.

The files stand in `sql/`, one per table, named as the table is; their first comment gives the
grain and the views and parameters that they read. The numbers that the papers print, typed by
hand, stand in `published/` under the same names.
"""

import csv
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from clipaudit.actions import LabelledFile
from clipaudit.errors import StepError, StoreError
from clipaudit.reports.intervals import register_intervals

# One thread: a table's bytes must not depend on how work was split. Nothing but the views can be
# read: no file, no extension, no Python variable that happens to bear a view's name.
_DUCKDB: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "enable_external_access": False,
    "python_enable_replacements": False,
}

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
    as further string columns. Equal content gives an equal table, row order included, whatever
    the order of the files. The SQL reads nothing but its views. Parameters that it does not name
    are left out, so that related tables can share theirs.

    Raises StepError where a view is given wrongly (no file, a label that is a column already),
    StoreError where a file cannot be read or does not have what the SQL asks for.
    """
    query = files("clipaudit.reports").joinpath("sql", f"{sql}.sql").read_text("utf-8")
    with duckdb.connect(config=_DUCKDB) as connection:
        register_intervals(connection)
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


def published_values(sql: str) -> pa.Table:
    """Return the paper's own numbers of the table `sql`, PUBLISHED_SCHEMA; no rows if none exist.

    Numbers are as printed: an accuracy of 62.94 % has the measure `accuracy_percent` and the
    value 62.94.

    >>> published_values("similarity_table1").slice(1, 1).to_pylist()
    [{'row': 'OpenAI', 'testset': 'ImageNet-Val', 'measure': 'accuracy_percent', 'value': 63.38}]
    """
    path = files("clipaudit.reports").joinpath("published", f"{sql}.csv")
    if not path.is_file():
        return PUBLISHED_SCHEMA.empty_table()
    # Not a data-frame reader: those take words such as NA for missing values.
    lines = csv.DictReader(path.read_text("utf-8").splitlines())
    rows = [{**line, "value": float(line["value"])} for line in lines]
    return pa.Table.from_pylist(rows, schema=PUBLISHED_SCHEMA)


def _register(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    source: pa.Table | Sequence[LabelledFile],
) -> None:
    """Make `source` readable as `name`.

    Paths and labels reach DuckDB as Arrow objects, never as SQL text, so that no character in
    them means anything.
    """
    if isinstance(source, pa.Table):
        connection.register(name, source)
        return
    if not source:
        raise StepError(
            f"The view `{name}` has no file, so its columns are unknown. "
            "Give an empty Arrow table that has them."
        )
    groups: dict[tuple[tuple[str, str], ...], list[Path]] = {}
    for file in source:
        groups.setdefault(tuple(sorted(file.labels.items())), []).append(file.path)
    branches = []
    for number, (labels, paths) in enumerate(sorted(groups.items())):
        schema = _common_schema(name, paths, dict(labels))
        dataset = ds.dataset(sorted(map(str, paths)), schema=schema, format="parquet")
        connection.register(f"{name}_files_{number}", dataset)
        branch = f'select * from "{name}_files_{number}"'
        if labels:
            row = pa.table({label: [value] for label, value in labels})
            connection.register(f"{name}_labels_{number}", row)
            branch += f' cross join "{name}_labels_{number}"'
        branches.append(branch)
    connection.execute(f'create view "{name}" as {" union all by name ".join(branches)}')


def _common_schema(name: str, paths: Sequence[Path], labels: Mapping[str, str]) -> pa.Schema:
    """Return the union of the files' columns, by name; refuse columns that a label would shadow."""
    schemas = []
    for path in paths:
        try:
            schema = pq.read_schema(path)
        except (OSError, pa.ArrowInvalid) as error:
            raise StoreError(
                f"{path}: not readable as a Parquet table of the view `{name}` ({error}). "
                "Run `clipaudit verify` to see what is missing or altered."
            ) from error
        if taken := sorted(set(labels) & set(schema.names)):
            raise StepError(
                f"{path}: has the column {taken[0]!r} already, so it cannot be a label "
                f"({labels[taken[0]]!r}) of the view `{name}`. Choose another name for the label."
            )
        schemas.append(schema.remove_metadata())
    try:
        return pa.unify_schemas(schemas)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise StoreError(
            f"The files of the view `{name}` do not fit together ({error}). "
            f"The first is {paths[0]}. Were they written by different versions of clipaudit?"
        ) from error
