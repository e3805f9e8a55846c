"""Read one sample's fate in all audits from a catalog.

Every part comes from the view of its stage; a stage missing from this run gives nothing.
"""

from collections.abc import Sequence
from typing import Any

import duckdb

from clipaudit.catalog.parts import audit_parts
from clipaudit.catalog.samples.catalog import LISTED, Address, SampleCatalog
from clipaudit.catalog.samples.forms import picked
from clipaudit.plaindata import Row


def sample_fate(connection: duckdb.DuckDBPyConnection, corpus: str, name: str) -> dict[str, Any]:
    """Return the values of each audit of a catalog for one sample, as JSON values.

    `name` is a uid, a uid's prefix of six digits or more, a key, or SHARD:ROW. The parts are

    - `sample`: corpus, shard, row, key, uid, caption, label, width, height, image_format,
      image_bytes, image_sha256, and its tar's shard_path (as the run named it) and shard_sha256;
      only the first four for a sample that the index dropped
    - `drops`: stage, reason and detail of each stage that could not use it
    - `duplicates`: by encoder its cluster, removal similarity, the sample that it duplicates at a
      threshold below that, those that so duplicate it (12 at most; `repeats` counts all)
    - `nearest_tests`: by encoder and test set the most similar test sample, its similarity, and
      if a gap is crossed `crossed` with that test sample, similarity, gap and excess
    - `nearest_train`, `predictions`: for a test sample, by encoder and corpus the most similar
      train samples, and the models' predictions
    - `manifests`: by name whether each keeps it (`kept`), and if not why; sets and curations are
      included
    - `memorization`: set (a, b, public, holdout or null), `excluded` from sets as an overlap and
      why, objects of its image, recalls of the models of A and B by recipe, size, cut, epochs,
      public set and k, with the gap if one of the two trained on it, and `other_recalls` by encoder
    - `text`: spans with polygons, and words and rates by tokenization; null: it was not read
    - `scores`: by encoder the caption's score, raw and with text erased, rsa, rsc
    - `clusters`: by encoder its cluster and that cluster's group
    - the values of audits that are plug-ins, under names that begin with theirs

    Lists are sorted; unknown values are null or an empty list. Raises InputError for an unknown
    corpus or name, with the nearest, and for an ambiguous name, with its samples.
    """
    catalog = SampleCatalog(connection)
    return fate_at(catalog, catalog.find(corpus, name))


def fate_at(catalog: SampleCatalog, address: Address) -> dict[str, Any]:
    """Return the fate, as `sample_fate`, of the sample at an address that the catalog has."""
    of = catalog.rows_of(address)
    found = {
        "sample": catalog.sample(address),
        "drops": _drops(catalog, address),
        "duplicates": [_duplicates(catalog, address, row) for row in of("duplicates")],
        "manifests": _manifests(of("manifests")),
    }
    for part in audit_parts(catalog.columns):
        found |= part.fate(catalog, address)
    return found


def _drops(catalog: SampleCatalog, address: Address) -> list[Row]:
    of = catalog.rows_of(address)
    views = sorted(view for view in catalog.columns if view.startswith("drops_"))
    found = [row for view in views for row in of(view, "stage", "reason")]
    return picked(found, "stage", "encoder", "reason", "detail")


def _duplicates(catalog: SampleCatalog, address: Address, row: Row) -> Row:
    """Return the sample that this one duplicates, and the samples that duplicate it."""
    first = None
    if row["duplicate_shard"] is not None:
        first = Address(address.corpus, row["duplicate_shard"], row["duplicate_row"])
    repeats = catalog.ask(
        "select shard, row, similarity from duplicates "
        f"where {catalog.corpus('duplicates')} = ? and encoder is not distinct from ? "
        "and duplicate_shard = ? and duplicate_row = ? order by similarity desc, shard, row",
        [address.corpus, row.get("encoder"), address.shard, address.row],
    )
    return {
        "encoder": row.get("encoder"),
        "cluster": row["cluster"],
        "removal_similarity": row["similarity"],
        "repeats_sample": catalog.named(first) if first else None,
        "repeats": len(repeats),
        "repeated_by": repeats[:LISTED],
    }


def _manifests(rows: Sequence[Row]) -> list[Row]:
    """Return whether each manifest keeps the sample, by the name of its folder."""
    why = (
        "kept", "reason", "testset", "test_shard", "test_row", "similarity", "gap",
        "duplicate_shard", "duplicate_row",
    )  # fmt: skip
    kinds = {"curated": "curation", "set": "set", "pruning": "pruning"}
    found = []
    for row in rows:
        label = next(label for label in kinds if row.get(label) is not None)
        found.append({"manifest": row[label], "kind": kinds[label], **picked([row], *why)[0]})
    return sorted(found, key=lambda row: row["manifest"])
