"""Objects that others found, in the order of the samples: files are read once for all parts.

Rows are matched to samples by key, uid or URL, never by position, so a part's rows may stand in any
file. Sorted by sample, each part then reads its own rows alone.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, Literal

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Int64

from clipaudit.corpora.addresses import sample_addresses
from clipaudit.corpora.joins import join_values
from clipaudit.corpora.listing import open_parquet
from clipaudit.corpora.statements import shown_value
from clipaudit.errors import InputError, StoreError
from clipaudit.plaindata import Row
from clipaudit.plaintext import plain

JoinOn = Literal["key", "uid", "url"]

LISTS = {
    "labels": pa.list_(pa.int64()),
    "names": pa.list_(pa.string()),
    "scores": pa.list_(pa.float64()),
    "boxes": pa.list_(pa.list_(pa.float64())),  # left, top, width, height
}
# One row per sample that the files have a row of, by (shard, row); the lists are equally long.
SORTED_OBJECTS = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        *(pa.field(name, form) for name, form in LISTS.items()),  # null: the file has none
    ]
)

MEMORY = "2GiB"  # of the join; what is more goes to a temporary folder. Memory, never results
MOST_BUCKETS = 200  # files that are open at once
LEAST_ROWS = 65_536  # of samples in a bucket, which is held whole: memory, never results
_DUCKDB: dict[str, str | bool | int | float | list[str]] = {  # reads what is registered alone
    "threads": 1,
    "enable_external_access": False,
    "python_enable_replacements": False,
    "memory_limit": MEMORY,
}
_ROWS_AT_ONCE = 16_384
_VALUES = pa.schema([("value", pa.string()), ("file", pa.int32()), ("position", pa.int64())])
_WANTED = pa.schema([("value", pa.string()), ("shard", pa.int32()), ("row", pa.int32())])
_PLACED = """
create table placed as
select given.file, given.position, wanted.shard, wanted.row
from given
inner join wanted on wanted.value = given.value
order by given.file, given.position, wanted.shard, wanted.row
"""


def sort_objects(
    samples: Iterable[pa.Table], files: Sequence[Path], *, column: str, join_on: JoinOn
) -> Iterator[pa.Table]:
    """Yield the SORTED_OBJECTS that `files` give of the `samples` of all parts, together.

    A Parquet file has a row an image: `column`, `labels` (whole numbers) and, where there are any,
    `names`, `scores` and `boxes` (left, top, width, height), lists as long as the labels. A COCO
    JSON (`.json`) has `images` with the field `column`, `annotations` and `categories`; joined on
    key, the field counts without folders and extension. Rows that repeat are one.

    Each file is read twice: its `column`, then all. Held are MEMORY, the objects of LEAST_ROWS
    samples or of one in MOST_BUCKETS, and what one JSON takes. Raise InputError for a file that
    cannot be read or lacks a column, where no sample has a row, and for two rows of an image that
    differ; StoreError where the temporary folder has no room.
    """
    with (
        TemporaryDirectory(prefix="clipaudit-objects-") as folder,
        duckdb.connect(config={**_DUCKDB, "temp_directory": folder}) as connection,
    ):
        connection.execute("set enable_progress_bar = false")  # it writes to stdout
        try:
            _fill(connection, "wanted", _WANTED, _wanted(samples, join_on))
            for number, path in enumerate(files):
                values = _values(_rows_of(path, column, join_on, lists=False), number)
                _fill(connection, "given", _VALUES, values)
            connection.execute(_PLACED)
            _refuse_strangers(connection, files[0], column, join_on)
            bucket_of = _bucket_of_shard(connection)
            with _Buckets(Path(folder)) as buckets:
                for number, path in enumerate(files):
                    query = "select * from placed where file = $file order by position"
                    places = connection.sql(query, params={"file": number}).to_arrow_table()
                    rows = _rows_of(path, column, join_on, lists=True)
                    for table in _placed(rows, places) if len(places) else ():
                        buckets.add(table, bucket_of[table["shard"].to_numpy()])
        except duckdb.Error as error:
            raise StoreError(
                f"objects of {len(files)} files could not be sorted: {error}\nIf the temporary "
                "folder is full, point TMPDIR to a larger one."
            ) from error
        for table in buckets.tables():
            yield _each_once(table, files, column)


def _wanted(samples: Iterable[pa.Table], join_on: JoinOn) -> Iterator[pa.Table]:
    """Yield what each sample is joined by, and its address."""
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


def _refuse_strangers(
    connection: duckdb.DuckDBPyConnection, path: Path, column: str, join_on: JoinOn
) -> None:
    (asked,) = connection.sql("select count(*), min(value) from wanted").fetchall()
    (found,) = connection.sql("select count(*) from placed").fetchall()
    if asked[0] and not found[0]:
        raise InputError(
            f"{path}: {column} has the {join_on} of 0 of {asked[0]} samples, first "
            f"{plain(str(asked[1]))!r}. Name another `column` or `join_on` in "
            "memorization.objects.given, or the files of this corpus."
        )


def _bucket_of_shard(connection: duckdb.DuckDBPyConnection) -> Int64[np.ndarray, " shards"]:
    """Return the bucket of each shard, ascending: a shard's samples are all in one."""
    counted = connection.sql("select shard, count(*) as n from wanted group by shard").fetchnumpy()
    rows = np.zeros(int(counted["shard"].max(initial=-1)) + 1, np.int64)
    rows[counted["shard"]] = counted["n"]
    before = rows.cumsum() - rows
    return before // max(LEAST_ROWS, -(-int(rows.sum()) // MOST_BUCKETS))


def _placed(rows: Iterable[pa.Table], places: pa.Table) -> Iterator[pa.Table]:
    """Yield the rows of a file at its `places`, which ascend by position, with their samples."""
    positions = places["position"].to_numpy()
    start = 0
    for table in rows:
        first, last = np.searchsorted(positions, [start, start + len(table)])
        own = places.slice(first, last - first)
        taken = table.take(pa.array(positions[first:last] - start))
        columns = {name: own[name] for name in ("shard", "row", "file")}
        columns |= {name: taken[name] for name in ("value", *LISTS)}
        yield pa.table(columns, schema=_IN_BUCKETS)
        start += len(table)


_IN_BUCKETS = pa.schema(
    [
        *(pa.field(name, pa.int32()) for name in ("shard", "row", "file")),
        pa.field("value", pa.string()),
        *(pa.field(name, form) for name, form in LISTS.items()),
    ]
)


class _Buckets:
    """Rows of some shards together, each bucket a file of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
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
                writer = pa.ipc.new_file(self.folder / f"{number}.arrow", _IN_BUCKETS)
                self._writers[number] = self._open.enter_context(writer)
            self._writers[number].write_table(rows.filter(pa.array(bucket == number)))

    def tables(self) -> Iterator[pa.Table]:
        """Yield each bucket's rows, by (shard, row, file); they are gone then."""
        for number in sorted(self._writers):
            path = self.folder / f"{number}.arrow"
            with pa.ipc.open_file(path) as file:
                rows = file.read_all()
            path.unlink()
            yield rows.sort_by([(name, "ascending") for name in ("shard", "row", "file")])


def _each_once(rows: pa.Table, files: Sequence[Path], column: str) -> pa.Table:
    """Return the SORTED_OBJECTS of sorted rows, of those of one sample the first; refuse others."""
    _refuse_lengths(rows, files, column)
    repeated = np.diff(sample_addresses(rows), prepend=-1) == 0
    for at in np.flatnonzero(repeated).tolist():
        _refuse_difference(_row(rows, at - 1), _row(rows, at), files, column)
    kept = rows.filter(pa.array(~repeated))
    return kept.select(SORTED_OBJECTS.names).cast(SORTED_OBJECTS)


def _row(table: pa.Table, at: int) -> Row:
    (found,) = table.slice(at, 1).to_pylist()
    return found  # type: ignore[no-any-return]


def _refuse_lengths(table: pa.Table, files: Sequence[Path], column: str) -> None:
    lengths = [pc.list_value_length(table[name]) for name in LISTS]
    least, most = pc.min_element_wise(*lengths), pc.max_element_wise(*lengths)  # nulls left out
    differs = pc.not_equal(least, most).fill_null(False).to_numpy()
    if differs.any():
        row = _row(table, int(differs.argmax()))
        sizes = ", ".join(f"{len(row[name])} {name}" for name in LISTS if row[name] is not None)
        raise InputError(
            f"{files[row['file']]}: {column} {plain(row['value'])!r} has {sizes}. Give lists of "
            "one length."
        )


def _refuse_difference(one: Row, other: Row, files: Sequence[Path], column: str) -> None:
    if any(one[name] != other[name] for name in LISTS):
        counts = [len(row["labels"] or ()) for row in (one, other)]
        raise InputError(
            f"{files[other['file']]}: a row of {column} {plain(other['value'])!r} gives "
            f"{counts[1]} objects, and one in {files[one['file']]} gives {counts[0]} that are not "
            "the same. Remove one of them."
        )


def _rows_of(path: Path, column: str, join_on: JoinOn, *, lists: bool) -> Iterator[pa.Table]:
    """Yield the rows of a file, some thousands at a time: `value`, and LISTS where asked for."""
    if path.suffix == ".json":
        return _of_coco(path, column, join_on)
    return _of_parquet(path, column, lists=lists)


def _of_parquet(path: Path, column: str, *, lists: bool) -> Iterator[pa.Table]:
    with open_parquet(path) as file:
        has = file.schema_arrow
        for name in (column, "labels"):
            if name not in has.names:
                raise _no_column(path, name, has.names)
        read = [name for name in LISTS if lists and name in has.names]
        labels = has.field("labels").type
        if not (_is_list(labels) and pa.types.is_integer(labels.value_type)):
            raise InputError(
                f"{path}: labels is {labels}, not lists of whole numbers. Give each object's "
                "category by its number in `labels`, and its name in `names`."
            )
        for batch in file.iter_batches(_ROWS_AT_ONCE, columns=list({column, *read})):
            try:
                found = {"value": batch[column].cast(pa.string())}
                found |= {name: batch[name].cast(LISTS[name]) for name in read}
            except pa.ArrowException as error:
                forms = ", ".join(f"{name} ({has.field(name).type})" for name in [column, *read])
                raise InputError(
                    f"{path}: {forms}: {error}. Give names as lists of text, scores as lists of "
                    "numbers, boxes as lists of four numbers each."
                ) from error
            none = {name: pa.nulls(len(batch), form) for name, form in LISTS.items()}
            yield pa.table(none | found)


def _is_list(form: pa.DataType) -> bool:
    kinds = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(is_kind(form) for is_kind in kinds)


def _of_coco(path: Path, column: str, join_on: JoinOn) -> Iterator[pa.Table]:
    """Yield the values of a field of the images, each with its annotations."""
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read as JSON: {error}. Write it anew.") from error
    images, annotations, categories = (
        _list_of(document, name, path) for name in ("images", "annotations", "categories")
    )
    named = {each.get("id"): each.get("name") for each in categories}
    objects: dict[Any, list[Any]] = {image.get("id"): [] for image in images}
    for each in annotations:
        if each.get("image_id") not in objects:
            raise InputError(
                f"{path}: an annotation of image_id {shown_value(each.get('image_id'))}, which is "
                "the id of no image. Add the image, or remove the annotation."
            )
        name = named.get(each.get("category_id"))
        label, score, box = (each.get(field) for field in ("category_id", "score", "bbox"))
        found = {"labels": label, "names": name, "scores": score, "boxes": box}
        objects[each["image_id"]].append(found)
    for start in range(0, len(images), _ROWS_AT_ONCE):
        block = images[start : start + _ROWS_AT_ONCE]
        for image in block:
            if image.get(column) is None:
                raise _no_column(path, column, list(image))
        values = [str(image[column]) for image in block]
        if join_on == "key":
            values = [PurePosixPath(value).stem for value in values]
        own = [objects[image.get("id")] for image in block]
        try:
            lists = {
                name: pa.array([[each[name] for each in some] for some in own], form)
                for name, form in LISTS.items()
            }
        except (pa.ArrowException, TypeError) as error:
            raise InputError(
                f"{path}: annotations: {error}. A category_id is a whole number, a category's name "
                "a text, a score a number, a bbox four numbers."
            ) from error
        yield pa.table({"value": pa.array(values, pa.string()), **lists})


def _list_of(document: Any, name: str, path: Path) -> list[dict[str, Any]]:  # noqa: ANN401
    found = document.get(name) if isinstance(document, dict) else None
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise InputError(
            f"{path}: {name} is no list of objects. Write images, annotations and categories as "
            "COCO's instances have them."
        )
    return found


def _no_column(path: Path, name: str, has: Sequence[str]) -> InputError:
    return InputError(
        f"{path}: no column {name!r}, but {', '.join(map(plain, has))}. Name the column of keys, "
        "uids or URLs in memorization.objects.given; objects are in labels, names, scores, boxes."
    )
