"""Reads tables of images: each row names an image, and its caption or other fields.

- `metadata` (as Hugging Face's ImageFolder) and `captions`, each as `.csv`, `.tsv`, `.jsonl` or
  `.parquet`.
- `captions.txt` if it is such a table, as that of Flickr8k; `*.token`, the older form of Flickr's.
- COCO's `captions_*.json`, and `annotations/captions_train2017.json` beside a folder `train2017`.
- Karpathy's splits, `dataset_coco.json` and so on, and lists of objects in `captions*.json`.

A row describes the image at its path from the table's folder, else the only image of its name, if
the table has that name in one folder.
"""

import csv
import itertools
import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from clipaudit.corpora.image_tables import fits_json, holds_images
from clipaudit.corpora.shards import IMAGE_EXTENSIONS, TABLE
from clipaudit.errors import InputError
from clipaudit.plaindata import Json
from clipaudit.plaintext import many, plain

IMAGE_ENDINGS = tuple(f".{extension}" for extension in IMAGE_EXTENSIONS)
TABLES = re.compile(
    r"(metadata|captions)\.(csv|tsv|jsonl|parquet)|captions\.txt|captions(_.*)?\.json"
    r"|dataset_(coco|flickr8k|flickr30k)\.json|.*\.token(\.txt)?"
)
FILE_COLUMNS = (  # the first one there is
    *("file_name", "filename", "file", "image", "path"),
    *("filepath", "file_path", "image_path", "image_name", "img_filename"),
)
_FLICKR = (".token", ".token.txt")  # lines such as "1000092795.jpg#0<tab>Two men ..."
TABLE_ENDINGS = (".csv", ".tsv", ".jsonl", ".json", *_FLICKR)
MAX_FIELD_CHARACTERS = 1 << 20  # of a cell: a longer one is not a caption
_BAR = "|"  # as in Kaggle's Flickr30k, with spaces after it and without quotes
_DELIMITERS = {  # the first that finds a file column
    ".csv": f",;\t{_BAR}",
    ".tsv": "\t",
    ".txt": f",;\t{_BAR}",
}


@dataclass(frozen=True)
class Tables:
    """What the tables of a folder say of its images."""

    fields: Mapping[str, Json]  # by the image's path within the folder
    unmatched: Sequence[str]  # what rows name and is no image, sorted; then rows that name none
    others: Sequence[str]  # files with names of tables that are none


class _NoTableError(Exception):
    pass


def read_tables(folder: Path, images: Collection[str]) -> Tables:
    """Return what the tables of a folder say of `images`, which are paths within it.

    If several tables have a field, the last one wins: a deeper folder's, then by name. If rows of
    one table give an image different values of a field, the field is a list in all rows. Raise
    InputError for a table that cannot be read, or that is a link out of the folder.
    """
    paths = set(images)
    of_name = defaultdict[str, list[str]](list)
    for image in images:
        of_name[os.path.basename(image)].append(image)
    found, without, others = dict[str, Json](), list[str](), list[str]()
    for path in _tables(folder, paths):
        try:
            rows, nameless = _by_place(path, os.path.relpath(path.parent, folder))
        except _NoTableError:
            others.append(path.name)
            continue
        without += nameless
        renamed = _by_name(rows, paths, of_name)
        for place, fields in _merged({renamed.get(each, each): rows[each] for each in rows}):
            found[place] = {**found.get(place, {}), **fields}
    return Tables(found, [*sorted(found.keys() - paths), *without], others)


def _by_name(
    places: Collection[str], paths: Collection[str], of_name: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """Return the image of each of a table's places that has none but a name that one image has.

    A name in several folders of the table names none: 00001/7.jpg is not the image 00000/7.jpg.
    """
    told = Counter(map(os.path.basename, places))
    alike = {
        place: of_name.get(os.path.basename(place), ())
        for place in places
        if place not in paths and told[os.path.basename(place)] == 1
    }
    return {place: found[0] for place, found in alike.items() if len(found) == 1}


def names_images(path: Path) -> bool:
    """Return whether a Parquet file names images by a column of paths, and stores none."""
    if path.suffix != TABLE:
        return False
    try:
        schema = pq.read_schema(path)
    except (OSError, pa.ArrowException):
        return False
    texts = {each.name for each in schema if fits_json(each.type)}
    return bool(_file_columns(texts)) and not any(map(holds_images, schema))


def read_table(table: Path) -> tuple[Path, Tables]:
    """Return what one table says of its images, and the folder that all of them lie in.

    Rows name images by absolute paths, or by paths from the table's folder. Raise InputError for a
    table that cannot be read or names no image.
    """
    try:
        rows, nameless = _by_place(table, os.fspath(table.parent.absolute()))
    except _NoTableError:
        raise InputError(
            f"{table}: no table of images. It may be COCO's captions, Karpathy's splits, or a list "
            "of objects that name an image each, such as "
            '[{"file_name": "a.jpg", "caption": "a cat"}].'
        ) from None
    found = {place: fields for place, fields in _merged(rows) if _is_image(place)}
    unmatched = [*sorted(rows.keys() - found.keys()), *nameless]
    if not found:
        raise InputError(
            f"{table}: names no image that exists and ends in {', '.join(IMAGE_ENDINGS)}; of "
            f"{many(len(rows), 'name')} the first is {plain(next(iter(rows), 'missing'))}. Write "
            "absolute paths, or paths from the table's folder. Or name a folder that has the "
            f"images, and in it this table as captions{table.suffix}."
        )
    folder = os.path.commonpath([os.path.dirname(place) for place in found])
    fields = {os.path.relpath(place, folder): row for place, row in found.items()}
    return Path(folder), Tables(fields, unmatched, ())


def _is_image(path: str) -> bool:
    return path.lower().endswith(IMAGE_ENDINGS) and os.path.isfile(path)


def link_home(folder: Path) -> Path:
    """Return the folder, resolved, to which links in a folder may lead: itself.

    For a snapshot in the cache of Hugging Face's hub it is its repository, with all files in
    `blobs`.
    """
    real = folder.resolve()
    snapshots = next((each for each in real.parents if each.name == "snapshots"), None)
    if snapshots is not None and (snapshots.parent / "blobs").is_dir():
        return snapshots.parent
    return real


def lies_within(path: Path, folder: Path) -> bool:
    """Return whether a path, with links resolved, is in a folder, whose path is resolved."""
    return path.resolve().is_relative_to(folder)


def _tables(folder: Path, images: Collection[str]) -> Iterator[Path]:
    """Yield the files with names of tables, without hidden ones, such as a Mac's `._7.token`.

    A text beside an image of its name is no table.
    """
    beside = folder.parent / "annotations" / f"captions_{folder.name}.json"
    if beside.is_file() and lies_within(beside, link_home(folder.parent)):
        yield beside
    home, described = link_home(folder), {os.path.splitext(image)[0] for image in images}
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        shown = sorted(name for name in files if not name.startswith("."))
        for path in (Path(place, name) for name in shown if TABLES.fullmatch(name)):
            if os.fspath(path.relative_to(folder).with_suffix("")) in described:
                continue
            if not lies_within(path, home):
                raise InputError(f"{path}: a link out of {folder}. Put the table itself there.")
            yield path


def _by_place(path: Path, above: str) -> tuple[Mapping[str, Sequence[Json]], list[str]]:
    """Return a table's rows by the image that each names, a path from `above`.

    Also return which rows name none, such as the texts without image in LLaVA's lists. Raise
    InputError if all rows are such.
    """
    rows, nameless = defaultdict[str, list[Json]](list), list[str]()
    first = ""
    for line, row in _rows(path):
        column = next((name for name in _file_columns(row) if isinstance(row[name], str)), None)
        if column is None:
            first = first or ", ".join(row) or "nothing"
            nameless.append(f"{path}, row {line}")
        else:
            rows[os.path.normpath(os.path.join(above, row.pop(column)))].append(row)
    if nameless and not rows:
        raise InputError(
            f"{path}: {many(len(nameless), 'row')}, none of which names an image: the first has "
            f"{plain(first)}, but no text in any of {', '.join(FILE_COLUMNS)}. Name the column "
            "`file_name`; if the table is about something else, give it another name."
        )
    return rows, nameless


def _file_columns(names: Collection[str]) -> list[str]:
    """Return the columns that may name an image, the first choice first.

    The last one is the only one that ends in `_file_name`, as Hugging Face's ImageFolder has it.
    """
    ending = [name for name in names if name.endswith("_file_name")]
    return [name for name in FILE_COLUMNS if name in names] + (ending if len(ending) == 1 else [])


def _merged(rows: Mapping[str, Sequence[Json]]) -> Iterator[tuple[str, Json]]:
    """Yield each image's fields; a field that differs between rows of one image is a list."""
    distinct = {place: _distinct(of_image) for place, of_image in rows.items()}
    several = {
        name for fields in distinct.values() for name, held in fields.items() if len(held) > 1
    }
    for place, fields in distinct.items():
        yield place, {name: held if name in several else held[0] for name, held in fields.items()}


def _distinct(rows: Sequence[Json]) -> dict[str, list[Any]]:
    """Return the different values of each field, in the order of rows."""
    found = defaultdict[str, dict[str, Any]](dict)
    for row in rows:
        for name, held in row.items():
            found[name].setdefault(json.dumps(held, sort_keys=True), held)
    return {name: list(held.values()) for name, held in found.items()}


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a table, numbered from 1; raise _NoTableError for another file."""
    try:
        if path.suffix == TABLE:
            yield from enumerate(_parquet(path), 1)
            return
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield from enumerate(_read(file, path), 1)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: byte {error.object[error.start]:#x} is not UTF-8. Save it as UTF-8."
        ) from error
    except (OSError, ValueError, csv.Error, RecursionError, pa.ArrowException) as error:
        raise InputError(f"{path}: cannot be read: {error}. Correct it, or remove it.") from error


def _parquet(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a Parquet file, without null and NaN."""
    file = pq.ParquetFile(path)
    columns = [each.name for each in file.schema_arrow if fits_json(each.type)]
    for batch in file.iter_batches(columns=columns):
        for row in batch.to_pylist():
            yield {name: held for name, held in row.items() if held is not None and held == held}


def _read(file: TextIO, path: Path) -> Iterator[dict[str, Any]]:
    if path.name.endswith(_FLICKR):
        return _flickr(file)
    if path.suffix in _DELIMITERS:
        return _separated(file, path.suffix)
    return _jsonl(file) if path.suffix == ".jsonl" else _json(file)


def _separated(file: TextIO, suffix: str) -> Iterator[dict[str, Any]]:
    csv.field_size_limit(MAX_FIELD_CHARACTERS)
    header = file.readline()
    fitting = (
        each
        for each in _DELIMITERS[suffix]
        if _file_columns(next(csv.reader([header], delimiter=each), []))
    )
    delimiter = next(fitting, None)
    if delimiter is None and suffix == ".txt":
        raise _NoTableError
    bare = delimiter == _BAR
    reader = csv.DictReader(
        itertools.chain([header], file),
        delimiter=delimiter or _DELIMITERS[suffix][0],
        skipinitialspace=bare,
        quoting=csv.QUOTE_NONE if bare else csv.QUOTE_MINIMAL,
    )
    for row in reader:
        extra = row.pop(None, None)
        if extra:
            raise ValueError(
                f"line {reader.line_num}: a row has {len(extra)} more cells than the header"
            )
        yield {name: text for name, text in row.items() if text}


def _flickr(file: TextIO) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(file, 1):
        name, tab, caption = line.partition("\t")
        if not tab and number == 1:
            raise _NoTableError  # such as the hub's token
        if not tab and name.strip():
            raise ValueError(f"line {number}: no tab between an image and its caption")
        if caption.strip():
            yield {"file_name": re.sub(r"#\d+$", "", name.strip()), "caption": caption.strip()}


def _jsonl(file: TextIO) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(file, 1):
        if line.strip():
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:  # it counts lines within this one
                raise ValueError(f"line {number}, character {error.colno}: {error.msg}") from error
            yield _object(row, f"line {number}")


def _object(row: object, place: str) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise ValueError(f"{place} is a {type(row).__name__}, expected an object")
    return row


def _json(file: TextIO) -> Iterator[dict[str, Any]]:
    held = json.load(file)
    try:
        if isinstance(held, list):
            rows = _objects(held)
        else:
            rows = _coco(held) if "annotations" in held else _karpathy(held)
    except (KeyError, TypeError, AttributeError):
        raise _NoTableError from None
    return iter(rows)


def _objects(held: list[Any]) -> list[dict[str, Any]]:
    """Return a list of objects, such as BLIP's, which is a table if one may name an image."""
    if not any(_file_columns(row) for row in held if isinstance(row, dict)):
        raise _NoTableError
    return [_object(row, f"entry {number}") for number, row in enumerate(held, 1)]


def _coco(held: Json) -> list[dict[str, Any]]:
    names = {image["id"]: image["file_name"] for image in held["images"]}
    captions = [(each["image_id"], each["caption"]) for each in held["annotations"]]
    unknown = {image for image, _ in captions} - names.keys()
    if unknown:
        raise ValueError(
            f"a caption is of image_id {min(unknown, key=str)!r}, which `images` lacks"
        )
    return [{"file_name": names[image], "caption": caption} for image, caption in captions]


def _karpathy(held: Json) -> list[dict[str, Any]]:
    """Return a row for each sentence, with the split that its image is in."""
    rows = []
    for image in held["images"]:
        name = os.path.join(image.get("filepath", ""), image["filename"])
        for sentence in image["sentences"]:
            rows.append({"file_name": name, "caption": sentence["raw"], "split": image["split"]})
    return rows
