"""Imports DataComp's pools: shards that img2dataset wrote, and metadata with uids and features.

    shards/00000000.tar, .parquet, _stats.json    as download_upstream.py leaves them
    metadata/<hash>.parquet, <hash>.npz           uid, url, text; b32_img, l14_img

Versions of the script differ: some put both into a folder named after the scale, and some keep the
hub's cache below `metadata`, with links to its files.
"""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from clipaudit.errors import InputError
from clipaudit.imports.blocks import Imported
from clipaudit.imports.clip_retrieval import checked_embeddings
from clipaudit.imports.img2dataset import complete_shards, import_img2dataset, read_rows
from clipaudit.imports.listed import listed_corpus
from clipaudit.plaintext import plain


def import_datacomp(
    shards: Path,
    metadata: Path,
    name: str,
    *,
    encoder: str | None = None,
    array: str = "l14_img",
    compared: int | None = None,
) -> Imported:
    """Return the block of corpus `name`, and with `encoder` that of its features.

    Shards are checked as img2dataset's; the metadata must have the uid of every success. With
    `encoder`, the array `array` of the `.npz` of each metadata file is used as its embeddings,
    joined by uid. Raise InputError for data that do not agree.
    """
    corpus = import_img2dataset(shards, name, compared=compared)
    files = _metadata_files(metadata)
    corpus.notes.append(_compared_uids(shards, _metadata_uids(files), metadata))
    return _with_features(corpus, name, files, encoder, {"join_on": "uid", "array": array})


def import_listed_datacomp(
    metadata: Path, name: str, *, encoder: str | None = None, array: str = "l14_img"
) -> Imported:
    """Return the block of corpus `name` without images: the rows of a pool's metadata.

    With `encoder`, the block of its features is also returned, as for `import_datacomp`.
    """
    files = _metadata_files(metadata)
    listed = listed_corpus(name, files, "uid", "uid")
    return _with_features(listed, name, files, encoder, {"join_on": "row", "array": array})


def _with_features(
    corpus: Imported, name: str, files: Sequence[Path], encoder: str | None, how: dict[str, str]
) -> Imported:
    """Add the block of the metadata files' features, if an encoder is named."""
    if encoder is None:
        return corpus
    block = {"corpus": name, "encoder": encoder, "column": "uid", **how}
    pairs = [(path.with_suffix(".npz"), path) for path in files]
    return corpus + checked_embeddings(f"{name}-{encoder}", pairs, block)


def _metadata_files(metadata: Path) -> list[Path]:
    """Return the Parquet files below a folder, sorted; of links to one file the uppermost."""
    files: dict[Path, Path] = {}
    for path in sorted(metadata.rglob("*.parquet"), key=lambda each: (len(each.parts), each)):
        files.setdefault(path.resolve(), path)
    if not files:
        raise InputError(f"{metadata}: no .parquet below it. Name DataComp's folder of metadata.")
    return sorted(files.values())


def _metadata_uids(files: Sequence[Path]) -> pa.Array:
    chunks = []
    for path in files:
        try:
            chunks.append(pq.read_table(path, columns=["uid"])["uid"].cast(pa.string()))
        except (OSError, pa.ArrowException) as error:
            raise InputError(
                f"{path}: the column uid cannot be read: {error}. Fetch it again."
            ) from error
    return pa.concat_arrays([chunk for column in chunks for chunk in column.chunks])


def _compared_uids(shards: Path, uids: pa.Array, metadata: Path) -> str:
    """Return how many successes are in the metadata; raise InputError if one is not."""
    found, strange, first = 0, 0, ""
    for tar in complete_shards(shards):
        rows = read_rows(tar, ["uid", "status"])
        kept = rows.filter(pc.equal(rows["status"], "success"))["uid"].cast(pa.string())
        known = pc.is_in(kept, value_set=uids)
        unknown = kept.filter(pc.invert(known))
        if len(unknown) and not strange:
            first = f"{tar.name}: {plain(unknown[0])}"
        found, strange = found + len(kept), strange + len(unknown)
    if strange:
        raise InputError(
            f"{metadata}: {strange} of {found} downloaded uids are not among its {len(uids)}, "
            f"first {first}. Name the metadata that the shards were downloaded from."
        )
    return f"{found:,} downloaded uids, all among the {len(uids):,} of the metadata"
