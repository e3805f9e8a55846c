"""Collection: remove objects and stored actions that nothing names any more from the store.

Everything that a root names (clipaudit.lineage.keeping.reachability) stays, whatever its age, and
so does everything younger than the grace period. Lineage records and texts read in images always
stay.

**During runs.** A step makes its objects known in this order: the object exists and is young; a
young action names it; a pointer, placed by the action, names it. A stored action that a step takes
becomes young first and is read afterwards (`ActionCache.find`); if it is gone, the step computes.
An object that is stored again also becomes young (`Store.commit`). So:

1. An action is collected if it is old and no root names it. It is renamed into
   store/condemned/, and its time is read again: a step that took it before the rename made it
   young, and it is put back; a later step finds none. A step that took it longer than the grace
   period ago has placed its pointers since, or it violates point 4.
2. Then the needed objects are read: the outputs of unfinished steps, of all remaining actions, of
   all roots, in the order in which a step moves them on, so none falls between two reads.
3. An object is condemned if it is not needed and old, checked just before the rename; its time is
   read again after it. When all are moved aside, the needed objects are read again, and newly
   needed ones are put back. Only then are the others removed. A reader that misses an object looks
   among the condemned and puts it back itself (`Store.flaw`), so no reader ever sees the moment
   between two renames, or a collection killed there. Folders of the store are never removed: a
   writer may be about to use them.
4. The grace period must be longer than the time from taking an action to placing its last pointer,
   which is moments. While a step computes, it holds a lock, and nothing younger than the lock is
   removed, however long it computes. If disks do not lock between machines, the grace period must
   be longer than the longest step.

Snakemake removes the pointers of a job before the job runs. Their objects are unreachable until the
step has found its action: a collection then may cost a computation, never a pointer.
"""

import fcntl
import os
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from clipaudit.errors import StoreError
from clipaudit.lineage.keeping.condemned import (
    Condemned,
    Kind,
    put_back_leftovers,
    stored_files,
)
from clipaudit.lineage.keeping.leftovers import (
    Amount,
    running_since,
    sweep_file_memos,
    sweep_pieces,
    sweep_quarantine,
    sweep_seen,
    sweep_unfinished,
    written_objects,
)
from clipaudit.lineage.keeping.reachability import (
    Root,
    beside,
    fields_of,
    forget,
    pin_roots,
    registered,
    results_root,
)
from clipaudit.store.actions import ActionCache
from clipaudit.store.roots import is_mounted
from clipaudit.store.store import Store


@dataclass(frozen=True)
class Collection:
    """What a collection found, and what it removed, or would remove."""

    roots: Mapping[str, int]  # results folders and pins, with the number of pointers of each
    gone: Sequence[Path]  # registered results folders that are missing
    running: int  # running steps
    kept: Amount  # objects that roots need
    young: Amount  # objects that no root needs, not yet old
    garbage: Mapping[str, Amount]  # what was removed, or would be, by kind
    pins: Mapping[str, Amount]  # objects that only this pin needs


def collect(
    store: Store,
    *,
    grace: float,
    folders: Sequence[Path] = (),
    delete: bool = False,
    forget_missing: bool = False,
    lock: bool = True,
) -> Collection:
    """Remove (without `delete` only count) unnamed files older than `grace` seconds.

    Roots are the registered results folders, those beside the store, `folders`, and the pins.
    Raise StoreError, with nothing removed, if there is no root, if one cannot be read, if `delete`
    finds a registered folder missing without `forget_missing`, if another collection is running,
    or if the disk cannot lock files and `lock` is on.
    """
    if not delete:
        return _Collector(store, folders, time.time_ns(), grace).count()
    with _alone(store.root / "gc.lock", lock) as now:
        return _Collector(store, folders, now, grace).remove(forget_missing=forget_missing)


class _Reading(NamedTuple):
    """The objects needed at one time, and by which actions."""

    named: Sequence[Root]
    gone: Sequence[Path]
    outputs: Mapping[str, frozenset[str]]  # the objects that each stored action gave
    needed: AbstractSet[str]  # objects


_Roots = tuple[list[Root], list[Path]]  # what they name, and the missing folders


class _Collector:
    """One collection."""

    def __init__(self, store: Store, folders: Sequence[Path], now: int, grace: float) -> None:
        self.store = store
        self.folders = {Path(os.path.abspath(folder)) for folder in folders}
        running = running_since(store)
        self.running = len(running)
        self.cutoff = min([now - round(grace * 1e9), *running[:1]])
        self.condemned = Condemned(store, self.cutoff, now)
        self.needs_all = False  # whether a missing results folder is an error

    # --- whole collections -----------------------------------------------------------------------

    def count(self) -> Collection:
        """Count what `remove` would remove."""
        roots = self._roots()
        staying, actions = self._sifted("actions", _actions(roots[0]))
        unfinished = sweep_unfinished(self.store, self.cutoff, delete=False)
        reading = self._read(staying, roots)
        left, objects = self._sifted("objects", reading.needed)
        rest = self._sweep_memos(left.__contains__, staying.__contains__, delete=False)
        garbage = {"objects": objects, "actions": actions, "unfinished": unfinished, **rest}
        return self._report(reading, left, garbage)

    def remove(self, *, forget_missing: bool) -> Collection:
        """Remove what can be removed; put everything back if that fails."""
        self.needs_all = not forget_missing
        named, _ = self._roots()
        put_back_leftovers(self.store)
        try:
            actions = self._condemn("actions", _actions(named))
            unfinished = sweep_unfinished(self.store, self.cutoff, delete=True)
            pointed = frozenset[str]().union(*(root.objects for root in named))
            objects = self._condemn("objects", self._read().needed | pointed)
            reading = self._read()
            for digest in objects.keys() & reading.needed:
                self.condemned.put_back("objects", digest)
                del objects[digest]
            actions = {key: file for key, file in actions.items() if key not in reading.outputs}
            self.condemned.remove()
        finally:
            self.condemned.put_all_back()
        rest = self._sweep_memos(self.store.has, self._has_action, delete=True)
        forget(self.store, reading.gone)
        left = {name: size for name, size, _ in stored_files(self.store, "objects")}
        sums = {"objects": _sum(objects.values()), "actions": _sum(actions.values())}
        return self._report(reading, left, {**sums, "unfinished": unfinished, **rest})

    # --- what is needed --------------------------------------------------------------------------

    def _roots(self) -> _Roots:
        """Return what the roots name now, and the missing results folders."""
        known = registered(self.store)
        folders = sorted(self.folders.union(known, beside(self.store)))
        named, gone = pin_roots(self.store), list[Path]()
        if not folders and not named:
            raise StoreError(
                f"{self.store.root}: no results folder is known to use this store, so all of it "
                "would be garbage. Give yours with --results."
            )
        for folder in folders:
            if folder in known and not is_mounted(folder):
                gone.append(folder)
                continue
            try:
                named.append(results_root(folder))
            except FileNotFoundError:
                gone.append(folder)
        if gone and self.needs_all:
            raise StoreError(
                f"{', '.join(map(str, gone))}: used this store and cannot be found. Put it back "
                "or mount its disk. If it was moved, start its run again, or name the new folder "
                "by --results; --forget-missing then forgets the old one, and what it named."
            )
        return named, gone

    def _read(self, actions: Iterable[str] | None = None, roots: _Roots | None = None) -> _Reading:
        """Read what is needed, in the order in which a step makes it known.

        `actions` are those that count, all stored ones if absent; `roots` are roots read before.
        """
        written = written_objects(self.store)
        if actions is None:
            actions = [key for key, _, _ in stored_files(self.store, "actions")]
        outputs = {key: self._given(key) for key in actions}
        named, gone = roots or self._roots()
        for key in _actions(named) - outputs.keys():
            self.condemned.put_back("actions", key)  # named since it was condemned
            outputs[key] = self._given(key)
        objects = (root.objects for root in named)
        return _Reading(named, gone, outputs, written.union(*objects, *outputs.values()))

    def _given(self, key: str) -> frozenset[str]:
        """Return the objects that a stored action gave; none if it is gone or damaged."""
        fields = fields_of(f"{self.store.root}/actions/{key[:2]}/{key[2:]}.json")
        try:
            return frozenset(each["pointer"]["digest"] for each in fields["outputs"].values())
        except (AttributeError, KeyError, TypeError):
            recorded = ActionCache(self.store).recorded(key) or {}  # which logs what is wrong
            return frozenset(output.pointer.digest for output in recorded.values())

    # --- removal ---------------------------------------------------------------------------------

    def _sifted(self, kind: Kind, needed: Container[str]) -> tuple[dict[str, int], Amount]:
        """Return the bytes of each file that stays, and the amount of the others."""
        staying, count, total = dict[str, int](), 0, 0
        for name, size, modified in stored_files(self.store, kind):
            if modified >= self.cutoff or name in needed:
                staying[name] = size
            else:
                count += 1
                total += size
        return staying, Amount(count, total)

    def _condemn(self, kind: Kind, needed: Container[str]) -> dict[str, int]:
        """Move aside what is old and not needed, and return its bytes; see the module."""
        return {
            name: size
            for name, size, modified in stored_files(self.store, kind)
            if modified < self.cutoff
            and name not in needed
            and self.condemned.put_aside(kind, name)
        }

    def _has_action(self, key: str) -> bool:
        return ActionCache(self.store).file(key).exists()

    def _sweep_memos(
        self, has_object: Callable[[str], bool], has_action: Callable[[str], bool], *, delete: bool
    ) -> dict[str, Amount]:
        return {
            "seen": sweep_seen(self.store, has_object, delete=delete),
            "pieces": sweep_pieces(self.store, has_action, delete=delete),
            "files": sweep_file_memos(self.store, self.cutoff, delete=delete),
            "quarantine": sweep_quarantine(self.store, self.cutoff, delete=delete),
        }

    # --- report ----------------------------------------------------------------------------------

    def _report(
        self, reading: _Reading, left: Mapping[str, int], garbage: Mapping[str, Amount]
    ) -> Collection:
        """Report what was found; `left` are the bytes of each object that stays."""
        held = {
            root.name: root.objects.union(*(reading.outputs[key] for key in root.actions))
            for root in reading.named
        }
        holders = Counter(digest for digests in held.values() for digest in digests)
        alone = {
            root.pin: _sum(
                left[name] for name in held[root.name] if holders[name] == 1 and name in left
            )
            for root in reading.named
            if root.pin
        }
        return Collection(
            roots={root.name: root.pointers for root in reading.named},
            gone=reading.gone,
            running=self.running,
            kept=_sum(left[name] for name in holders if name in left),
            young=_sum(size for name, size in left.items() if name not in holders),
            garbage=garbage,
            pins=alone,
        )


def _sum(sizes: Iterable[int]) -> Amount:
    """Return the amount of files with these sizes."""
    bytes_of_each = list(sizes)
    return Amount(len(bytes_of_each), sum(bytes_of_each))


def _actions(named: Iterable[Root]) -> frozenset[str]:
    return frozenset[str]().union(*(root.actions for root in named))


@contextmanager
def _alone(path: Path, lock: bool) -> Iterator[int]:
    """Exclude other collections; give the time by the clock of the store's disk."""
    try:
        file = path.open("a")
    except OSError as error:
        raise StoreError(
            f"{path}: cannot be written ({error.strerror}). Run gc as a user who can write there."
        ) from error
    with file:
        try:
            if lock:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StoreError(
                f"{path}: another `clipaudit gc` is running. Wait until it has ended."
            ) from error
        except OSError as error:
            raise StoreError(
                f"{path}: this disk cannot lock files ({error.strerror}), so running steps are not "
                "seen. Use --no-lock, with a grace period longer than the longest step."
            ) from error
        os.utime(path)
        yield path.stat().st_mtime_ns
