"""Scores of samples, gathered from the stages of a run as columns of one table.

A column is named after its stage, encoder and test set, in letters, digits and underscores:
`similarity_own_sketch`, `cotr`, `rsa_reader`, `recall_scenes_set_a_scenes_10`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from clipaudit.catalog.sqltext import literal
from clipaudit.store.store import Pointer, Store

# Tables of a corpus's own samples, under its addresses: what was drawn of it, and its records.
KINDS = ("", ".drawn", ".records")


@dataclass(frozen=True)
class Score:
    """One column: its name, what it means, and the SQL that takes it from rows of one sample."""

    name: str
    meaning: str
    sql: str
    type: pa.DataType


@dataclass(frozen=True)
class ScoreTable:
    """Tables with (shard, row) of a stage, by corpus, and the scores that they hold."""

    files: Mapping[str, Sequence[Path]]
    scores: Sequence[Score]


def score_tables(results: Path, store: Store, corpora: Sequence[str]) -> list[ScoreTable]:
    """Return where the scores of some corpora's samples lie; an audit that did not run has none.

    By stage, then encoder; no two scores share a name. StoreError where an object that a pointer
    names is missing or altered.
    """
    found = [*_similarities(results, store, corpora), *_matches(results, store, corpora)]
    found += [*_caption_scores(results, store, corpora), *_recalls(results, store, corpora)]
    return _distinct(found)


def column_name(*parts: str) -> str:
    """Return a name for a column that every tool takes without quotes.

    >>> column_name("similarity", "ViT-B-32", "sketch")
    'similarity_ViT_B_32_sketch'
    """
    return "_".join(re.sub(r"\W+", "_", part, flags=re.ASCII) for part in parts)


def _similarities(results: Path, store: Store, corpora: Sequence[str]) -> Iterator[ScoreTable]:
    for encoder in _names(results / "similarities"):
        files = _files(results / "similarities" / encoder, store, corpora)
        scores = [
            Score(
                column_name("similarity", encoder, testset),
                f"highest similarity to a sample of test set {testset}, by encoder {encoder}",
                f"max(similarity) filter (where testset = {literal(testset)})",
                pa.float64(),
            )
            for testset in _values(files, "testset")
        ]
        yield ScoreTable(files, scores)


def _matches(results: Path, store: Store, corpora: Sequence[str]) -> Iterator[ScoreTable]:
    of_words = "share of the caption's words that are spotted in the picture"
    columns = [
        ("text_spans", "pieces of text spotted in the picture", "spans", pa.int32()),
        ("cotr", f"CoTR: {of_words}", "words_rate", pa.float64()),
        ("cotr_plain", f"{of_words}, split at spaces only", "plain_rate", pa.float64()),
        ("cotr_fuzzy", f"{of_words} or one much like it", "words_fuzzy_rate", pa.float64()),
    ]
    scores = [Score(name, says, f"max({column})", kind) for name, says, column, kind in columns]
    yield ScoreTable(_files(results / "matches", store, corpora), scores)


def _caption_scores(results: Path, store: Store, corpora: Sequence[str]) -> Iterator[ScoreTable]:
    """Yield the scores of each encoder; of one that scored held-out samples alone, those."""
    scored, held_out = (_names(results / stage) for stage in ("caption_scores", "heldout_scores"))
    for encoder in dict.fromkeys([*scored, *held_out]):
        stage = "caption_scores" if encoder in scored else "heldout_scores"
        columns = [
            ("score", "similarity of picture and caption", "raw::double"),
            ("rsa", "RSA: score less that of all text erased", 'raw::double - "all"::double'),
            ("rsc", "RSC: score less that of co-embedded text erased", "raw::double - co::double"),
        ]
        scores = [
            Score(
                column_name(name, encoder), f"{says}, by {encoder}", f"max({column})", pa.float64()
            )
            for name, says, column in columns
        ]
        yield ScoreTable(_files(results / stage / encoder, store, corpora), scores)


def _recalls(results: Path, store: Store, corpora: Sequence[str]) -> Iterator[ScoreTable]:
    for encoder in _names(results / "recalls"):
        for public in _names(results / "recalls" / encoder):
            files = _files(results / "recalls" / encoder / public, store, corpora)
            scores = [
                Score(
                    column_name("recall", encoder, public, str(k)),
                    f"share of the picture's objects among those of the {k} pictures of {public} "
                    f"nearest to its caption, by {encoder}",
                    f"max(correct / nullif(truths, 0)) filter (where k = {k})",
                    pa.float64(),
                )
                for k in _values(files, "k")
            ]
            yield ScoreTable(files, scores)


def _distinct(tables: Sequence[ScoreTable]) -> list[ScoreTable]:
    """Leave out tables without files; number names that two encoders would share."""
    taken: set[str] = set()
    kept = []
    for table in tables:
        scores = []
        for score in table.scores:
            name, number = score.name, 2
            while name in taken:
                name, number = f"{score.name}_{number}", number + 1
            taken.add(name)
            scores.append(Score(name, score.meaning, score.sql, score.type))
        if table.files and scores:
            kept.append(ScoreTable(table.files, scores))
    return kept


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*") if path.is_dir())


def _files(folder: Path, store: Store, corpora: Sequence[str]) -> dict[str, list[Path]]:
    """Return the objects with rows below `folder/<corpus>`, by corpus; corpora without are out."""
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


def _values(files: Mapping[str, Sequence[Path]], column: str) -> list[str]:
    """Return what a column holds, as text, in the order met in the first file of each corpus."""
    values: dict[str, None] = {}
    for paths in files.values():
        chunks = pq.ParquetFile(paths[0]).read([column])[column]
        values |= dict.fromkeys(pc.unique(chunks.cast(pa.string())).to_pylist())
    return list(values)
