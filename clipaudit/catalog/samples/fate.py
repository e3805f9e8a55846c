"""One sample's fate in all audits, as a catalog knows it.

Every part is read from the view of its stage; a stage that this run does not have gives nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from clipaudit.catalog.samples.catalog import LISTED, Address, Row, SampleCatalog


def sample_fate(connection: duckdb.DuckDBPyConnection, corpus: str, name: str) -> dict[str, Any]:
    """Return what each audit of a catalog says of one sample, as JSON can hold it.

    `name` is a uid, a prefix of one of six digits or more, a key, or SHARD:ROW. The parts are

    - `sample`: corpus, shard, row, key, uid, caption, label, width, height, image_format,
      image_bytes, image_sha256, and of its tar shard_path (as the run named it) and shard_sha256;
      of a sample that the index dropped the first four alone
    - `drops`: stage, reason and detail of each stage that could not use it
    - `duplicates`: by encoder its cluster, removal similarity, the sample that it repeats, those
      that repeat it (12 at most; `repeats` counts all)
    - `nearest_tests`: by encoder and test set the most similar test sample, its similarity, and
      where a gap is crossed `crossed` with that test sample, similarity, gap and excess
    - `nearest_train`, `predictions`: of a test sample, by encoder and corpus the most similar train
      samples, and what models say it is
    - `manifests`: by name whether each keeps it (`kept`), and if not why; among them sets and
      curations
    - `memorization`: set (a, b, public, holdout or null), `excluded` from sets as an overlap and
      why, objects of its picture, and recalls by recipe, public set and k of the models of A and B
    - `text`: spans with polygons, and words and rates by tokenization; null: it was not read
    - `scores`: by encoder the caption's score, raw and with text erased, rsa, rsc
    - `clusters`: by encoder its cluster and that cluster's group

    Lists are sorted; what is unknown is null or an empty list. Raises InputError for a corpus or a
    name that is not there, with the nearest, and for one that several samples have, with these.
    """
    catalog = SampleCatalog(connection)
    return fate_at(catalog, catalog.find(corpus, name))


def fate_at(catalog: SampleCatalog, address: Address) -> dict[str, Any]:
    """Return what `sample_fate` does of the sample at an address that the catalog has."""
    of = catalog.rows_of(address)
    return {
        "sample": catalog.sample(address),
        "drops": _drops(catalog, address),
        "duplicates": [_duplicates(catalog, address, row) for row in of("duplicates")],
        "nearest_tests": [_nearest(row) for row in of("similarities", "encoder", "testset")],
        "nearest_train": catalog.nearest_train(address),
        "predictions": catalog.predictions(address),
        "manifests": _manifests(of("manifests")),
        "memorization": _memorization(catalog, address),
        "text": _text(of("spans"), of("matches")),
        "scores": [_scores(row) for row in of("caption_scores", "encoder")],
        "clusters": _picked(of("placed", "encoder"), "encoder", "cluster", "group"),
    }


def _picked(rows: Sequence[Row], *names: str) -> list[Row]:
    return [{name: row.get(name) for name in names} for row in rows]


def _drops(catalog: SampleCatalog, address: Address) -> list[Row]:
    of = catalog.rows_of(address)
    views = sorted(view for view in catalog.columns if view.startswith("drops_"))
    found = [row for view in views for row in of(view, "stage", "reason")]
    return _picked(found, "stage", "encoder", "reason", "detail")


def _duplicates(catalog: SampleCatalog, address: Address, row: Mapping[str, Any]) -> Row:
    """Say what a sample repeats, and which samples repeat it."""
    repeated: list[Row] = []
    if row["duplicate_shard"] is not None:
        place = (row["duplicate_shard"], row["duplicate_row"])
        repeated = catalog.samples_at(address.corpus, [place])
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
        "repeats_sample": repeated[0] if repeated else None,
        "repeats": len(repeats),
        "repeated_by": repeats[:LISTED],
    }


def _nearest(row: Mapping[str, Any]) -> Row:
    crossed = None
    if row["gap"] is not None:
        crossed = {
            "test_shard": row["gap_test_shard"],
            "test_row": row["gap_test_row"],
            "similarity": row["gap_similarity"],
            "gap": row["gap"],
            "excess": row["gap_similarity"] - row["gap"],
        }
    (nearest,) = _picked([dict(row)], "encoder", "testset", "similarity", "test_shard", "test_row")
    return {**nearest, "crossed": crossed}


def _manifests(rows: Sequence[Row]) -> list[Row]:
    """Say of each manifest whether it keeps the sample; its name is its folder's."""
    why = (
        "kept", "reason", "testset", "test_shard", "test_row", "similarity", "gap",
        "duplicate_shard", "duplicate_row",
    )  # fmt: skip
    kinds = {"curated": "curation", "set": "set", "pruning": "pruning"}
    found = []
    for row in rows:
        label = next(label for label in kinds if row.get(label) is not None)
        found.append({"manifest": row[label], "kind": kinds[label]} | _picked([row], *why)[0])
    return sorted(found, key=lambda row: row["manifest"])


def _memorization(catalog: SampleCatalog, address: Address) -> Row:
    of = catalog.rows_of(address)
    members = of("members")
    drawn = members[0]["set"] if members else None
    return {
        "set": drawn,
        "excluded": _picked(of("drops_overlaps", "reason", "detail"), "reason", "detail"),
        "objects": _objects(catalog, address),
        "recalls": _recalls(of("recalls", "encoder", "public", "k"), drawn),
    }


def _objects(catalog: SampleCatalog, address: Address) -> list[Row]:
    names: dict[int, str] = {}
    if catalog.has("vocabulary", "label", "name"):
        found = catalog.ask(
            f"select label, name from vocabulary where {catalog.corpus('vocabulary')} = ?",
            [address.corpus],
        )
        names = {row["label"]: row["name"] for row in found}
    return [
        {"label": label, "name": names.get(label), "score": score, "box": box}
        for row in catalog.rows_of(address)("objects")[:1]
        for label, score, box in zip(row["labels"], row["scores"], row["boxes"], strict=True)
    ]


def _recalls(rows: Sequence[Row], drawn: str | None) -> list[Row]:
    """Set the models of A and of B side by side; the target is the one trained on the sample."""
    pairs: dict[tuple[str, str, int], dict[str, Row]] = {}
    for row in rows:
        recipe, _, trained = row["encoder"].rpartition(".set-")
        pairs.setdefault((recipe, row["public"], row["k"]), {})[trained] = row
    return [
        {
            "recipe": recipe,
            "public": public,
            "k": k,
            "objects": next(iter(models.values()))["truths"],
            **{f"recall_{name}": _recall(models.get(name)) for name in ("a", "b")},
            "gap": _gap(models, drawn),
        }
        for (recipe, public, k), models in sorted(pairs.items())
    ]


def _recall(row: Row | None) -> float | None:
    return row["correct"] / row["truths"] if row and row["truths"] else None


def _gap(models: Mapping[str, Row], drawn: str | None) -> float | None:
    """Return target minus reference; a sample of neither A nor B has no gap."""
    if drawn not in ("a", "b") or len(models) < 2 or not models[drawn]["truths"]:
        return None
    other = models["b" if drawn == "a" else "a"]
    return float((models[drawn]["correct"] - other["correct"]) / models[drawn]["truths"])


def _text(spans: Sequence[Row], matches: Sequence[Row]) -> Row | None:
    if not spans and not matches:
        return None
    found: Row = {"spans": spans[0]["spans"] if spans else []}
    for prefix in ("words", "plain"):
        fields = ("caption", "co", "rate", "fuzzy", "fuzzy_rate")
        found[prefix] = (
            {field: matches[0][f"{prefix}_{field}"] for field in fields} if matches else None
        )
    return found


def _scores(row: Mapping[str, Any]) -> Row:
    stated = _picked([dict(row)], "encoder", "raw", "all", "co", "random_all", "random_co")[0]
    return {
        **stated,
        "rsa": None if row["all"] is None else row["raw"] - row["all"],
        "rsc": None if row["co"] is None else row["raw"] - row["co"],
    }
