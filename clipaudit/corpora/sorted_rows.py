"""Sorts external rows into the order of the samples, reading files once for all parts.

Rows are matched to samples by key, uid or URL, never by position, so a part's rows may be in any
file. Once they are sorted by sample, each part reads only its own rows.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import duckdb
import numpy as np
import pyarrow as pa
from jaxtyping import Int64

from clipaudit.corpora.joins import join_values
from clipaudit.errors import InputError, StoreError
from clipaudit.plaintext import plain

JoinOn = Literal["key", "uid", "url"]

# Yields the rows of a file, some at a time: the text `value`, and the columns if requested
RowsOf = Callable[[Path, bool], Iterator[pa.Table]]

MEMORY = "2GiB"  # of the join; the rest goes to a temporary folder. Memory, never results
MOST_BUCKETS = 200  # files that are open at once
LEAST_ROWS = 65_536  # of samples in a bucket, which is held whole: memory, never results
_DUCKDB: dict[str, str | bool | int | float | list[str]] = {  # reads what is registered alone
    "threads": 1,
    "enable_external_access": False,
    "python_enable_replacements": False,
    "memory_limit": MEMORY,
}
_VALUES = pa.schema([("value", pa.string()), ("file", pa.int32()), ("position", pa.int64())])
_WANTED = pa.schema([("value", pa.string()), ("shard", pa.int32()), ("row", pa.int32())])
_PLACED = """
create table placed as
select given.file, given.position, wanted.shard, wanted.row
from given
inner join wanted on wanted.value = given.value
order by given.file, given.position, wanted.shard, wanted.row
"""
_GIVEN_VALUES = """
select value, count(*) over () as n
from given
where value is not null
order by file, position
limit 1
"""


@dataclass(frozen=True)
class GivenFiles:
    """Files whose `column` holds the `join_on` of samples; `setting` is where they are named."""

    files: Sequence[Path]
    column: str
    join_on: JoinOn
    setting: str


def sorted_rows(
    samples: Iterable[pa.Table],
    given: GivenFiles,
    rows_of: RowsOf,
    columns: Mapping[str, pa.DataType],
) -> Iterator[pa.Table]:
    """Yield the rows of `given` that belong to the `samples` of all parts, by (shard, row).

    A table has shard, row, file (its place in `given`), `value` and `columns`. The rows of one
    sample are in one table, in the order of the files and of the rows in each.

    Each file is read twice: its values, then all. Memory holds MEMORY, the rows of LEAST_ROWS
    samples or of one in MOST_BUCKETS, and what `rows_of` holds. Raise InputError if no sample has a
    row, StoreError if the temporary folder is full.
    """
    schema = _bucket_schema(columns)
    with (
        TemporaryDirectory(prefix="clipaudit-rows-") as folder,
        duckdb.connect(config={**_DUCKDB, "temp_directory": folder}) as connection,
    ):
        connection.execute("set enable_progress_bar = false")  # it writes to stdout
        try:
            _fill(connection, "wanted", _WANTED, _wanted(samples, given.join_on))
            for number, path in enumerate(given.files):
                _fill(connection, "given", _VALUES, _values(rows_of(path, False), number))
            connection.execute(_PLACED)
            _refuse_strangers(connection, given)
            bucket_of = _bucket_of_shard(connection)
            with _Buckets(Path(folder), schema) as buckets:
                for number, path in enumerate(given.files):
                    query = "select * from placed where file = $file order by position"
                    places = connection.sql(query, params={"file": number}).to_arrow_table()
                    rows = rows_of(path, True)
                    for table in _placed(rows, places, schema) if len(places) else ():
                        buckets.add(table, bucket_of[table["shard"].to_numpy()])
        except duckdb.Error as error:
            raise StoreError(
                f"rows of {len(given.files)} files could not be sorted: {error}\nIf the temporary "
                "folder is full, point TMPDIR to a larger one."
            ) from error
        yield from buckets.tables()


def _bucket_schema(columns: Mapping[str, pa.DataType]) -> pa.Schema:
    places = [pa.field(name, pa.int32()) for name in ("shard", "row", "file")]
    # large: sorting joins the texts of a bucket in one array, and may exceed the 2 GiB of a string
    return pa.schema([*places, pa.field("value", pa.large_string()), *columns.items()])


def _wanted(samples: Iterable[pa.Table], join_on: JoinOn) -> Iterator[pa.Table]:
    """Yield the value that joins each sample, and its address."""
    for table in samples:
        columns = [join_values(table, join_on), table["shard"], table["row"]]
        yield pa.table(columns, names=_WANTED.names)


def _fill(
    connection: duckdb.DuckDBPyConnection, name: str, schema: pa.Schema, tables: Iterable[pa.Table]
) -> None:
    """Add tables to a table of the connection."""
    connection.register("added", schema.empty_table())
    connection.execute(f"create table if not exists {name} as from added")
    for table in tables:
        connection.register("added", table.select(schema.names).cast(schema))
        connection.execute(f"insert into {name} from added")


def _values(rows: Iterable[pa.Table], file: int) -> Iterator[pa.Table]:
    """Yield the values of a file's rows with their positions in it."""
    start = 0
    for table in rows:
        position = np.arange(start, start + len(table))
        number = np.full(len(table), file, np.int32)
        yield pa.table([table["value"], number, position], names=_VALUES.names)
        start += len(table)


def _refuse_strangers(connection: duckdb.DuckDBPyConnection, given: GivenFiles) -> None:
    (asked,) = connection.sql("select count(*), min(value) from wanted").fetchall()
    (found,) = connection.sql("select count(*) from placed").fetchall()
    if asked[0] and not found[0]:
        raise InputError(
            f"{given.files[0]}: {given.column} has the {given.join_on} of 0 of {asked[0]} samples, "
            f"first {plain(str(asked[1]))!r}. Name another `column` or `join_on` in "
            f"{given.setting}, or the files of this corpus: {_first_of(connection)}."
        )


def _first_of(connection: duckdb.DuckDBPyConnection) -> str:
    """Return the first value of the given files, in words."""
    for value, count in connection.sql(_GIVEN_VALUES).fetchall():
        return f"the first of their {count:,} values is {plain(value)!r}"
    return "they have no values"


def _bucket_of_shard(connection: duckdb.DuckDBPyConnection) -> Int64[np.ndarray, " shards"]:
    """Return the bucket of each shard, ascending: a shard's samples are all in one."""
    counted = connection.sql("select shard, count(*) as n from wanted group by shard").fetchnumpy()
    rows = np.zeros(int(counted["shard"].max(initial=-1)) + 1, np.int64)
    rows[counted["shard"]] = counted["n"]
    before = rows.cumsum() - rows
    return before // max(LEAST_ROWS, -(-int(rows.sum()) // MOST_BUCKETS))


def _placed(rows: Iterable[pa.Table], places: pa.Table, schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield the rows of a file at its `places`, which ascend by position, with their samples."""
    positions = places["position"].to_numpy()
    start = 0
    for table in rows:
        first, last = np.searchsorted(positions, [start, start + len(table)])
        own = places.slice(first, last - first)
        taken = table.take(pa.array(positions[first:last] - start))
        columns = {name: own[name] for name in ("shard", "row", "file")}
        columns |= {name: taken[name] for name in schema.names if name not in columns}
        yield pa.table(columns).cast(schema)
        start += len(table)


class _Buckets:
    """Rows of some shards together, each bucket a file of a folder."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        self.folder, self._schema = folder, schema
        self._open = ExitStack()
        self._writers: dict[int, pa.RecordBatchFileWriter] = {}

    def __enter__(self) -> "_Buckets":
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def add(self, rows: pa.Table, bucket: Int64[np.ndarray, " n"]) -> None:
        """Write each row to its bucket."""
        for number in np.unique(bucket).tolist():
            if number not in self._writers:
                writer = pa.ipc.new_file(self.folder / f"{number}.arrow", self._schema)
                self._writers[number] = self._open.enter_context(writer)
            self._writers[number].write_table(rows.filter(pa.array(bucket == number)))

    def tables(self) -> Iterator[pa.Table]:
        """Yield and remove each bucket: by (shard, row), ties in the order of adding."""
        for number in sorted(self._writers):
            path = self.folder / f"{number}.arrow"
            with pa.ipc.open_file(path) as file:
                rows = file.read_all()
            path.unlink()
            yield rows.sort_by([("shard", "ascending"), ("row", "ascending")])  # stable
