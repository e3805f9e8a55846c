"""Exports kept samples with their images in the formats of Hugging Face's `datasets`.

    imagefolder     metadata.jsonl: file_name, text and scores; data/ab/<uid>.png
    hf-parquet      data/train-00000-of-00002.parquet: image {bytes, path}, text and scores

No text from a tar or a caption becomes a file name.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from clipaudit.exports.pictures import (
    PICTURE_COLUMNS,
    images_of,
    picture_path,
    plain_rows,
    with_picture,
    write_picture,
)
from clipaudit.exports.rows import Rows, Tally
from clipaudit.plaindata import Row

FILE_BYTES = 500_000_000  # of images in a Parquet file, as `datasets` writes them
GROUP_BYTES = 50_000_000  # of images held, and in a row group
GROUP_ROWS = 100  # at most, of a row group: a reader of one image decodes few others

_IMAGE = pa.struct([pa.field("bytes", pa.binary()), pa.field("path", pa.string())])
_DTYPES = {
    pa.int32(): "int32",
    pa.string(): "string",
    pa.float64(): "float64",
}


def write_imagefolder(rows: Rows, folder: Path) -> Tally:
    """Write the images, and `metadata.jsonl` with one line per sample, for `imagefolder`.

    Raise InputError if a shard has changed since it was indexed, and for a corpus without images.
    """
    tally = Tally()
    with (folder / "metadata.jsonl").open("w") as file:
        for row, image in _pictured(rows):
            line = {"file_name": write_picture(folder, row, image), **_values(rows, row)}
            file.write(json.dumps(line, allow_nan=False) + "\n")
            tally.rows += 1
    return _noted(tally)


def write_hf_parquet(
    rows: Rows, folder: Path, *, file_bytes: int = FILE_BYTES, group_rows: int = GROUP_ROWS
) -> Tally:
    """Write Parquet files that contain the images.

    A file ends with the row group in which its images reach `file_bytes`. Raise InputError as
    `write_imagefolder` does.
    """
    schema = _schema(rows)
    data = folder / "data"
    data.mkdir()
    tally, files = Tally(), [data / "0"]
    writer, size = _writer(files[0], schema), 0
    for lines, weight in _groups(rows, group_rows):
        if size >= file_bytes:
            writer.close()
            files.append(data / str(len(files)))
            writer, size = _writer(files[-1], schema), 0
        writer.write_table(pa.Table.from_pylist(lines, schema=schema))
        tally.rows += len(lines)
        size += weight
    writer.close()
    for number, path in enumerate(files):
        path.rename(data / f"train-{number:05d}-of-{len(files):05d}.parquet")
    return _noted(tally)


def _noted(tally: Tally) -> Tally:
    if not tally.rows:
        tally.notes.append("no sample is kept; `datasets` does not load a data set without rows")
    return tally


def _pictured(rows: Rows) -> Iterator[tuple[Row, bytes]]:
    """Yield each row with its image file."""
    for part, table in zip(rows.manifest.parts, rows.tables(*PICTURE_COLUMNS), strict=True):
        usable = with_picture(rows, part, table)
        yield from zip(plain_rows(usable), images_of(rows, part, usable), strict=True)


def _groups(rows: Rows, most: int) -> Iterator[tuple[list[Row], int]]:
    """Yield the rows of each row group, with the bytes of their images."""
    lines: list[Row] = []
    size = 0
    for row, image in _pictured(rows):
        name = Path(picture_path(row)).name
        lines.append({"image": {"bytes": image, "path": name}, **_values(rows, row)})
        size += len(image)
        if len(lines) == most or size >= GROUP_BYTES:
            yield lines, size
            lines, size = [], 0
    if lines:
        yield lines, size


def _values(rows: Rows, row: Row) -> Row:
    """Return the values that both formats have besides a sample's image."""
    return {_name(column): row[column] for column in rows.schema.names}


def _name(column: str) -> str:
    return "text" if column == "caption" else column


def _schema(rows: Rows) -> pa.Schema:
    """Return the columns, with the features of `datasets` in the metadata."""
    columns = [
        pa.field(_name(each.name), each.type, metadata=each.metadata) for each in rows.schema
    ]
    features = {each.name: {"dtype": _DTYPES[each.type], "_type": "Value"} for each in columns}
    info = {"info": {"features": {"image": {"_type": "Image"}, **features}}}
    return pa.schema([pa.field("image", _IMAGE), *columns], {"huggingface": json.dumps(info)})


def _writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    return pq.ParquetWriter(
        path,
        schema,
        use_dictionary=["corpus", "shard_file"],
        write_statistics=["shard", "row"],
    )
