"""Verification: every object that a run's pointers name, hashed again."""

from dataclasses import dataclass, field
from pathlib import Path

from clipaudit.errors import StoreError
from clipaudit.store import Pointer, Store


@dataclass(frozen=True)
class Fault:
    """One pointer that cannot be trusted, and what is wrong with it or its object."""

    pointer: Path
    what: str


@dataclass
class Report:
    """What was looked at, and what is wrong."""

    pointers: int = 0
    objects: int = 0
    bytes: int = 0
    faults: list[Fault] = field(default_factory=list)


def pointer_files(results: Path) -> list[Path]:
    """Return the pointers below a results folder, in path order."""
    return [
        path
        for path in sorted(results.rglob("*.json"))
        if not path.relative_to(results).parts[0].startswith(".")
    ]


def verify_results(results: Path, store: Store) -> Report:
    """Read every pointer, hash every object once, and check every link."""
    report = Report()
    known: dict[str, str | None] = {}
    for path in pointer_files(results):
        report.pointers += 1
        try:
            pointer = Pointer.read(path)
        except StoreError as error:
            report.faults.append(Fault(path, str(error)))
            continue
        if pointer.digest not in known:
            known[pointer.digest] = store.fault(pointer, rehash=True)
            report.objects += 1
            report.bytes += pointer.bytes
        fault = known[pointer.digest]
        if fault:
            report.faults.append(Fault(path, f"{store.path(pointer.digest)}: {fault}"))
    return report
