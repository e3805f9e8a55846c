"""Describe a job's inputs by content: the digest and labels of each path that Snakemake names.

A pointer stands for its object, a user's file for itself. Remote tars are described like local
ones, so that equal bytes give equal keys: the rule that indexes them gets their URLs, and any other
rule gets the table `shards` of the index instead.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from clipaudit.errors import StepError
from clipaudit.remote.digests import RemoteDigests
from clipaudit.remote.urls import is_url
from clipaudit.steps.filedigests import FileDigests
from clipaudit.store.actions import ActionInput, LabelledFile
from clipaudit.store.gathered import spread
from clipaudit.store.late_objects import awaited_path
from clipaudit.store.placements import placement
from clipaudit.store.store import Pointer, Store

SHARD_INPUTS = frozenset({"tars", "other_tars"})  # the inputs that hold shards


class InputFiles:
    """Describe the inputs of jobs, and find the files with the described content."""

    def __init__(self, store: Store, results: Path) -> None:
        """Look for objects in `store`; pointers are below `results`."""
        self._store = store
        self._results = results
        self._digests = FileDigests(store.root / "files")
        self._remote = RemoteDigests(store)

    def described(
        self, paths: Sequence[str], urls: Sequence[str], *, name: str
    ) -> list[ActionInput]:
        """Return the files of input `name`, in order; `urls` are the URLs of its remote tars.

        A gathered list stands for the pointers that it names. Raise InputError for an unreadable
        list, user's file or remote shard, and StoreError for an unreadable pointer.
        """
        each = map(Path, spread(paths, self._results))
        if name not in SHARD_INPUTS:
            return [self._described(path) for path in each]
        found = [ActionInput(self._remote.digest(url), url) for url in urls]
        for path in each:
            listed = is_pointer(path, self._results)
            found += self._listed(path) if listed else [self._described(path)]
        return found

    def path(self, file: ActionInput) -> Path:
        """Return a checked object, a user's file, or the stub of a remote shard.

        Raise StepError if a pointer names another object than when the file was described.
        """
        if is_url(file.path):
            return self._remote.stub(file.digest)
        path = Path(file.path)
        if not is_pointer(path, self._results):
            return path
        return awaited_path(self._store, self.pointer(file))

    def pointer(self, file: ActionInput) -> Pointer:
        """Return the pointer of a described input; raise StepError if another job replaced it."""
        pointer = Pointer.read(Path(file.path))
        _require_unchanged(file, pointer.digest)
        return pointer

    def require_unchanged(self, files: Iterable[ActionInput]) -> None:
        """Raise StepError if one of the user's files has changed since it was described."""
        for file in files:
            if not is_url(file.path) and not is_pointer(Path(file.path), self._results):
                _require_unchanged(file, self._digests.digest(Path(file.path)))

    def _described(self, path: Path) -> ActionInput:
        if not is_pointer(path, self._results):
            return ActionInput(self._digests.digest(path), str(path))
        placed = placement(self._results, path)
        return ActionInput(Pointer.read(path).digest, str(path), placed.labels, placed.action)

    def _listed(self, path: Path) -> list[ActionInput]:
        """Describe the remote shards that an index lists."""
        table = LabelledFile(awaited_path(self._store, Pointer.read(path))).table("sha256")
        digests = table["sha256"].to_pylist()
        return [ActionInput(digest, self._remote.url(digest)) for digest in digests]


def _require_unchanged(file: ActionInput, digest: str) -> None:
    if digest != file.digest:
        raise StepError(
            f"{file.path}: changed while a job used it, from {file.digest[:12]}... to "
            f"{digest[:12]}...; nothing was stored. Let one run at a time write to a results "
            "folder, leave shards as they are meanwhile, and run the same command again."
        )


def is_pointer(path: Path, results: Path) -> bool:
    """Return whether jobs treat a file as a pointer, not as a user's file."""
    return path.suffix == ".json" and path.is_relative_to(results)
