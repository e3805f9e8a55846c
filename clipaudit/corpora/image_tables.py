"""Reads Parquet files with images, as Hugging Face writes them: a row is a sample.

The image is a column of `{bytes, path}` or of bytes. Columns of texts, numbers and lists of them
become the sample's JSON, with the path of the image as `path`; its key is the number of its row.
"""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from clipaudit.corpora.reasons import DAMAGED_ROWS, NO_IMAGE, TOO_LARGE
from clipaudit.corpora.shards import MAX_SAMPLE_BYTES, RawSample, open_shard
from clipaudit.errors import InputError
from clipaudit.plaintext import plain

ROWS = 16  # decoded at once: memory, never results
MAX_GROUP_BYTES = 1 << 31  # of the images of a row group, unpacked: all of them may be held
PAGE_BYTES = 1 << 20  # read at once
_NAMES = ("image", "img", "picture", "jpg", "jpeg", "png", "webp", "image_bytes", "bytes")
_ENDINGS = ((b"\x89PNG", "png"), (b"RIFF", "webp"))  # else JPEG: names do not matter further on


def table_samples(path: Path, wanted: Callable[[int], bool] | None) -> Iterator[RawSample]:
    """Yield the samples of a Parquet file in order, ROWS at a time in memory.

    A row group that cannot be read gives faulty rows. Raise InputError for a file that is not
    Parquet, that has no single column of images, or that has rows with only paths of images.
    """
    opened, _ = open_shard(path)
    with opened:
        try:
            file = pq.ParquetFile(opened, pre_buffer=False, buffer_size=PAGE_BYTES)
        except (OSError, pa.ArrowException) as error:
            raise InputError(
                f"{path}: cannot be read as Parquet: {_first_line(error)}. Fetch it again."
            ) from error
        image = image_column(file.schema_arrow, path)
        if _only_paths(file.metadata, image):
            raise InputError(
                f"{path}: no image is stored in column {plain(image)}, only paths of images. Embed "
                "them before to_parquet, as push_to_hub does: dataset.with_format('arrow').map("
                "datasets.table.embed_table_storage, batched=True). Or name the folder of images."
            )
        columns = [image, *_json_columns(file.schema_arrow, image)]
        start = 0
        for group in range(file.num_row_groups):
            numbers = range(start, start + file.metadata.row_group(group).num_rows)
            asked = {row for row in numbers if wanted is None or wanted(row)}
            start = numbers.stop
            if asked:
                yield from _group(file, group, columns, numbers, asked)


def image_column(schema: pa.Schema, path: Path) -> str:
    """Return the name of the column of images; raise InputError unless there is exactly one.

    It is the column that the file declares as an image, else one of `{bytes, path}`, else one of
    bytes with a usual name of images, else any one of bytes.
    """
    fields = list(schema)
    ways = (
        [field.name for field in fields if field.name in _called_images(schema)],
        [field.name for field in fields if pa.types.is_struct(field.type) and _holds_bytes(field)],
        [field.name for field in fields if is_bytes(field.type) and field.name in _NAMES],
        [field.name for field in fields if is_bytes(field.type)],
    )
    found = next((names for names in ways if names), [])
    if len(found) > 1 and "image" in found:
        return "image"
    if len(found) != 1:
        what = f"{len(found)} columns of images" if found else "no column of images"
        held = ", ".join(plain(f"{field.name} ({field.type})")[:80] for field in fields[:20])
        advice = "Name one of them `image`." if found else _without_images(fields)
        raise InputError(f"{path}: {what} (bytes, or bytes and path) among {held}. {advice}")
    return str(found[0])


def _without_images(fields: Sequence[pa.Field]) -> str:
    """Return the next step for a file without a column of images."""
    for field in fields:
        if _is_list(field.type) and holds_images(field.type.value_field):
            return f"Column {plain(field.name)} holds lists of images: write a row for each image."
    if any(field.name.lower() == "url" for field in fields):
        return "It lists URLs: name the tars or folder of the images downloaded from them."
    return "Images are read from the file itself: add their bytes as a column."


def _called_images(schema: pa.Schema) -> set[str]:
    """Return the columns that the library `datasets` wrote as images."""
    try:
        features = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
        kinds = {name: told for name, told in features.items() if isinstance(told, dict)}
    except (KeyError, ValueError, AttributeError, TypeError):
        return set()  # written by something else
    return {name for name, told in kinds.items() if told.get("_type") == "Image"}


def holds_images(field: pa.Field) -> bool:
    """Return whether a column may hold images: bytes, or bytes and a path."""
    return is_bytes(field.type) or (pa.types.is_struct(field.type) and _holds_bytes(field))


def _holds_bytes(field: pa.Field) -> bool:
    at = field.type.get_field_index("bytes")
    return at >= 0 and is_bytes(field.type.field(at).type)


def is_bytes(kind: pa.DataType) -> bool:
    """Return whether values are byte strings."""
    return bool(
        pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind)
    )


def _only_paths(metadata: pq.FileMetaData, image: str) -> bool:
    """Return whether all rows have null for their image's bytes, by the footer's counts."""
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    parts = (group.column(number) for group in groups for number in range(group.num_columns))
    told = [part.statistics for part in parts if part.path_in_schema == f"{image}.bytes"]
    return bool(told) and all(
        held is not None and held.has_null_count and held.num_values == 0 < held.null_count
        for held in told
    )


def _json_columns(schema: pa.Schema, image: str) -> list[str]:
    return [each.name for each in schema if each.name != image and fits_json(each.type)]


def fits_json(kind: pa.DataType) -> bool:
    """Return whether values are texts, numbers, or lists of these."""
    if _is_list(kind) or pa.types.is_dictionary(kind):
        return fits_json(kind.value_type)
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    return any(fits(kind) for fits in (*texts, *numbers))


def _is_list(kind: pa.DataType) -> bool:
    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(is_kind(kind) for is_kind in lists)


def _group(
    file: pq.ParquetFile, group: int, columns: list[str], numbers: range, asked: set[int]
) -> Iterator[RawSample]:
    """Yield the wanted samples of a row group; unreadable ones are faulty."""
    row, size = numbers.start, _unpacked(file, group, columns[0])
    if size > MAX_GROUP_BYTES:
        detail = f"its row group unpacks to {size} bytes of images, the limit is {MAX_GROUP_BYTES}"
        yield from (_faulty(lost, TOO_LARGE, detail) for lost in sorted(asked))
        return
    try:
        batches = file.iter_batches(ROWS, row_groups=[group], columns=columns, use_threads=False)
        for batch in batches:
            for at in range(len(batch)):
                if row + at in asked:
                    (fields,) = batch.slice(at, 1).to_pylist()  # `take` knows no views
                    yield _sample(row + at, fields, columns[0])
            row += len(batch)
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        detail = _first_line(error)
        yield from (_faulty(lost, DAMAGED_ROWS, detail) for lost in sorted(asked) if lost >= row)


def _faulty(row: int, fault: str, detail: str) -> RawSample:
    return RawSample(row, _key(row), {}, fault, detail)


def _key(row: int) -> str:
    return f"{row:09d}"


def _unpacked(file: pq.ParquetFile, group: int, image: str) -> int:
    """Return the size of the images of a row group in bytes, by the file's footer."""
    held = file.metadata.row_group(group)
    parts = (held.column(number) for number in range(held.num_columns))
    return sum(
        part.total_uncompressed_size for part in parts if part.path_in_schema.split(".")[0] == image
    )


def _sample(row: int, fields: dict[str, Any], image: str) -> RawSample:
    held, path = fields.pop(image), None
    if isinstance(held, dict):
        path = held.get("path")
        held = held.get("bytes")
    if held is not None and len(held) > MAX_SAMPLE_BYTES:
        detail = f"{len(held)} bytes, the limit is {MAX_SAMPLE_BYTES}"
        return _faulty(row, TOO_LARGE, detail)
    if isinstance(path, str):
        fields = {"path": path, **fields}
    if not held:
        stored = f"only the path {path}" if isinstance(path, str) else "null"
        return _faulty(row, NO_IMAGE, f"column {plain(image)} holds {plain(stored)[:200]}")
    known = {name: value for name, value in fields.items() if value is not None}
    members = {"json": json.dumps(_finite(known), ensure_ascii=False).encode()}
    ending = next((name for start, name in _ENDINGS if held.startswith(start)), "jpg")
    members[ending] = held
    return RawSample(row, _key(row), members, None, "")


def _finite(held: Any) -> Any:  # noqa: ANN401
    """Return the value, with null for NaN and infinity, which JSON lacks."""
    if isinstance(held, dict):
        return {name: _finite(value) for name, value in held.items()}
    if isinstance(held, list):
        return [_finite(value) for value in held]
    return None if isinstance(held, float) and not math.isfinite(held) else held


def _first_line(error: BaseException) -> str:
    return plain((str(error).splitlines() or [type(error).__name__])[0])[:200]
