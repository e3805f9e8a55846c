"""Verification: check that everything a run's pointers and the pins name is as written.

Objects are hashed again, several in parallel, whatever their times say. A pointer is good if its
object is, if the link beside it leads there, if a placement and a lineage record name its action,
and if the bytes of the user's files that the action read still exist: without them the object can
be trusted, but not remade. Remote files are counted, not fetched.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from clipaudit.errors import InputError, StoreError
from clipaudit.lineage.keeping.condemned import stored_files
from clipaudit.lineage.keeping.reachability import (
    known_placement,
    pinned_snapshots,
    pointer_files,
    read_pointer,
)
from clipaudit.remote.digests import RemoteDigests
from clipaudit.remote.stubs import SUFFIX
from clipaudit.remote.urls import is_url
from clipaudit.steps.filedigests import FileDigests
from clipaudit.store.placements import Placement
from clipaudit.store.records import Record, read_records
from clipaudit.store.store import Damage, Flaw, Pointer, Store

Kind = Literal[Damage, "pointer", "link", "unverifiable"]

_HANDED_OUT = 10_000  # objects given to the threads at a time; affects memory, not results
_REMAKE = "`clipaudit verify --repair --configfile SETTINGS` remakes it."
_REMEDIES: Mapping[Damage, str] = {
    "missing": _REMAKE,
    "wrong size": f"It was truncated or overwritten: {_REMAKE}",
    "corrupt": f"The disk or a program altered it: {_REMAKE}",
    "unreadable": "Give this user read permission.",
}


@dataclass(frozen=True)
class Fault:
    """One thing that cannot be trusted or cannot be remade, and what to do about it."""

    kind: Kind
    place: str  # a pointer, a link, an object or a user's file
    what: str
    remedy: str
    digest: str | None = None  # of the object concerned
    pointer: Path | None = None  # the pointer concerned, in the results folder


@dataclass
class Report:
    """What was checked, and the faults."""

    pointers: int = 0
    objects: int = 0
    bytes: int = 0
    remote: int = 0  # shards at URLs that actions read; their servers are not contacted
    faults: list[Fault] = field(default_factory=list)

    @property
    def broken(self) -> list[Fault]:
        """Return the faults of what cannot be trusted: all except unverifiable ones."""
        return [fault for fault in self.faults if fault.kind != "unverifiable"]


@dataclass(frozen=True)
class _Named:
    """A named object; `remedy` differs if no pointer of the run names it."""

    content: Pointer  # digest and bytes only: equal content may have several schema names
    place: str
    path: Path | None = None
    remedy: str | None = None


def verify_results(
    results: Path,
    store: Store,
    *,
    everything: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Report:
    """Read every pointer below `results`, and hash every object that it or a pin names once.

    With `everything`, also hash objects of the store that nothing names. `progress` gets the bytes
    hashed and the bytes to hash. Faults are sorted by place.
    """
    report = Report()
    pointers = dict(_pointers(results, report))
    named = [_Named(_content(pointer), str(path), path) for path, pointer in pointers.items()]
    named += _pinned(store, {each.content for each in named}, report)
    if everything:
        named += _unnamed(store, {each.content.digest for each in named})
    flaws = _flaws(store, {each.content for each in named}, report, progress)
    for each in named:
        flaw = flaws[each.content]
        if flaw:
            report.faults.append(_object_fault(store, each, flaw))
    whole = {path: pointer for path, pointer in pointers.items() if not flaws[_content(pointer)]}
    report.faults += _unverifiable(results, store, pointers, whole, report)
    report.faults.sort(key=lambda fault: (fault.place, fault.kind))
    return report


# --- pointers and objects ------------------------------------------------------------------------


def _pointers(results: Path, report: Report) -> Iterator[tuple[Path, Pointer]]:
    for path in pointer_files(results):
        try:
            pointer = read_pointer(results, path)
        except StoreError as error:
            report.pointers += 1
            what = str(error).removeprefix(f"{path}: ").removesuffix(".")
            report.faults.append(Fault("pointer", str(path), what, _REMAKE, pointer=path))
            continue
        if pointer:
            report.pointers += 1
            yield path, pointer


def _pinned(store: Store, known: set[Pointer], report: Report) -> Iterator[_Named]:
    """Yield the objects that only pins name, not pointers."""
    remedy = "Copy the object from another store, or remove the pin."
    try:
        snapshots = pinned_snapshots(store)
    except StoreError as error:
        place, _, what = str(error).partition(": ")
        report.faults.append(Fault("pointer", place, what, "Restore it, or remove it."))
        return
    for name, snapshot in snapshots.items():
        for path, placed in snapshot.placed.items():
            content = _content(placed.pointer)
            if content not in known:
                known.add(content)
                yield _Named(content, f"pin {name}, {path}", remedy=remedy)


def _unnamed(store: Store, known: set[str]) -> Iterator[_Named]:
    """Yield the other objects of the store."""
    remedy = "Nothing names it: `clipaudit verify --all --repair` moves it aside."
    for digest, size, _ in stored_files(store, "objects"):
        if digest not in known:
            yield _Named(Pointer(digest, 0, size, ""), str(store.path(digest)), remedy=remedy)


def _content(pointer: Pointer) -> Pointer:
    return Pointer(pointer.digest, 0, pointer.bytes, "")


def _flaws(
    store: Store, pointers: set[Pointer], report: Report, progress: Callable[[int, int], None]
) -> dict[Pointer, Flaw | None]:
    """Hash the objects in parallel threads: hashing releases the GIL."""
    flaws: dict[Pointer, Flaw | None] = {}
    total = sum(pointer.bytes for pointer in pointers)
    longest_first = sorted(pointers, key=lambda pointer: -pointer.bytes)
    with ThreadPoolExecutor() as threads:
        for start in range(0, len(longest_first), _HANDED_OUT):
            waiting = {
                threads.submit(store.flaw, pointer, rehash=True): pointer
                for pointer in longest_first[start : start + _HANDED_OUT]
            }
            for done in as_completed(waiting):
                pointer = waiting[done]
                flaws[pointer] = done.result()
                report.objects += 1
                report.bytes += pointer.bytes
                progress(report.bytes, total)
    return flaws


def _object_fault(store: Store, named: _Named, flaw: Flaw) -> Fault:
    place = store.path(named.content.digest)
    what = flaw.what if named.place == str(place) else f"{place}: {flaw.what}"
    remedy = _REMEDIES[flaw.damage]
    if named.remedy and flaw.damage != "unreadable":
        remedy = named.remedy
    return Fault(flaw.damage, named.place, what, remedy, named.content.digest, named.path)


# --- links, placements, records, users' files ----------------------------------------------------


def _unverifiable(
    results: Path,
    store: Store,
    pointers: Mapping[Path, Pointer],
    whole: Mapping[Path, Pointer],
    report: Report,
) -> Iterator[Fault]:
    """Yield the faults around pointers: the links of `whole` ones, and their actions."""
    placements = {path: each for path in pointers if (each := known_placement(results, path))}
    for path in [path for path in pointers if path not in placements]:
        what = "no record of the action that placed it"
        remedy = (
            f"Remove it and run `clipaudit run SETTINGS {path}`: the store still has the content."
        )
        yield Fault("unverifiable", str(path), what, remedy, pointers[path].digest, path)
    records = _records(store, {placed.action for placed in placements.values()})
    made: dict[str, list[Path]] = {}
    for path, placed in placements.items():
        made.setdefault(placed.action, []).append(path)
        if placed.action not in records:
            what = f"no lineage record of action {placed.action}"
            remedy = "Copy store/lineage from where it was made; its numbers cannot be traced."
            yield Fault("unverifiable", str(path), what, remedy, pointers[path].digest, path)
        elif path in whole:
            yield from _link_fault(store, path, whole[path], placed, records[placed.action])
    yield from _file_faults(results, store, records, made, report)


def _records(store: Store, keys: set[str]) -> dict[str, Record]:
    """Return the readable records."""
    try:
        return read_records(store, keys)
    except StoreError:  # one is damaged: find it
        found: dict[str, Record] = {}
        for key in keys if len(keys) > 1 else ():
            found |= _records(store, {key})
        return found


def _link_fault(
    store: Store, path: Path, pointer: Pointer, placed: Placement, record: Record
) -> Iterator[Fault]:
    output = record.outputs.get(placed.output)
    if output is None:
        return
    stem = path.name.removesuffix(".json").removesuffix(output.extension)
    link, target = path.with_name(stem + output.extension), store.path(pointer.digest)
    try:
        found = os.readlink(link)
    except OSError:
        what = f"no link to the object {target}"
    else:
        if os.path.realpath(link) == os.path.realpath(target):
            return
        what = f"leads to {found}, but its pointer names {target}"
    remedy = "`clipaudit verify --repair --configfile SETTINGS` remakes the link."
    yield Fault("link", str(link), what, remedy, pointer.digest, path)


def _file_faults(
    results: Path,
    store: Store,
    records: Mapping[str, Record],
    made: Mapping[str, Sequence[Path]],
    report: Report,
) -> Iterator[Fault]:
    """Yield user files whose bytes, as an action read them, are gone, each file once.

    A moved file is not gone. For a remote file, check only whether a later index found other bytes.
    """
    read: dict[tuple[str, str], list[str]] = {}
    for key, record in records.items():
        for files in record.ingredients.inputs.values():
            for file in files:
                if file.action is None:
                    read.setdefault((file.path, file.digest), []).append(key)
    digests, remote = FileDigests(store.root / "files"), RemoteDigests(store)
    at_urls: set[str] = set()
    for (name, digest), keys in read.items():
        if is_url(name):
            at_urls.add(digest)
            found: str | None = remote.recorded(name) or digest
        else:
            found = _digest_now(results, name, digests)
            moved = None if found == digest else _moved(digest, digests)
            if moved is not None:
                found = digest
                if moved.suffix == SUFFIX:
                    at_urls.add(digest)
        if found != digest:
            paths = sorted(path for key in set(keys) for path in made[key])
            more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
            what = (
                f"{'is gone or unreadable' if found is None else f'is {found[:12]}... now'}, but "
                f"{paths[0]}{more} came from it as {digest[:12]}..."
            )
            remedy = "Restore the file; results made from it can be read, but not made again."
            yield Fault("unverifiable", name, what, remedy, digest)
    report.remote = len(at_urls)


def _digest_now(results: Path, name: str, digests: FileDigests) -> str | None:
    """Return a file's SHA-256, relative to the current folder or to the results folder's parent."""
    for path in (Path(name), Path(os.path.abspath(results)).parent / name):
        try:
            return digests.digest(path, must_record=False)
        except InputError:
            continue
    return None


def _moved(digest: str, digests: FileDigests) -> Path | None:
    """Return a file or stub that has the bytes with this SHA-256 now; None if none is known."""
    try:
        return digests.locate(digest)
    except InputError:
        return None
