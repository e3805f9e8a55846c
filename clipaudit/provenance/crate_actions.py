"""Describe actions as entities of an RO-Crate, as plain data: one for each execution."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from clipaudit.plaintext import many
from clipaudit.provenance.recorded import Recorded, Target, ended, parameters, title
from clipaudit.store.actions import ActionInput, ActionOutput
from clipaudit.store.records import Record

Entity = dict[str, Any]
Reference = dict[str, str]  # {"@id": ...}


class Entities:
    """The entities of a crate other than its files, by id, each added once."""

    def __init__(self, held: Mapping[str, Target]) -> None:
        """Start empty; `held` are files in the crate, by their paths in the results."""
        self.all: dict[str, Entity] = {}
        self._held = held

    def add(self, identifier: str, kind: str, /, **properties: object) -> Reference:
        """Add an entity unless its id exists; return a reference to it."""
        self.all.setdefault(identifier, {"@type": kind, **properties})
        return {"@id": identifier}

    def held(self, place: str) -> Reference | None:
        """Return a file in the crate; None if it is not there."""
        return {"@id": quote(place)} if place in self._held else None

    def made(self, place: str, output: ActionOutput) -> Reference:
        """Return a file that an action made; a local id means that the crate lacks it."""
        pointer = output.pointer
        about = {"name": place, "sha256": pointer.digest, "contentSize": str(pointer.bytes)}
        if output.extension == ".parquet":
            about["description"] = f"{pointer.schema}: {many(pointer.rows, 'row')}"
        return self.held(place) or self.add(f"#results/{quote(place)}", "File", **about)

    def read(self, run: Recorded, file: ActionInput) -> Reference:
        """Return a file that an action read, from another action or from a user."""
        name = run.input_name(file)
        if file.digest in run.names:
            return self.held(name) or {"@id": f"#results/{quote(name)}"}
        return self.add(f"#sha256-{file.digest}", "File", name=name, sha256=file.digest)

    def tool(self, record: Record) -> Reference:
        """Return a step of clipaudit as a tool, with its code digest as version and URN.

        RO-Crate requires a name, a URL and a version of software, and not `softwareVersion` too.
        """
        step, code = record.ingredients.step, record.ingredients.code
        return self.add(
            f"#{step}-{code[:12]}",
            "SoftwareApplication",
            name=f"clipaudit, step {step}",
            description="The version is the SHA-256 of the code: script, modules, SQL.",
            version=code,
            url=f"urn:sha256:{code}",
        )

    def parameter(self, name: str, value: str) -> Reference:
        """Return a setting; several actions with equal settings share one entity."""
        told = hashlib.sha256(f"{name}={value}".encode("utf-8", "surrogatepass")).hexdigest()
        return self.add(f"#setting-{told[:24]}", "PropertyValue", name=name, value=value)


def each_action(run: Recorded, held: Mapping[str, Target]) -> dict[str, Entity]:
    """Return an entity for each action by id, in order of start, after what it refers to."""
    entities = Entities(held)
    for key, record in run.records.items():
        read = [
            entities.read(run, file)
            for _, files in sorted(record.ingredients.inputs.items())
            for file in files
        ]
        asked = [entities.parameter(name, value) for name, value in parameters(record).items()]
        made = [entities.made(place, given) for place, _, given in run.outputs(record)]
        ran = record.execution
        entities.add(
            f"#action-{key}",
            "CreateAction",
            name=title(record),
            description=(
                f"{ran.seconds} s on {ran.host} with {ran.threads} threads and "
                f"{ran.peak_memory_mb} MB of memory at most"
            ),
            startTime=ran.started,
            endTime=ended(record),
            instrument=entities.tool(record),
            object=once([*read, *asked]),
            result=once(made),
        )
    return entities.all


def once(references: Iterable[Reference]) -> list[Reference]:
    """Return references in order, without repetitions."""
    return [{"@id": name} for name in dict.fromkeys(each["@id"] for each in references)]
