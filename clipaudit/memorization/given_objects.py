"""The annotator `given`: objects that others found, in Parquet or COCO JSON, joined to samples.

Rows are matched to samples by key, uid or URL, never by position. So the objects can be those of
Detic with 21k classes, as in the paper, or of any other detector.
"""

import json
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset

from clipaudit.corpora.joins import join_values
from clipaudit.corpora.listing import open_parquet
from clipaudit.corpora.statements import is_finite, shown_value
from clipaudit.errors import InputError
from clipaudit.memorization.stated import objects_of_entries
from clipaudit.plaintext import plain

JoinOn = Literal["key", "uid", "url"]
# lists of a Parquet file, and what an object of a sample's JSON calls one of their values
_FIELDS = {"labels": "category_id", "names": "category", "scores": "score", "boxes": "bbox"}

_log = logging.getLogger(__name__)


def take_objects(
    samples: pa.Table,
    files: Sequence[Path],
    *,
    column: str,
    join_on: JoinOn,
    threshold: float,
    names: Sequence[str] | None,
) -> tuple[pa.Table, pa.Table]:
    """Return the OBJECTS of `samples` that `files` give, and the VOCABULARY of their labels.

    A Parquet file has a row an image: `column`, `labels` (whole numbers) and, where there are any,
    `names`, `scores` and `boxes` (left, top, width, height), lists as long as the labels. A COCO
    JSON (`.json`) has `images` with the field `column`, `annotations` and `categories`; joined on
    key, the field counts without folders and extension. Objects with a score count above
    `threshold`. A sample without a row shows no objects; the log counts these. `names` are those
    of `objects_of_dataset`. Samples ascend by (shard, row), and so do the OBJECTS.

    Raise InputError for a file that cannot be read or lacks a column, where no sample has a row,
    for two rows of an image that differ, and for an object that `objects_of_dataset` refuses.
    """
    wanted = join_values(samples, join_on)
    found: dict[str, tuple[Path, list[Any]]] = {}
    for path in files:
        coco = path.suffix == ".json"
        rows = _of_coco(path, column, join_on) if coco else _of_parquet(path, column, wanted)
        for value, entries in rows:
            first, others = found.setdefault(value, (path, entries))
            if others != entries:
                raise InputError(
                    f"{path}: a row of {column} {plain(value)!r} gives {len(entries)} objects, and "
                    f"one in {first} gives {len(others)} that are not the same. Remove one of them."
                )
    values = wanted.to_pylist()
    lacking = sum(value not in found for value in values)
    if values and lacking == len(values):
        raise InputError(
            f"{files[0]}: {column} has the {join_on} of 0 of {len(values)} samples, first "
            f"{plain(str(values[0]))!r}. Name another `column` or `join_on` in "
            "memorization.objects.given, or the files of this corpus."
        )
    _log.info("%d of %d pictures have no row in the given files", lacking, len(values))
    none: tuple[Path, list[Any]] = (Path(), [])
    lists = (_above(found.get(value, none)[1], threshold) for value in values)
    return objects_of_entries(samples, lists, names=names)


def _above(entries: list[Any], threshold: float) -> list[Any]:
    """Return the objects without a score and those above the threshold, malformed ones included."""
    return [
        each for each in entries if not is_finite(each.get("score")) or each["score"] > threshold
    ]


def _of_parquet(path: Path, column: str, wanted: pa.Array) -> Iterator[tuple[str, list[Any]]]:
    """Yield the wanted values of a column, each with the objects in its row."""
    with open_parquet(path) as file:
        has = file.schema_arrow.names
    for name in (column, "labels"):
        if name not in has:
            raise _no_column(path, name, has)
    lists = [name for name in _FIELDS if name in has]
    text = pc.field(column).cast(pa.string())
    rows = pa.dataset.dataset(path, format="parquet").to_table(
        columns={"value": text} | {name: pc.field(name) for name in lists},
        filter=text.isin(wanted.drop_null()),
    )
    for row in rows.to_pylist():
        value = row.pop("value")
        held = {name: list(each) for name, each in row.items() if each is not None}
        if len({len(each) for each in held.values()}) > 1:
            sizes = ", ".join(f"{len(each)} {name}" for name, each in held.items())
            raise InputError(
                f"{path}: {column} {plain(value)!r} has {sizes}. Give lists of one length."
            )
        fields = [_FIELDS[name] for name in held]
        objects = zip(*held.values(), strict=True)
        yield value, [dict(zip(fields, each, strict=True)) for each in objects]


def _of_coco(path: Path, column: str, join_on: JoinOn) -> Iterator[tuple[str, list[Any]]]:
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
        kept = {field: each.get(field) for field in ("category_id", "score", "bbox")}
        objects[each["image_id"]].append({**kept, "category": name})
    for image in images:
        if image.get(column) is None:
            raise _no_column(path, column, list(image))
        value = str(image[column])
        yield PurePosixPath(value).stem if join_on == "key" else value, objects[image.get("id")]


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
