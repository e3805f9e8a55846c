"""Makes splits: corpora of some samples of another one, chosen by an SQL predicate.

Mayilvahanan et al., ICLR 2024, App. D: https://arxiv.org/abs/2310.09562, compare CelebA with and
without eyeglasses, Waterbirds by background and by group. A predicate sees one sample: the columns
of SAMPLES, of which `metadata` is the sample's JSON text, and nothing else. So a split does not
depend on how its corpus is cut into parts.
"""

from collections.abc import Iterable, Iterator

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clipaudit.corpora.addresses import sample_addresses
from clipaudit.corpora.samples import SAMPLES
from clipaudit.corpora.vectors import as_table
from clipaudit.errors import ConfigError, InputError

# one thread: the order of rows stays; nothing but the samples can be read
_DUCKDB: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "enable_external_access": False,
    "python_enable_replacements": False,
}

_LARGEST_LABEL = np.iinfo(np.int32).max


def select_samples(samples: pa.Table, *, name: str, where: str, label: str | None) -> pa.Table:
    """Return the SAMPLES of the split `name`: those for which `where` is true, in their order.

    A null predicate chooses nothing. With `label`, an SQL expression of whole numbers, its value is
    the label of each chosen sample. Raise ConfigError for an invalid expression, or one that reads
    anything but the sample, such as an aggregate, a subquery or `random()`; InputError for a label
    that is null, below 0 or too large for the column.
    """
    chosen = _evaluate(samples, name, "where", where, "boolean")
    rows = samples.filter(pc.fill_null(chosen, False))
    if label is None:
        return rows
    labels = _evaluate(rows, name, "label", label, "integer")
    numbers = labels.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)  # null is NaN
    wrong = np.flatnonzero(~((numbers >= 0) & (numbers <= _LARGEST_LABEL)))
    if len(wrong):
        shard, row = (rows[column][wrong[0]].as_py() for column in ("shard", "row"))
        raise InputError(
            f"split {name}: {len(wrong)} samples have no label from 0 to {_LARGEST_LABEL}, the "
            f"first is shard {shard}, row {row}, where `{label}` is {labels[wrong[0]].as_py()}. "
            "Leave such samples out by `where`, or correct `label`."
        )
    place = rows.column_names.index("label")
    return rows.set_column(place, SAMPLES.field("label"), labels.cast(pa.int32()))


def select_embeddings(
    batches: Iterable[pa.RecordBatch | pa.Table], samples: pa.Table
) -> Iterator[pa.Table]:
    """Yield the rows of EMBEDDINGS whose address is among those of `samples`, in their order.

    One batch is held at a time; a batch without such rows gives an empty table.
    """
    for batch in batches:
        yield select_rows(as_table(batch), samples)


def select_rows(table: pa.Table, samples: pa.Table) -> pa.Table:
    """Return the rows of a table whose address is among those of `samples`, in their order."""
    return table.filter(pa.array(np.isin(sample_addresses(table), sample_addresses(samples))))


def _evaluate(samples: pa.Table, name: str, key: str, expression: str, kind: str) -> pa.Array:
    """Return an SQL expression's value for every sample; `kind` is the type that it must have."""
    value = f"({expression}\n)"  # a comment ends with its line
    query = f"select {value} as value from samples"
    try:
        with duckdb.connect(config=_DUCKDB) as connection:
            connection.register("samples", samples)
            relation = connection.sql(_only_expression(connection, query))
            _check_one_sample(connection, value, f"split {name}: `{key}: {expression}`")
            found = relation.to_arrow_table()
    except duckdb.Error as error:
        raise ConfigError(
            f"split {name}: `{key}: {expression}` is not understood: {error}\nIt may use the "
            f"columns of a sample: {', '.join(samples.column_names)}."
        ) from error
    if found.shape != (len(samples), 1):
        raise ConfigError(
            f"split {name}: `{key}: {expression}` gives {found.num_columns} columns of "
            f"{found.num_rows} values, but one column of {len(samples)} values, one for each "
            "sample, is needed: name the columns that it compares"
        )
    values = found.column(0).combine_chunks()
    if kind == "boolean" and pa.types.is_boolean(values.type):
        return values
    if kind == "integer" and pa.types.is_integer(values.type):
        return values
    raise ConfigError(
        f"split {name}: `{key}: {expression}` gives values of type {values.type}, but {kind}s are "
        "needed: compare or cast them"
    )


def _check_one_sample(connection: duckdb.DuckDBPyConnection, value: str, place: str) -> None:
    """Raise ConfigError if a valid expression reads other samples, or varies between runs.

    DuckDB allows no aggregate, window function or `unnest` in `where`, and no subquery or volatile
    function in `try`. It checks this before it reads a sample.
    """
    try:
        connection.sql(f"select true from samples where try({value}) is null")
    except duckdb.Error as error:
        raise ConfigError(
            f"{place} must read one sample and give the same value each time: {error}\nUse no "
            "aggregate, window function, subquery or random function. Compute such values into the "
            "metadata of the samples."
        ) from error


def _only_expression(connection: duckdb.DuckDBPyConnection, query: str) -> duckdb.Statement:
    """Return the query as one statement, so that an expression cannot add a second one."""
    statements = connection.extract_statements(query)
    if len(statements) != 1:
        raise duckdb.ParserException(f"{len(statements)} statements, one expression is needed")
    return statements[0]
