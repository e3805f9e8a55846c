"""Sort objects found elsewhere into the order of the samples, reading files once for all parts."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clipaudit.corpora.addresses import sample_addresses
from clipaudit.corpora.listing import open_parquet
from clipaudit.corpora.sorted_rows import GivenFiles, JoinOn, sorted_rows
from clipaudit.corpora.statements import is_finite, is_text, shown_value
from clipaudit.errors import InputError
from clipaudit.plaindata import Row
from clipaudit.plaintext import plain

LISTS = {
    "labels": pa.list_(pa.int64()),
    "names": pa.list_(pa.string()),
    "scores": pa.list_(pa.float64()),
    "boxes": pa.list_(pa.list_(pa.float64())),  # left, top, width, height
}
# One row per sample with a row in the files, by (shard, row); the lists are equally long.
SORTED_OBJECTS = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        *(pa.field(name, form) for name, form in LISTS.items()),  # null: the file has none
    ]
)

_Id = int | float | str  # of an image or a category in COCO JSON
_ROWS_AT_ONCE = 16_384


def sort_objects(
    samples: Iterable[pa.Table], files: Sequence[Path], *, column: str, join_on: JoinOn
) -> Iterator[pa.Table]:
    """Yield the SORTED_OBJECTS in `files` of the `samples` of all parts together.

    A Parquet file has one row per image: `column`, `labels` (whole numbers) and perhaps `names`,
    `scores` and `boxes` (left, top, width, height), lists as long as the labels. A COCO JSON
    (`.json`) has `images` with the field `column`, `annotations` and `categories`; joined on key,
    the field counts without folders and extension. Ids are numbers or texts, one for each image and
    category. Repeated rows count once.

    Each file is read twice, as `sorted_rows` does, and a JSON is held whole. Raises InputError for
    a file that cannot be read or lacks a column, if no sample has a row, and for two different rows
    of an image; StoreError if the temporary folder is full.
    """
    given = GivenFiles(files, column, join_on, "memorization.objects.given")

    def rows_of(path: Path, lists: bool) -> Iterator[pa.Table]:
        return _rows_of(path, column, join_on, lists=lists)

    for table in sorted_rows(samples, given, rows_of, LISTS):
        yield _each_once(table, files, column)


def _each_once(rows: pa.Table, files: Sequence[Path], column: str) -> pa.Table:
    """Return the SORTED_OBJECTS of sorted rows, each sample once; refuse rows that differ."""
    _refuse_lengths(rows, files, column)
    repeated = np.diff(sample_addresses(rows), prepend=-1) == 0
    for at in np.flatnonzero(repeated).tolist():
        _refuse_difference(_row(rows, at - 1), _row(rows, at), files, column)
    kept = rows.filter(pa.array(~repeated))
    return kept.select(SORTED_OBJECTS.names).cast(SORTED_OBJECTS)


def _row(table: pa.Table, at: int) -> Row:
    found: list[Row] = table.slice(at, 1).to_pylist()
    return found[0]


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
            f"{counts[1]} objects, but one in {files[one['file']]} gives {counts[0]} different "
            "ones. Remove one of them."
        )


def _rows_of(path: Path, column: str, join_on: JoinOn, *, lists: bool) -> Iterator[pa.Table]:
    """Yield the rows of a file, some thousands at a time: `value`, and LISTS if asked for."""
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
        raise InputError(
            f"{path}: cannot be read as JSON: {error}. Write the file again."
        ) from error
    images, annotations, categories = (
        _list_of(document, name, path) for name in ("images", "annotations", "categories")
    )
    named = _by_id(categories, "categories", "name", path)
    objects: dict[_Id, list[Any]] = {of: [] for of in _by_id(images, "images", column, path)}
    for each in annotations:
        owner = _id(each, "image_id", "annotations", path)
        if owner not in objects:
            raise InputError(
                f"{path}: an annotation has the image_id {shown_value(owner)}, but no image has "
                "this id. Add the image, or remove the annotation."
            )
        label, score, box = (each.get(field) for field in ("category_id", "score", "bbox"))
        name = None if label is None else named.get(_id(each, "category_id", "annotations", path))
        objects[owner].append({"labels": label, "names": name, "scores": score, "boxes": box})
    for start in range(0, len(images), _ROWS_AT_ONCE):
        block = images[start : start + _ROWS_AT_ONCE]
        for image in block:
            if image.get(column) is None:
                raise _no_column(path, column, list(image))
        values = [str(image[column]) for image in block]
        if join_on == "key":
            values = [PurePosixPath(value).stem for value in values]
        own = [objects[image["id"]] for image in block]
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


def _by_id(entries: Sequence[Row], kind: str, field: str, path: Path) -> dict[_Id, Any]:
    """Return a field of images or categories by their id; refuse an id with two values of it."""
    found: dict[_Id, Any] = {}
    for each in entries:
        number, value = _id(each, "id", kind, path), each.get(field)
        if found.setdefault(number, value) != value:
            raise InputError(
                f"{path}: {kind} has the id {shown_value(number)} twice, with {field} "
                f"{shown_value(found[number])} and {shown_value(value)}. Give each its own id."
            )
    return found


def _id(entry: Row, field: str, kind: str, path: Path) -> _Id:
    """Return an entry's id, in a field; refuse anything but a number or a text."""
    found: Any = entry.get(field)
    if not (is_finite(found) or is_text(found)):
        raise InputError(
            f"{path}: {kind}: {field} is {shown_value(found)} in {shown_value(entry)}. Give a "
            "whole number."
        )
    return found


def _list_of(document: Any, name: str, path: Path) -> list[dict[str, Any]]:  # noqa: ANN401
    found = document.get(name) if isinstance(document, dict) else None
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise InputError(
            f"{path}: {name} is {shown_value(found)}, not a list of objects. Write images, "
            "annotations and categories as in COCO's instances files."
        )
    return found


def _no_column(path: Path, name: str, has: Sequence[str]) -> InputError:
    return InputError(
        f"{path}: no column {name!r}, but {', '.join(map(plain, has))}. Name the column of keys, "
        "uids or URLs in memorization.objects.given; objects are in labels, names, scores, boxes."
    )
