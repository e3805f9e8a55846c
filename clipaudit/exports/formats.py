"""Exports the samples that a manifest keeps, in the formats that other tools read."""

from collections.abc import Sequence, Set
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np
from jaxtyping import UInt64

from clipaudit.catalog.parts import audit_parts
from clipaudit.catalog.scores import (
    Score,
    ScoreTable,
    column_name,
    folders,
    free_name,
    score_files,
)
from clipaudit.exports.current import (
    current_files,
    current_scores,
    outdated_files,
    refuse_outdated,
)
from clipaudit.exports.rows import Rows, Tally, find_manifest
from clipaudit.exports.vectors import VectorColumn
from clipaudit.plaintext import many
from clipaudit.store.outputs import whole_output
from clipaudit.store.parquet import write_tables
from clipaudit.store.store import Store

Format = Literal[
    "datacomp", "uids", "parquet", "croissant", "fiftyone", "imagefolder", "hf-parquet"
]
SCORELESS = ("uids", "datacomp")
MARK = ".clipaudit"  # marks a folder of ours; hidden, so that readers ignore it

UID_PAIR = np.dtype("u8,u8")  # DataComp's: the high and the low half of a uid
BUCKET_ROWS = 1 << 22  # uids sorted at once: 64 MB
MAX_BUCKET_BITS = 8  # at most 256 files of uids


def export(
    results: Path,
    store: Store,
    asked: str,
    form: Format,
    output: Path,
    *,
    all_rows: bool = False,
    vectors: bool = False,
    pictures: bool = True,
    terms: str | None = None,
    force: bool = False,
) -> Tally:
    """Write the manifest `asked` to `output`, whole or not at all.

    All formats except SCORELESS have scores and URLs. Removed rows (`all_rows`) are for "parquet",
    "croissant" and "fiftyone", `vectors` for the first two, `pictures` for "fiftyone", the
    licence's `terms` for "croissant". Scores and vectors of samples that the results had before are
    missing, and a note names the scores. Raise InputError for an unknown manifest and for an output
    that must not be replaced, StoreError for objects that the store has lost and for a manifest of
    such samples.
    """
    from clipaudit.exports.fiftyone import METADATA

    manifest = find_manifest(results, store, asked)
    refuse_outdated(results, store, manifest.pointers)
    scored = form not in SCORELESS
    gone = outdated_files(results, store, manifest.corpora) if scored else frozenset()
    scores = score_tables(results, store, manifest.corpora) if scored else []
    scores, lost = current_scores(scores, gone)
    columns = vector_columns(results, store, manifest.corpora, scores, gone) if vectors else []
    rows = Rows(results, store, manifest, scores, columns, all_rows=all_rows, urls=scored)
    mark = METADATA if form == "fiftyone" else MARK
    with whole_output(output, force=force, mark=mark) as new:
        tally = _written(rows, form, new, pictures=pictures, terms=terms)
    if vectors and not columns:
        tally.notes.append(f"no vectors: no encoder embedded {', '.join(manifest.corpora)}")
    if lost:
        tally.notes.append(
            f"values missing in {', '.join(lost)}: they come from samples that were replaced since"
        )
    return tally


def _written(rows: Rows, form: Format, new: Path, *, pictures: bool, terms: str | None) -> Tally:
    from clipaudit.exports.croissant import write_croissant
    from clipaudit.exports.fiftyone import write_fiftyone
    from clipaudit.exports.huggingface import write_hf_parquet, write_imagefolder

    match form:
        case "uids":
            return write_uids(rows, new)
        case "parquet":
            return Tally(write_tables(rows.tables(), rows.schema, new))
        case "datacomp":
            return write_datacomp(rows, new)
        case "fiftyone":
            return write_fiftyone(rows, new, pictures=pictures)
    new.mkdir()
    (new / MARK).write_text(f"{form} {rows.manifest.name}\n")
    match form:
        case "croissant":
            return write_croissant(rows, new, terms=terms)
        case "imagefolder":
            return write_imagefolder(rows, new)
        case "hf-parquet":
            return write_hf_parquet(rows, new)


def write_uids(rows: Rows, path: Path) -> Tally:
    """Write the uids of kept samples as text, one per line, in corpus order."""
    tally = Tally()
    with path.open("w") as file:
        for table in rows.tables():
            file.writelines(f"{uid}\n" for uid in table["uid"].to_pylist())
            tally.rows += len(table)
    return tally


def write_datacomp(rows: Rows, path: Path) -> Tally:
    """Write the uids of kept samples as DataComp's resharder reads them: sorted, each once.

    The output is a .npy of the dtype "u8,u8", high half first. Uids are spread over files by their
    first bits and sorted one file at a time. Notes say how many rows repeat an earlier uid, and how
    many uids removed samples have, too: the resharder keeps each sample with such a uid.
    """
    bits = min(MAX_BUCKET_BITS, (rows.most() // BUCKET_ROWS).bit_length())
    buckets = [path.with_name(f"uids{number}") for number in range(1 << bits)]
    removed = [path.with_name(f"removed{number}") for number in range(1 << bits)]
    for bucket in [*buckets, *removed]:
        bucket.touch()
    kept = 0
    for table in rows.tables():
        kept += len(table)
        _spread(_halves(table["uid"].to_pylist()), buckets, bits)
    for uids in rows.removed_uids():
        _spread(_halves(uids), removed, bits)
    tally, returning = Tally(), 0
    with path.open("wb") as file:
        start = _npy_header(file, 0)
        for bucket, other in zip(buckets, removed, strict=True):
            pairs, gone = (_sorted_set(_read(each)) for each in (bucket, other))
            returning += len(pairs) + len(gone) - len(_sorted_set(np.concatenate([pairs, gone])))
            file.write(pairs.tobytes())
            tally.rows += len(pairs)
            bucket.unlink()
            other.unlink()
        file.seek(0)
        assert _npy_header(file, tally.rows) == start, "NumPy leaves room for any number of rows"
    if kept > tally.rows:
        tally.notes.append(f"{kept - tally.rows} of {kept} kept samples repeat a uid, left out")
    if returning:
        tally.notes.append(
            f"removed samples have {many(returning, 'uid')} of kept ones, so DataComp's resharder "
            "keeps them. `clipaudit stream --to` writes only the kept ones"
        )
    return tally


def _halves(uids: Sequence[str]) -> UInt64[np.ndarray, "n 2"]:
    """Return the high and low 64 bits of uids of 32 hex digits.

    >>> _halves(["0000000000000001ffffffffffffffff"]).tolist()
    [[1, 18446744073709551615]]
    """
    pairs: np.ndarray = np.frombuffer(bytes.fromhex("".join(uids)), ">u8").astype(np.uint64)
    return pairs.reshape(-1, 2)


def _spread(pairs: UInt64[np.ndarray, "n 2"], buckets: Sequence[Path], bits: int) -> None:
    """Append uids to the bucket that their first bits name."""
    numbers = pairs[:, 0] >> np.uint64(64 - bits) if bits else np.zeros(len(pairs), np.uint64)
    for number in np.unique(numbers).tolist():
        with buckets[number].open("ab") as file:
            file.write(pairs[numbers == number].tobytes())


def _read(bucket: Path) -> UInt64[np.ndarray, "n 2"]:
    pairs: np.ndarray = np.fromfile(bucket, dtype=np.uint64).reshape(-1, 2)
    return pairs


def _sorted_set(pairs: UInt64[np.ndarray, "n 2"]) -> UInt64[np.ndarray, "m 2"]:
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    fresh: np.ndarray = np.ones(len(pairs), dtype=bool)
    fresh[1:] = (pairs[1:] != pairs[:-1]).any(axis=1)
    found: np.ndarray = pairs[fresh]
    return found


def _npy_header(file: BinaryIO, rows: int) -> int:
    """Write a .npy header; return where it ends."""
    fields = {"descr": UID_PAIR.descr, "fortran_order": False, "shape": (rows,)}
    np.lib.format.write_array_header_1_0(file, fields)  # type: ignore[no-untyped-call]
    return file.tell()


def score_tables(results: Path, store: Store, corpora: Sequence[str]) -> list[ScoreTable]:
    """Return the tables of some corpora's scores; an audit that did not run has none.

    They are ordered by audit, stage, then encoder; no two scores share a name. Raise StoreError if
    an object that a pointer names is missing or altered.
    """
    parts = audit_parts(path.stem for path in (results / "tables").glob("*.json"))
    return _distinct([table for part in parts for table in part.scores(results, store, corpora)])


def _distinct(tables: Sequence[ScoreTable]) -> list[ScoreTable]:
    """Return the tables that have files; number names that two encoders would share."""
    taken: set[str] = set()
    kept = []
    for table in tables:
        scores = []
        for score in table.scores:
            name = free_name(score.name, taken)
            scores.append(Score(name, score.meaning, score.sql, score.type))
        if table.files and scores:
            kept.append(ScoreTable(table.files, scores))
    return kept


def vector_columns(
    results: Path,
    store: Store,
    corpora: Sequence[str],
    scores: Sequence[ScoreTable],
    gone: Set[Path] = frozenset(),
) -> list[VectorColumn]:
    """Return a column for each encoder that embedded some of the corpora, by the encoder's name.

    Objects that are `gone` have no vectors. No name is that of a column of `scores`. Raise
    StoreError as for `score_tables`.
    """
    taken = {score.name.lower() for table in scores for score in table.scores}
    columns = []
    for encoder in folders(results / "embeddings"):
        stored = score_files(results / "embeddings" / encoder, store, corpora)
        files = current_files(stored, gone)
        if files:
            name = free_name(column_name("vector", encoder), taken)
            columns.append(VectorColumn.described(name, encoder, files))
    return columns
