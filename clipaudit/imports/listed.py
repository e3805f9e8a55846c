"""Imports a corpus without images: the rows of metadata files, as a block of the settings."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from clipaudit.errors import InputError
from clipaudit.imports.blocks import Imported, file_patterns, part_size
from clipaudit.plaintext import many, plain

ROWS_PER_PART = 1_000_000  # some minutes of a job, like the parts of corpora of tars
# column names of img2dataset, clip-retrieval, LAION and DataComp
_USUAL = {"uid": ("uid",), "caption": ("caption", "text", "TEXT"), "url": ("url", "URL")}


def listed_corpus(
    name: str, files: Sequence[Path], column: str, join_on: Literal["key", "uid", "url"]
) -> Imported:
    """Return the block of the corpus `name` whose samples are the rows of Parquet files.

    `column` holds their keys or their uids, as `join_on` says. Captions, URLs and uids are used if
    all files have a column of a usual name for them. Raise InputError for a file that cannot be
    read, and if samples are named by URL.
    """
    if join_on == "url":
        raise InputError(
            f"{files[0]}: samples are named by URL, but a corpus needs a key or a uid for each "
            "row. Name that column, joined on key or uid."
        )
    schemas = [_metadata(path) for path in files]
    shared = set.intersection(*(set(schema.names) for _, schema in schemas))
    counts = [count for count, _ in schemas]
    columns = {kind: _first(names, shared) for kind, names in _USUAL.items()} | {join_on: column}
    used = {kind: each for kind, each in columns.items() if each is not None}
    size, parts = part_size(len(files), sum(counts), most=ROWS_PER_PART)
    block: dict[str, Any] = {
        "metadata": {"files": file_patterns([str(path) for path in files]), **used},
        "shards_per_part": size,
        "captions": "text" if "caption" in used else "none",
    }
    named = ", ".join(f"{kind} from {plain(each)}" for kind, each in used.items())
    note = f"{many(sum(counts), 'sample')} without images, in {many(len(files), 'file')}: {named}"
    return Imported({"corpora": {name: block}}, [note, parts])


def _metadata(path: Path) -> tuple[int, pa.Schema]:
    try:
        found = pq.read_metadata(path)
        return found.num_rows, found.schema.to_arrow_schema()
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: cannot be read as Parquet: {error}. Fetch it again.") from error


def _first(names: Sequence[str], present: set[str]) -> str | None:
    return next((name for name in names if name in present), None)
