"""Exports a manifest's samples as a Croissant 1.1 data set: Parquet, its description and origin.

    data.parquet      as in the format "parquet"
    croissant.json    its fields, its SHA-256, and its provenance in terms of PROV-O

mlcroissant reads the records from the folder. The same samples of the same run give the same bytes.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa

from clipaudit.exports.rows import Rows, Tally, meaning
from clipaudit.lineage.walk import actions_below
from clipaudit.plaintext import many, plain
from clipaudit.store.parquet import write_tables
from clipaudit.store.records import Record
from clipaudit.store.store import file_sha256

DATA, METADATA = "data.parquet", "croissant.json"
VERSION = "http://mlcommons.org/croissant/1.1"
TERMS = "Not stated: ask whoever made this data set."

_TYPES = {
    pa.int32(): "sc:Integer",
    pa.string(): "sc:Text",
    pa.float64(): "sc:Float",
    pa.bool_(): "sc:Boolean",
}
_OF_CROISSANT = (
    "annotation arrayShape citeAs column containedIn equivalentProperty excludes extract field "
    "fileObject fileProperty fileSet format includes isArray isLiveDataset jsonPath key md5 "
    "parentField path readLines recordSet references regex repeated replace samplingRate sdVersion "
    "separator source subField transform unArchive value"
).split()
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "prov": "http://www.w3.org/ns/prov#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "description": {"@container": "@language"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
    **{term: f"cr:{term}" for term in _OF_CROISSANT},
}

Node = dict[str, Any]


def write_croissant(rows: Rows, folder: Path, *, terms: str | None = None) -> Tally:
    """Write the Parquet file and its description; `terms` are the licence, a URL or text."""
    tally = Tally(write_tables(rows.tables(), rows.schema, folder / DATA))
    records = actions_below(rows.results, rows.store, rows.manifest.pointers)
    described = _dataset(rows, folder / DATA, tally.rows, records, terms or TERMS)
    (folder / METADATA).write_text(json.dumps(described, indent=1) + "\n")
    return tally


def _dataset(rows: Rows, data: Path, count: int, records: Mapping[str, Record], terms: str) -> Node:
    digest = file_sha256(data)
    what = "All rows, kept or removed" if rows.all_rows else "The samples that are kept"
    corpora = ", ".join(rows.manifest.corpora)
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "@id": f"urn:sha256:{digest}",
        "conformsTo": VERSION,
        "name": rows.manifest.name,
        "description": f"{what}, {count} of them, of manifest {rows.manifest.name} ({corpora}).",
        "url": f"urn:sha256:{digest}",
        "license": terms,
        "creator": {"@type": "sc:Organization", "name": "Not stated: whoever ran clipaudit export"},
        "datePublished": max(map(_ended, records.values())),  # the last action that it comes from
        "version": "1.0.0",
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": DATA,
                "name": DATA,
                "contentUrl": DATA,
                "contentSize": f"{data.stat().st_size} B",
                "encodingFormat": "application/x-parquet",
                "sha256": digest,
            }
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": "samples",
                "name": "samples",
                "description": "One record per sample, by corpus, shard and row.",
                "key": [{"@id": f"samples/{name}"} for name in ("corpus", "shard", "row")],
                "field": [_field(column) for column in rows.schema],
            }
        ],
        "prov:wasDerivedFrom": _given(records),
        "prov:wasGeneratedBy": _export(rows, records, digest),
    }


def _field(column: pa.Field) -> Node:
    field = {
        "@type": "cr:Field",
        "@id": f"samples/{column.name}",
        "name": column.name,
        "source": {"fileObject": {"@id": DATA}, "extract": {"column": column.name}},
    }
    said = meaning(column)
    if said is not None:
        field["description"] = said
    if pa.types.is_fixed_size_list(column.type):
        shape = str(column.type.list_size)
        return field | {"dataType": "cr:Float32", "isArray": True, "arrayShape": shape}
    return field | {"dataType": "sc:URL" if column.name == "url" else _TYPES[column.type]}


# --- provenance ----------------------------------------------------------------------------------


def _export(rows: Rows, records: Mapping[str, Record], digest: str) -> Node:
    """Return the export as an activity: the tool, the manifest's parts, the steps before it."""
    parts = [
        _entity(f"manifest of {part.corpus}, part {part.part}", part.digest)
        for part in rows.manifest.parts
    ]
    by_code: dict[tuple[str, str], list[Record]] = {}
    for record in records.values():
        by_code.setdefault((record.ingredients.step, record.ingredients.code), []).append(record)
    ours = version("clipaudit")
    tool = {"@type": "prov:SoftwareAgent", "@id": f"urn:clipaudit:{ours}"}
    tool["prov:label"] = f"clipaudit {ours}"
    return {
        "@type": "prov:Activity",
        "@id": f"urn:clipaudit:export:{digest}",
        "prov:label": f"clipaudit export of {rows.manifest.name}",
        "prov:wasAssociatedWith": tool,
        "prov:used": parts,
        "prov:wasInformedBy": [_step(*key, group) for key, group in sorted(by_code.items())],
    }


def _step(step: str, code: str, records: Sequence[Record]) -> Node:
    """Return the executions of a step with the same code, without settings that differ."""
    settings = [record.ingredients.settings for record in records]
    shared = {
        name: value
        for name, value in settings[0].items()
        if all(each.get(name) == value for each in settings)
    }
    return {
        "@type": "prov:Activity",
        "@id": f"urn:clipaudit:{step}:{code}",
        "prov:label": f"{step}, {many(len(records), 'time')}",
        "prov:startedAtTime": _time(min(record.execution.started for record in records)),
        "prov:endedAtTime": _time(max(map(_ended, records))),
        "prov:used": [
            {"@type": ["prov:Entity", "prov:Plan"], "prov:label": f"code of {step}"}
            | {"@id": f"urn:sha256:{code}"},
            {"@type": "prov:Entity", "@id": f"urn:clipaudit:{step}:{code}:settings"}
            | {"prov:label": f"settings of {step}"}
            | {"prov:value": json.dumps(shared, sort_keys=True)},
        ],
    }


def _given(records: Mapping[str, Record]) -> list[Node]:
    """Return the files that no action produced: shards, class names, weights."""
    made = {out.pointer.digest for record in records.values() for out in record.outputs.values()}
    files = {
        file.digest: file.path
        for record in records.values()
        for files in record.ingredients.inputs.values()
        for file in files
        if file.digest not in made
    }
    return [_entity(plain(path), digest) for digest, path in sorted(files.items())]


def _entity(label: str, digest: str) -> Node:
    return {"@type": "prov:Entity", "@id": f"urn:sha256:{digest}", "prov:label": label}


def _time(text: str) -> Node:
    """Return a time with its type: a plain text is English in this context, and no time in PROV."""
    return {"@type": "xsd:dateTime", "@value": text}


def _ended(record: Record) -> str:
    start = datetime.fromisoformat(record.execution.started)
    return (start + timedelta(seconds=record.execution.seconds)).isoformat(timespec="milliseconds")
