"""Summarise actions for an RO-Crate: one for each step and code, whatever the number of jobs."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from clipaudit.plaintext import many
from clipaudit.provenance.crate_actions import Entities, Entity, Reference, once
from clipaudit.provenance.recorded import Recorded, Target, ended, parameters
from clipaudit.store.records import Record
from clipaudit.store.store import Pointer

Group = tuple[str, str]  # step, code digest


def summed_actions(run: Recorded, held: Mapping[str, Target]) -> dict[str, Entity]:
    """Return an entity for each step and code, in order of first start, with what they refer to.

    Files that are not in the crate are collections, one for each output of a step and each input
    that users gave, identified by the SHA-256 of their sorted digests. For a setting that differs
    among the executions, the number of values is given.
    """
    groups: dict[Group, list[Record]] = {}
    for record in run.records.values():
        groups.setdefault((record.ingredients.step, record.ingredients.code), []).append(record)
    entities = Entities(held)
    made = {group: _made(run, entities, group, records) for group, records in groups.items()}
    sources = {place: each for by_place in made.values() for place, each in by_place.items()}
    for group, records in groups.items():
        given = _given(run, entities, group, records, sources)
        step, code = group
        entities.add(
            f"#actions-{step}-{code[:12]}",
            "CreateAction",
            name=f"{step}, {len(records)} times",
            description=_took(records),
            startTime=min(record.execution.started for record in records),
            endTime=max(map(ended, records)),
            instrument=entities.tool(records[0]),
            object=once([*given, *_settings(entities, records)]),
            result=once(made[group].values()),
        )
    return entities.all


def _made(
    run: Recorded, entities: Entities, group: Group, records: Sequence[Record]
) -> dict[str, Reference]:
    """Return by path what was made: the file if it is in the crate, else its collection."""
    found: dict[str, Reference] = {}
    kinds: dict[str, dict[str, Pointer]] = {}
    for record in records:
        for place, output, given in run.outputs(record):
            inside = entities.held(place)
            if inside:
                found[place] = inside
            else:  # epochs/0000, epochs/0001 ... are of one kind
                kinds.setdefault(output.partition("/")[0], {})[place] = given.pointer
    for kind, pointers in kinds.items():
        rows = sum(pointer.rows for pointer in pointers.values())
        size = sum(pointer.bytes for pointer in pointers.values())
        collection = _collection(
            entities,
            f"#files-{group[0]}-{group[1][:12]}-made-{kind}",
            f"{kind} of {group[0]}",
            f"{many(len(pointers), 'file')}, {many(rows, 'row')}, {size:,} bytes",
            (pointer.digest for pointer in pointers.values()),
        )
        found |= dict.fromkeys(pointers, collection)
    return found


def _given(
    run: Recorded,
    entities: Entities,
    group: Group,
    records: Sequence[Record],
    sources: Mapping[str, Reference],
) -> list[Reference]:
    """Return what was read: outputs of other steps, and users' files as collections by input."""
    found: list[Reference] = []
    users: dict[str, dict[str, str]] = {}
    for record in records:
        for name, files in sorted(record.ingredients.inputs.items()):
            for file in files:
                if file.digest in run.names:
                    found.append(sources[run.input_name(file)])
                else:
                    users.setdefault(name, {})[file.digest] = file.path
    for name, paths in users.items():
        collection = _collection(
            entities,
            f"#files-{group[0]}-{group[1][:12]}-given-{name}",
            f"{name} of {group[0]}",
            f"{many(len(paths), 'file')}, {next(iter(paths.values()))} the first",
            paths,
        )
        found.append(collection)
    return found


def _collection(
    entities: Entities, identifier: str, name: str, description: str, digests: Iterable[str]
) -> Reference:
    told = hashlib.sha256("".join(f"{digest}\n" for digest in sorted(digests)).encode())
    return entities.add(
        identifier,
        "Collection",
        name=name,
        description=description,
        identifier=f"urn:clipaudit:files:{told.hexdigest()}",
    )


def _settings(entities: Entities, records: Sequence[Record]) -> list[Reference]:
    values: dict[str, set[str]] = {}
    for record in records:
        for name, value in parameters(record).items():
            values.setdefault(name, set()).add(value)
    return [
        entities.parameter(name, min(seen) if len(seen) == 1 else f"{len(seen)} different values")
        for name, seen in sorted(values.items())
    ]


def _took(records: Sequence[Record]) -> str:
    seconds = sum(record.execution.seconds for record in records)
    memory = max(record.execution.peak_memory_mb for record in records)
    hosts = len({record.execution.host for record in records})
    return f"{seconds:.1f} s in total on {hosts} machines, {memory} MB of memory at most"
