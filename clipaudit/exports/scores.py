"""The scores of some samples, gathered from what every audit says of them."""

from collections.abc import Sequence
from pathlib import Path

from clipaudit.catalog.parts import audit_parts
from clipaudit.catalog.scores import Score, ScoreTable
from clipaudit.store.store import Store


def score_tables(results: Path, store: Store, corpora: Sequence[str]) -> list[ScoreTable]:
    """Return where the scores of some corpora's samples lie; an audit that did not run has none.

    By audit, stage, then encoder; no two scores share a name. StoreError where an object that a
    pointer names is missing or altered.
    """
    return _distinct(
        [table for part in audit_parts() for table in part.scores(results, store, corpora)]
    )


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
