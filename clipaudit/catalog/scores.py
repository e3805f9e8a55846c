"""Scores of samples: columns that audits derive from the tables of their stages.

A column is named after its stage, encoder and test set, in letters, digits and underscores:
`similarity_own_sketch`, `cotr`, `rsa_reader`, `recall_scenes_set_a_scenes_10`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from clipaudit.store.store import Pointer, Store

# Suffixes of tables with a corpus's own addresses: all samples, drawn samples, records.
KINDS = ("", ".drawn", ".records")


@dataclass(frozen=True)
class Score:
    """One column: its name, its meaning, and the SQL that takes it from rows of one sample."""

    name: str
    meaning: str
    sql: str
    type: pa.DataType


@dataclass(frozen=True)
class ScoreTable:
    """A stage's tables with (shard, row), by corpus, and the scores in them."""

    files: Mapping[str, Sequence[Path]]
    scores: Sequence[Score]


def column_name(*parts: str) -> str:
    """Return a column name that every tool accepts without quotes.

    >>> column_name("similarity", "ViT-B-32", "sketch")
    'similarity_ViT_B_32_sketch'
    """
    return "_".join(re.sub(r"\W+", "_", part, flags=re.ASCII) for part in parts)


def free_name(name: str, taken: set[str]) -> str:
    """Return the name, with a number appended if it is taken, and add it in lower case to `taken`.

    A name that differs only in case is taken too: in SQL both would mean the first column.

    >>> free_name("COTR", {"cotr"})
    'COTR_2'
    """
    free, number = name, 2
    while free.lower() in taken:
        free, number = f"{name}_{number}", number + 1
    taken.add(free.lower())
    return free


def folders(folder: Path) -> list[str]:
    """Return the names of the folders in a folder, sorted."""
    return sorted(path.name for path in folder.glob("*") if path.is_dir())


def score_files(folder: Path, store: Store, corpora: Sequence[str]) -> dict[str, list[Path]]:
    """Return the objects with rows below `folder/<corpus>`, by corpus, omitting corpora without.

    Raises StoreError if an object that a pointer names is missing or altered.
    """
    found = {}
    for corpus in corpora:
        pointers = [
            Pointer.read(path)
            for kind in KINDS
            for path in sorted((folder / f"{corpus}{kind}").glob("*.json"))
        ]
        files = [store.checked_path(pointer) for pointer in pointers if pointer.rows]
        if files:
            found[corpus] = files
    return found


def values_of(files: Mapping[str, Sequence[Path]], column: str) -> list[str]:
    """Return a column's distinct values as text, in order, from the first file of each corpus."""
    values: dict[str, None] = {}
    for paths in files.values():
        chunks = pq.ParquetFile(paths[0]).read([column])[column]
        values |= dict.fromkeys(pc.unique(chunks.cast(pa.string())).to_pylist())
    return list(values)
