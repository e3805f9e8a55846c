"""Choose the files that come from a corpus's samples as they are now, not from an earlier run."""

from collections.abc import Mapping, Sequence, Set
from pathlib import Path

from clipaudit.catalog.scores import KINDS, ScoreTable
from clipaudit.errors import StoreError
from clipaudit.lineage.keeping.reachability import pointer_files, read_pointer
from clipaudit.lineage.walk import outdated
from clipaudit.store.store import Store


def refuse_outdated(results: Path, store: Store, manifest: Sequence[Path]) -> None:
    """Raise StoreError if a part of a manifest comes from samples that the results no longer have.

    Its shards and rows are then those of other samples.
    """
    for pointer in outdated(results, store, manifest, "samples"):
        raise StoreError(
            f"{pointer}: comes from samples that {results / 'samples'} no longer has: they come "
            "from two runs. Run `clipaudit run SETTINGS all_tables` again."
        )


def outdated_files(results: Path, store: Store, corpora: Sequence[str]) -> Set[Path]:
    """Return the objects about some corpora that come only from samples that the results had."""
    names = {f"{corpus}{kind}" for corpus in corpora for kind in KINDS}
    objects = {
        path: store.path(pointer.digest)
        for path in pointer_files(results)
        if names.intersection(path.relative_to(results).parts[:-1])
        and (pointer := read_pointer(results, path)) is not None
    }
    gone = set(outdated(results, store, list(objects), "samples"))
    current = {place for path, place in objects.items() if path not in gone}
    return set(objects.values()) - current


def current_files(
    files: Mapping[str, Sequence[Path]], gone: Set[Path]
) -> Mapping[str, Sequence[Path]]:
    """Return the objects by corpus without those that are `gone`; omit a corpus without objects."""
    current = {name: [path for path in paths if path not in gone] for name, paths in files.items()}
    return {name: paths for name, paths in current.items() if paths}


def current_scores(
    tables: Sequence[ScoreTable], gone: Set[Path]
) -> tuple[list[ScoreTable], list[str]]:
    """Return the tables that have current files, and the names of scores that lack some."""
    kept, lost = [], []
    for table in tables:
        files = current_files(table.files, gone)
        if files != table.files:
            lost += [score.name for score in table.scores]
        if files:
            kept.append(ScoreTable(files, table.scores))
    return kept, lost
