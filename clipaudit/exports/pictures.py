"""Reads the images of a manifest's rows from their shards, and writes them under their uids."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from clipaudit.corpora.shards import first_image, raw_samples
from clipaudit.errors import InputError
from clipaudit.exports.rows import ManifestPart, Rows
from clipaudit.plaindata import Row
from clipaudit.steps.filedigests import FileDigests

PICTURE_COLUMNS = ("image_format", "width", "height", "image_bytes")  # of SAMPLES

_ROWS_AT_ONCE = 1024  # of a table that become Python objects: memory, never results


def with_picture(rows: Rows, part: ManifestPart, table: pa.Table) -> pa.Table:
    """Return the rows that are samples; raise InputError if the corpus has no images.

    `table` has the PICTURE_COLUMNS.
    """
    usable = table.filter(table["uid"].is_valid())
    if usable["image_format"].null_count:
        raise InputError(
            f"{rows.manifest.name}: {part.corpus} has no images, which this format needs. "
            "Export it as parquet, croissant, uids or datacomp."
        )
    return usable


def plain_rows(table: pa.Table) -> Iterator[Row]:
    """Yield rows as dictionaries, holding few at a time."""
    for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
        yield from batch.to_pylist()


def images_of(rows: Rows, part: ManifestPart, table: pa.Table) -> Iterator[bytes]:
    """Yield the image files of all rows in order; each tar is read once, forward.

    Raise InputError if a shard has changed since it was indexed.
    """
    wanted: dict[int, list[int]] = {}
    for shard, row in zip(table["shard"].to_pylist(), table["row"].to_pylist(), strict=True):
        wanted.setdefault(shard, []).append(row)
    digests = rows.shard_digests(part)
    files = FileDigests(rows.store.root / "files")
    for shard, numbers in wanted.items():
        path = files.locate(digests[shard])
        found = 0
        for sample in raw_samples(path, set(numbers).__contains__):
            image = first_image(sample.members)
            if image is None:
                break
            found += 1
            yield image
        if found < len(numbers):
            raise InputError(
                f"{path}: row {numbers[found]} has no image, but its index says that it has. "
                "Run the workflow again from the index of this shard."
            )


def write_picture(folder: Path, row: Row, image: bytes) -> str:
    """Write an image under its uid, and return its path below `folder`.

    Another image of the same uid also has its SHA-256 in its name.
    """
    name = picture_path(row)
    if (folder / name).exists() and (folder / name).read_bytes() != image:
        name = picture_path(row, f"-{hashlib.sha256(image).hexdigest()[:32]}")
    path = folder / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(image)
    return name


def picture_path(row: Row, more: str = "") -> str:
    """Return the path of a row's image below its folder; `more` follows the uid.

    >>> picture_path({"uid": "ab12", "image_format": "jpeg"}, "-cd")
    'data/ab/ab12-cd.jpg'
    """
    uid, extension = row["uid"], {"jpeg": "jpg"}.get(row["image_format"], row["image_format"])
    return f"data/{uid[:2]}/{uid}{more}.{extension}"
