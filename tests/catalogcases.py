"""Catalogs of a few rows: each view from files with labels, as the stages write them."""

import pyarrow as pa
import pyarrow.parquet as pq

from clipaudit.catalog.views import CATALOG, CatalogFile, write_catalog
from clipaudit.copies.hashing import IMAGES
from clipaudit.corpora.drops import DROPS
from clipaudit.corpora.manifests import MANIFEST
from clipaudit.corpora.samples import SAMPLES
from clipaudit.deduplication.duplicates import DUPLICATES
from clipaudit.embeddings.vector_map import VECTOR_MAP
from clipaudit.memorization.membership import MEMBERS
from clipaudit.memorization.recall import RECALLS
from clipaudit.parrot.matching import MATCHES
from clipaudit.parrot.spans import SPANS
from clipaudit.similarity.nearest import SIMILARITIES

SCHEMAS = {
    "samples": SAMPLES,
    "images": IMAGES,
    "manifests": MANIFEST,
    "maps": VECTOR_MAP,
    "similarities": SIMILARITIES,
    "duplicates": DUPLICATES,
    "members": MEMBERS,
    "recalls": RECALLS,
    "matches": MATCHES,
    "spans": SPANS,
    "readings": SPANS,
    "drops_index": DROPS,
    "drops_overlaps": DROPS,
    "drops_spot": DROPS,
}
_DEFAULTS = {
    "int32": 0, "int64": 0, "string": "", "float": 0.0, "double": 0.0, "bool": True,
}  # fmt: skip


def sample(shard, row, **columns):
    """Return a row of SAMPLES; its uid and key come from its address."""
    uid = f"{shard:02x}{row:06x}".ljust(32, "0")
    given = {
        "shard": shard,
        "row": row,
        "key": f"{row:06}",
        "uid": uid,
        "caption": f"{shard}.{row}",
    }
    return {**given, "width": 8, "height": 8, **columns}


def make_catalog(folder, *files, run=None):
    """Write a catalog below `folder`, from (view, labels, rows); return the results folder."""
    results, objects = folder / "results", folder / "store" / "objects" / "ab"
    results.mkdir(parents=True)
    objects.mkdir(parents=True)
    placed = []
    for number, (view, labels, rows) in enumerate(files):
        path = objects / f"{number:02}"
        pq.write_table(_table(SCHEMAS[view], rows), path)
        placed.append(CatalogFile(view, path, labels))
    write_catalog(placed, {}, results / CATALOG, run)
    return results


def _table(schema, rows):
    defaults = {
        field.name: None if field.nullable else _DEFAULTS.get(str(field.type), [])
        for field in schema
    }
    return pa.Table.from_pylist([{**defaults, **row} for row in rows], schema=schema)
