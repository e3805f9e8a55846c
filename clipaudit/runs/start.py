"""Before a run: refuse what cannot end well, remove what is outdated, register the results."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clipaudit.errors import ClipauditError
from clipaudit.steps.workflow import stop_with

if TYPE_CHECKING:
    from clipaudit.config.settings import Settings


def refuse_excess_of(graph: Any, config: Mapping[str, Any]) -> None:  # noqa: ANN401
    """Stop before a run that would exceed the section `limits` of its settings."""
    if config["limits"] is None:
        return
    from clipaudit.lineage.planning.forecasts import outlook
    from clipaudit.lineage.planning.limits import needs, own_estimates, refuse_excess, room_of
    from clipaudit.steps.jobs import workflow_of

    try:
        workflow = workflow_of(graph, config)
        needed = needs(outlook(workflow), own_estimates(workflow))
        refuse_excess(needed, config["limits"], room_of(workflow.store))
    except ClipauditError as error:
        stop_with(error)


def refuse_failures_of(run: "Settings") -> None:
    """Stop before a run that must fail: files of the future, a model, a split, too little data."""
    from clipaudit.config.loading import check_architectures, check_splits, check_times
    from clipaudit.lineage.planning.shortages import refuse_shortages

    try:
        check_times(run)
        check_architectures(run)
        check_splits(run)
        refuse_shortages(run)
    except ClipauditError as error:
        stop_with(error)


def register_again(run: "Settings") -> None:
    """Register a results folder whose record is missing: it was moved, or the record was lost.

    Each job does, but a run that has nothing to do starts none, and `clipaudit gc` would collect
    what the folder names. Nothing happens before the first job, and in a store that is read-only.
    """
    from clipaudit.store.roots import is_mounted, register
    from clipaudit.store.sharing import group_rights
    from clipaudit.store.store import Store

    shared = [run.shared_store.path] if run.shared_store and run.shared_store.write else []
    for store in map(Path, [run.store, *shared]):
        if is_mounted(Path(run.results)) and store.is_dir():
            with suppress(OSError), group_rights(store):
                register(Store(store), Path(run.results))


def remove_outdated_parts(run: "Settings", results: Path) -> int:
    """Remove the pointers of parts that corpora no longer have; return how many.

    A corpus of fewer parts has other shards in them. An export that read all parts of the folder
    would repeat samples, or contain those that the corpus no longer has. The store keeps their
    content.
    """
    from clipaudit.lineage.keeping.reachability import known_placement, pointer_files

    parts = {name: len(run.parts(name)) for name in run.corpora}
    outdated = []
    for path in pointer_files(results):
        folders = [each.partition(".")[0] for each in path.relative_to(results).parts[:-1]]
        corpora = {each for each in folders if each in parts}
        if not path.stem.isdigit() or all(int(path.stem) < parts[each] for each in corpora):
            continue
        placed = known_placement(results, path)
        labels = placed.labels if placed is not None else {}
        corpus = (labels.get("corpus") or labels.get("source", "")).partition(".")[0]
        if labels.get("part") == path.stem and corpus in parts and int(path.stem) >= parts[corpus]:
            outdated.append(path)
    for path in outdated:
        path.with_suffix(".parquet").unlink(missing_ok=True)  # the link to its content
        path.unlink()
    return len(outdated)
