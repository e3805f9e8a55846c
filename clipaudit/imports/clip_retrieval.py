"""Imports clip-retrieval's embeddings as a block of the settings; checks DataComp's features."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from clipaudit.embeddings.embedding_files import EmbeddingFiles
from clipaudit.errors import InputError
from clipaudit.imports.blocks import Imported, file_patterns
from clipaudit.imports.listed import listed_corpus
from clipaudit.imports.recognition import ARRAYS
from clipaudit.plaintext import many

_TRIED_ROWS = 1000  # of each file, evenly spaced: the workflow checks every row that it takes


def import_clip_retrieval(
    folder: Path,
    name: str,
    *,
    corpus: str,
    encoder: str,
    column: str = "image_path",
    join_on: Literal["key", "uid", "url"] = "key",
    as_corpus: bool = False,
) -> Imported:
    """Return the block of embeddings `name` for the output folder of clip-retrieval's inference.

    Its `img_emb/img_emb_0.npy` belongs to `metadata/metadata_0.parquet`, and so on; `image_path`
    there is the key of a webdataset's sample. LAION-400M's own embeddings have the arrays in
    `images`. With `as_corpus`, the block of `corpus` is also returned: its samples, without images,
    are the rows of the metadata. Raise InputError for files that do not agree.
    """
    place = next((name for name in ARRAYS if (folder / name).is_dir()), ARRAYS[0])
    arrays = _numbered(folder / place, "img_emb_", ".npy")
    metadata = _numbered(folder / "metadata", "metadata_", ".parquet")
    if arrays.keys() != metadata.keys() or not arrays:
        alone = sorted(arrays.keys() ^ metadata.keys())
        raise InputError(
            f"{folder}: {len(arrays)} files {place}/img_emb_*.npy and {len(metadata)} "
            f"metadata/metadata_*.parquet{f', first alone number {alone[0]}' if alone else ''}. "
            "Name the output folder of clip-retrieval's inference, or let it finish."
        )
    pairs = [(arrays[number], metadata[number]) for number in sorted(arrays)]
    block = {"corpus": corpus, "encoder": encoder, "column": column, "join_on": join_on}
    if not as_corpus:
        return checked_embeddings(name, pairs, block)
    embeddings = checked_embeddings(name, pairs, {**block, "join_on": "row"})
    return listed_corpus(corpus, [path for _, path in pairs], column, join_on) + embeddings


def checked_embeddings(
    name: str, pairs: Sequence[tuple[Path, Path]], block: dict[str, Any]
) -> Imported:
    """Return the block of embeddings `name` with these files, after opening and trying them all.

    `block` is the rest of the block. Raise InputError as `EmbeddingFiles` does.
    """
    files = EmbeddingFiles(pairs, column=block["column"], array=block.get("array"))
    for number, count in enumerate(files.rows):
        tried = np.unique(np.linspace(0, count - 1, min(count, _TRIED_ROWS)).astype(np.int64))
        files.read(np.full(len(tried), number, np.int64), tried)
    paths = {
        "arrays": file_patterns([str(array) for array, _ in pairs]),
        "metadata": file_patterns([str(metadata) for _, metadata in pairs]),
    }
    embeddings = many(sum(files.rows), "embedding")
    notes = [
        f"{many(len(pairs), 'file')}, {embeddings} of {files.dimension} numbers",
        f"up to {_TRIED_ROWS:,} rows of each file were tried: {files.lengths}",
    ]
    return Imported({"embeddings": {name: {**block, **paths}}}, notes)


def _numbered(folder: Path, before: str, after: str) -> dict[int, Path]:
    pattern = re.compile(rf"{before}(\d+){re.escape(after)}", re.ASCII)
    found = [(pattern.fullmatch(path.name), path) for path in folder.glob("*")]
    return {int(match[1]): path for match, path in found if match}
