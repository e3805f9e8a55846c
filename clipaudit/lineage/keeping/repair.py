"""Repair: move aside what verification found damaged, and let the workflow remake it.

    store/quarantine/<digest>   a damaged object, kept for inspection

A damaged object is moved aside, the pointers that name it are removed, and Snakemake runs for
exactly these; if an action gave more than its declared outputs (the epochs of a model), for the
declared ones. Do not repair during a run: its pointers would disappear.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from clipaudit.errors import StoreError
from clipaudit.lineage.keeping.reachability import has_placement, known_placement, pointer_files
from clipaudit.lineage.keeping.verification import Fault
from clipaudit.steps.command import snakemake_command
from clipaudit.store.actions import ActionCache
from clipaudit.store.placements import Placement
from clipaudit.store.store import Pointer, Store, link_object

_REMADE = ("missing", "wrong size", "corrupt", "pointer")
_ASIDE = ("wrong size", "corrupt")
_TARGETS_AT_ONCE = 1000  # some 100 KB, which a command line holds safely


@dataclass(frozen=True)
class Outcome:
    """The digest that a removed pointer named before (None if unknown), and names now."""

    pointer: Path
    before: str | None
    after: str | None

    @property
    def word(self) -> str:
        """Return `same`, `other`, or `gone` if it did not come back."""
        if self.after is None:
            return "gone"
        return "same" if self.before in (None, self.after) else "other"


def mend(results: Path, store: Store, faults: Sequence[Fault]) -> dict[Path, str | None]:
    """Move damaged objects aside, remake links, and remove the pointers of lost objects.

    A file that no action placed is not removed, even if it is blank. Return the removed pointers
    that the workflow knows, in path order, each with the digest that it named or should have named,
    None if unknown.
    """
    for fault in faults:
        if fault.kind in _ASIDE and fault.digest:
            _put_into_quarantine(store, fault.digest)
        if fault.kind == "link" and fault.digest:
            link_object(Path(fault.place), store.path(fault.digest))
    placed = {
        path: made for path in pointer_files(results) if (made := known_placement(results, path))
    }
    lost = {
        fault.pointer: fault.digest or _given(store, placed.get(fault.pointer))
        for fault in faults
        if fault.kind in _REMADE and fault.pointer
        if fault.kind != "pointer" or has_placement(results, fault.pointer)
    }
    targets = {path: _declared(placed, path) for path in lost}
    removed = {
        declared: lost[declared] if declared in lost else _digest(declared)
        for declared in sorted(set().union(*targets.values()))
    }
    for path in (*removed, *(path for path, declared in targets.items() if declared)):
        path.unlink(missing_ok=True)
    return removed


def remake(targets: Sequence[Path], *, profile: str, configfiles: Sequence[Path]) -> bool:
    """Run Snakemake for these pointers, with messages on standard error; return success.

    It runs in this folder, as with `clipaudit run`.
    """
    well = True
    for start in range(0, len(targets), _TARGETS_AT_ONCE):
        some = [str(path) for path in targets[start : start + _TARGETS_AT_ONCE]]
        command = snakemake_command(some, profile=profile, configfiles=configfiles)
        well &= subprocess.run(command, stdout=2, check=False).returncode == 0
    return well


def outcomes(before: Mapping[Path, str | None]) -> list[Outcome]:
    """Return the outcomes of removed pointers."""
    return [Outcome(path, digest, _digest(path)) for path, digest in before.items()]


def _put_into_quarantine(store: Store, digest: str) -> None:
    """Move an object aside; a second call for a shared object does nothing."""
    aside = store.root / "quarantine" / digest
    aside.parent.mkdir(exist_ok=True)
    with suppress(FileNotFoundError):
        os.replace(store.path(digest), aside)
        # the grace period of `clipaudit gc` starts now; a group's object behind a link has its own
        os.utime(aside, follow_symlinks=False)


def _declared(placed: Mapping[Path, Placement], path: Path) -> list[Path]:
    """Return the declared pointer through which Snakemake makes `path`.

    An epoch of a model, `<model>.epochs/0000.json`, is beside the declared model. Return none if
    the model is gone: then nothing makes the epoch again.
    """
    if path not in placed or "/" not in placed[path].output:
        return [path]
    key = placed[path].action
    return [
        each
        for each, made in placed.items()
        if made.action == key
        and "/" not in made.output
        and str(path).startswith(f"{str(each).removesuffix('.json')}.")
    ]


def _given(store: Store, placed: Placement | None) -> str | None:
    """Return the digest that the store recorded for a placement."""
    outputs = ActionCache(store).recorded(placed.action) if placed else None
    output = outputs.get(placed.output) if outputs and placed else None
    return output.pointer.digest if output else None


def _digest(path: Path) -> str | None:
    try:
        return Pointer.read(path).digest
    except StoreError:
        return None
