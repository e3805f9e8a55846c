"""Exports a manifest's samples as a folder in FiftyOne's own format, without using FiftyOne.

    metadata.json        the fields of the dataset
    samples.json         one document per sample
    data/ab/<uid>.png    the images as in the shards, named by uid

`fiftyone.Dataset.from_dir(folder, dataset_type=fiftyone.types.FiftyOneDataset)` reads it. The same
samples give the same bytes. No text from a tar or a caption becomes a file name.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from clipaudit.catalog.scores import column_name
from clipaudit.exports.pictures import (
    PICTURE_COLUMNS,
    images_of,
    picture_path,
    plain_rows,
    with_picture,
    write_picture,
)
from clipaudit.exports.rows import Rows, Tally, meaning
from clipaudit.plaindata import Row
from clipaudit.plaintext import many

METADATA = "metadata.json"  # marks a folder of this format
VERSION = "1.0.0"  # of the format: each later FiftyOne upgrades it to its own
EPOCH = {"$date": "1970-01-01T00:00:00Z"}  # FiftyOne sets its own on loading

_FIELDS = "fiftyone.core.fields."
_TYPES = {
    pa.int32(): "IntField",
    pa.string(): "StringField",
    pa.float64(): "FloatField",
}
_TAKEN = {"id", "filepath", "tags", "metadata", "created_at", "last_modified_at", "text", "kept"}


def write_fiftyone(rows: Rows, folder: Path, *, pictures: bool = True) -> Tally:
    """Write the dataset: kept samples tagged `kept`, with `all_rows` also others, `removed`.

    Rows that were dropped before they were samples have no image and are left out; a note counts
    them. Without `pictures` the paths are the same, but the files are not written. Raise InputError
    if a shard has changed since it was indexed, and for a corpus without images.
    """
    (folder / "data").mkdir(parents=True)
    fields = _value_fields(rows.schema)
    (folder / METADATA).write_text(json.dumps(_metadata(rows, fields), indent=1) + "\n")
    tally = Tally()
    left_out = 0
    with (folder / "samples.json").open("w") as file:
        file.write('{"samples": [')
        tables = rows.tables(*PICTURE_COLUMNS, "spans")
        for part, table in zip(rows.manifest.parts, tables, strict=True):
            usable = with_picture(rows, part, table)
            left_out += len(table) - len(usable)
            images = images_of(rows, part, usable) if pictures else None
            for row in plain_rows(usable):
                path = write_picture(folder, row, next(images)) if images else picture_path(row)
                document = json.dumps(_document(row, path, fields), allow_nan=False)
                file.write(("," if tally.rows else "") + "\n" + document)
                tally.rows += 1
        file.write("\n]}\n")
    if left_out:
        tally.notes.append(f"left out, without a usable image: {many(left_out, 'row')}")
    return tally


def _document(row: Row, path: str, fields: Mapping[str, str]) -> dict[str, Any]:
    place = f"{row['corpus']}/{row['shard']}/{row['row']}"
    identity = _object_id(place)
    values = {name: row[column] for column, name in fields.items()}
    return {
        "_id": {"$oid": identity},
        "filepath": path,
        "tags": ["removed" if row.get("kept") is False else "kept"],
        "metadata": {
            "_cls": "ImageMetadata",
            "size_bytes": row["image_bytes"],
            "mime_type": f"image/{row['image_format']}",
            "width": row["width"],
            "height": row["height"],
        },
        "_media_type": "image",
        "_rand": int(identity[:8], 16) / 2**32,
        "created_at": EPOCH,
        "last_modified_at": EPOCH,
        **values,
        "text": _detections(row, place),
    }


def _detections(row: Row, place: str) -> dict[str, Any] | None:
    """Return the spans as FiftyOne's Detections, or None if no spotter ran."""
    if row["spans"] is None:
        return None
    found = [
        {
            "_id": {"$oid": _object_id(f"{place}/{number}")},
            "_cls": "Detection",
            "attributes": {},
            "tags": [],
            "label": span["text"],
            "bounding_box": box(span["polygon"], row["width"], row["height"]),
            "confidence": span["score"],
        }
        for number, span in enumerate(row["spans"])
    ]
    return {"_cls": "Detections", "detections": found}


def box(polygon: Sequence[float], width: int, height: int) -> list[float]:
    """Return left, top, width and height of a polygon, as shares of its image's sides.

    The part outside the image is cut off.

    >>> box([16, 0, 64, 0, 64, 300, 16, 300], 64, 200)
    [0.25, 0.0, 0.75, 1.0]
    """
    across = [min(max(x / width, 0.0), 1.0) for x in polygon[::2]]
    down = [min(max(y / height, 0.0), 1.0) for y in polygon[1::2]]
    left, top = min(across), min(down)
    return [left, top, max(across) - left, max(down) - top]


def _object_id(text: str) -> str:
    """Return 24 hex digits for a document, which MongoDB accepts as an id."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _value_fields(schema: pa.Schema) -> dict[str, str]:
    """Return the fields of a sample by the column that each comes from."""
    return {
        field.name: f"sample_{field.name}" if field.name in _TAKEN else column_name(field.name)
        for field in schema
        if field.name != "kept"  # a tag
    }


def _metadata(rows: Rows, fields: Mapping[str, str]) -> dict[str, Any]:
    identity = _object_id(rows.manifest.name)
    described = [
        _field(
            name,
            _TYPES[rows.schema.field(column).type],
            description=meaning(rows.schema.field(column)),
        )
        for column, name in fields.items()
    ]
    return {
        "_id": {"$oid": identity},
        "name": f"clipaudit-{identity}",
        "version": VERSION,
        "created_at": EPOCH,
        "last_modified_at": EPOCH,
        "last_loaded_at": EPOCH,
        "sample_collection_name": f"samples.{identity}",
        "persistent": False,
        "media_type": "image",
        "group_media_types": {},
        "tags": [],
        "info": {"manifest": rows.manifest.name, "made_by": "clipaudit export"},
        "app_config": {"media_fields": ["filepath"]},
        "classes": {},
        "default_classes": [],
        "mask_targets": {},
        "default_mask_targets": {},
        "skeletons": {},
        "sample_fields": [*_default_fields(), *described, _text_field()],
        "saved_views": [],
        "workspaces": [],
        "annotation_runs": {},
        "brain_methods": {},
        "evaluations": {},
        "runs": {},
    }


def _default_fields() -> list[dict[str, Any]]:
    sizes = [_field("size_bytes", "IntField"), _field("mime_type", "StringField")]
    sizes += [_field("width", "IntField"), _field("height", "IntField")]
    about = "fiftyone.core.metadata.ImageMetadata"
    return [
        _field("id", "ObjectIdField", stored="_id"),
        _field("filepath", "StringField"),
        _field("tags", "ListField", subfield="StringField"),
        _field("metadata", "EmbeddedDocumentField", fields=sizes, embedded_doc_type=about),
        _field("_media_type", "StringField"),
        _field("_rand", "FloatField"),
        _field("created_at", "DateTimeField", read_only=True),
        _field("last_modified_at", "DateTimeField", read_only=True),
    ]


def _text_field() -> dict[str, Any]:
    detection = [
        _field("id", "ObjectIdField", stored="_id"),
        _field("tags", "ListField", subfield="StringField"),
        _field("label", "StringField"),
        _field("bounding_box", "ListField", subfield="FloatField"),
        _field("confidence", "FloatField"),
    ]
    listed = _field("detections", "ListField", subfield="EmbeddedDocumentField", fields=detection)
    listed["embedded_doc_type"] = "fiftyone.core.labels.Detection"
    field = _field("text", "EmbeddedDocumentField", fields=[listed], description="spotted text")
    return {**field, "embedded_doc_type": "fiftyone.core.labels.Detections"}


def _field(
    name: str,
    kind: str,
    *,
    subfield: str | None = None,
    fields: Sequence[dict[str, Any]] = (),
    stored: str | None = None,
    **more: object,
) -> dict[str, Any]:
    """Describe a field as FiftyOne's SampleFieldDocument does."""
    return {
        "name": name,
        "ftype": _FIELDS + kind,
        "embedded_doc_type": None,
        "subfield": subfield and _FIELDS + subfield,
        "fields": list(fields),
        "db_field": stored or name,
        "description": None,
        "info": None,
        "read_only": False,
        "created_at": EPOCH,
        **more,
    }
