"""The memorization audit's data about single samples: sets, objects, recalls."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from clipaudit.catalog.parts import AuditPart, Colour
from clipaudit.catalog.samples.catalog import Address, SampleCatalog
from clipaudit.catalog.samples.forms import STROKE, Fate, Section, escaped, picked, section
from clipaudit.catalog.scores import Score, ScoreTable, column_name, folders, score_files, values_of
from clipaudit.catalog.sqltext import literal
from clipaudit.catalog.view_parts import Columns, chosen, corpus_of, nothing
from clipaudit.config.settings import Settings
from clipaudit.memorization.model_names import ModelName
from clipaudit.memorization.points import TRAINED
from clipaudit.memorization.settings import Memorization
from clipaudit.plaindata import Row
from clipaudit.store.store import Store

# --- the view `audit` --------------------------------------------------------------------------


def _queries(columns: Columns, run: Settings | None) -> dict[str, str]:
    audit = run.section(Memorization) if run else None
    return {
        "drawn_for": _drawn_for(columns),
        "excluded": _excluded(columns),
        "recalled": _recalled(columns, audit),
    }


def _drawn_for(columns: Columns) -> str:
    """Return the query for a sample's set in the memorization audit."""
    if "members" not in columns:
        return nothing(set="varchar")
    return f"""\
    select {corpus_of(columns["members"])} as corpus, shard, row, min("set") as "set"
    from members
    group by all"""


def _excluded(columns: Columns) -> str:
    """Return the query for why a sample was removed from the set that it was drawn for."""
    if "drops_overlaps" not in columns:
        return nothing(reasons="varchar[]")
    return f"""\
    select
        {corpus_of(columns["drops_overlaps"])} as corpus,
        shard,
        row,
        list(distinct reason order by reason) as reasons,
    from drops_overlaps
    group by all"""


def _recalled(columns: Columns, audit: Memorization | None) -> str:
    """Return the query for the objects that the models of A and B recall, by default training."""
    is_trained = audit is None or audit.recipe is not None
    if not is_trained or not {"encoder", "public"} <= set(columns.get("recalls", ())):
        return nothing(truths="int", a="int", b="int")
    public, neighbors = (
        (next(iter(audit.publics), None), audit.neighbors[0]) if audit else (None, None)
    )
    if audit and audit.recipe:
        recipe = literal(audit.recipe)
    else:
        name = "regexp_extract(encoder, '^(.*)[.]set-a$', 1)"
        recipe = f"(select min({name}) from recalls where ends_with(encoder, '.set-a'))"
    return f"""\
    select
        {corpus_of(columns["recalls"])} as corpus,
        shard,
        row,
        max(truths) as truths,
        max(correct) filter (encoder = {recipe} || '.set-a') as a,
        max(correct) filter (encoder = {recipe} || '.set-b') as b,
    from recalls
    where
        public = {chosen(public, "recalls", "public")}
        and k = {chosen(neighbors, "recalls", "k")}
    group by all"""


_COLUMNS = """\
    drawn_for.set as memorization_set,
    excluded.reasons as memorization_excluded,
    recalled.truths as recall_objects,
    case drawn_for.set when 'a' then recalled.a when 'b' then recalled.b end
        / nullif(recalled.truths, 0) as recall_target,
    case drawn_for.set when 'a' then recalled.b when 'b' then recalled.a end
        / nullif(recalled.truths, 0) as recall_reference,
    case drawn_for.set
        when 'a' then recalled.a - recalled.b
        when 'b' then recalled.b - recalled.a
    end / nullif(recalled.truths, 0) as recall_gap,"""

# --- a sample's fate ---------------------------------------------------------------------------


def _fate(catalog: SampleCatalog, address: Address) -> dict[str, Any]:
    of = catalog.rows_of(address)
    members = of("members")
    drawn = members[0]["set"] if members else None
    recalls = of("recalls", "encoder", "public", "k")
    found = {
        "set": drawn,
        "excluded": picked(of("drops_overlaps", "reason", "detail"), "reason", "detail"),
        "objects": _objects(catalog, address),
        "recalls": _recalls(recalls, _trained_on(catalog, address, drawn)),
        "other_recalls": _other_recalls(recalls),
    }
    return {"memorization": found}


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


_TrainedOn = Callable[[ModelName], str | None]


def _trained_on(catalog: SampleCatalog, address: Address, drawn: str | None) -> _TrainedOn:
    """Return a function: which of a point's sets, a or b, has the sample; None: neither, unknown.

    `drawn` is the sample's set in the first cut. There only records of a point's own size have
    recalls, so the set is the same at each size. The manifests give the sets of a further cut.
    """
    rows = catalog.rows_of(address)("manifests")
    kept = {row["set"]: row["kept"] for row in rows if row.get("set")}

    def manifest(model: ModelName) -> str:
        if model.manifest in kept or not _is_elsewhere(catalog, model.manifest, address.corpus):
            return model.manifest
        return model._replace(size=None).manifest  # only one source has sets of several sizes

    def trained_on(model: ModelName) -> str | None:
        if model.cut == 0:
            return drawn if drawn in TRAINED else None
        models = (model._replace(trained=name) for name in TRAINED)
        return next((each.trained for each in models if kept.get(manifest(each))), None)

    return trained_on


def _is_elsewhere(catalog: SampleCatalog, manifest: str, corpus: str) -> bool:
    """Return whether other corpora have a manifest of this name, but not this one."""
    found = catalog.ask(
        "select distinct labels['corpus'] as corpus from files "
        "where view = 'manifests' and labels['set'] = ?",
        [manifest],
    )
    having = {row["corpus"] for row in found}
    return bool(having) and corpus not in having


def _recalls(rows: Sequence[Row], trained_on: _TrainedOn) -> list[Row]:
    """Return the recalls of the models of A and B side by side, a row per point, public set and k.

    The gap is that of the model trained on the sample minus the other; null without such a model.
    """
    pairs: dict[tuple[ModelName, str, int], dict[str, Row]] = {}
    for row in rows:
        model = ModelName.read(row["encoder"])
        if model is not None:
            point = model._replace(trained="")
            pairs.setdefault((point, row["public"], row["k"]), {})[model.trained] = row
    return [
        {
            "recipe": point.recipe,
            "size": point.size,
            "cut": point.cut,
            "epochs": point.epochs,
            "public": public,
            "k": k,
            "objects": next(iter(models.values()))["truths"],
            **{f"recall_{name}": _recall(models.get(name)) for name in TRAINED},
            "gap": _gap(models, trained_on(point)),
        }
        for (point, public, k), models in sorted(pairs.items(), key=lambda pair: _place(*pair[0]))
    ]


def _place(point: ModelName, public: str, k: int) -> tuple[object, ...]:
    """Return a key that sorts the default size and the last checkpoint of a recipe first."""
    return point.recipe, point.size or "", point.cut, point.epochs or 0, public, k


def _other_recalls(rows: Sequence[Row]) -> list[Row]:
    """Return the recalls of encoders that the audit did not train, such as its targets."""
    return [
        {
            "encoder": row["encoder"],
            "public": row["public"],
            "k": row["k"],
            "objects": row["truths"],
            "recall": _recall(row),
        }
        for row in rows
        if ModelName.read(row["encoder"]) is None
    ]


def _recall(row: Row | None) -> float | None:
    return row["correct"] / row["truths"] if row and row["truths"] else None


def _gap(models: Mapping[str, Row], target: str | None) -> float | None:
    """Return target minus reference; None without a target, or if a model lacks the sample."""
    if target is None or not all(name in models for name in TRAINED):
        return None
    if not models[target]["truths"]:
        return None
    other = models["b" if target == "a" else "a"]
    return float((models[target]["correct"] - other["correct"]) / models[target]["truths"])


def _sentences(fate: Fate) -> Iterator[str]:
    if fate["memorization"]["set"]:
        yield f"In the memorization audit's set {fate['memorization']['set']}."
    for row in fate["memorization"]["recalls"][:1]:
        if row["gap"] is not None:
            yield (
                f"The model trained on it recalls {row['gap']:+.2f} of its "
                f"{row['objects']} objects beyond the other (public set {row['public']}, "
                f"k = {row['k']})."
            )


def _sections(fate: Fate) -> Iterator[Section]:
    memory = fate["memorization"]
    yield section("Left out of a set", memory["excluded"], "reason", "detail")
    yield section("Objects", memory["objects"], "label", "name", "score", "box")
    point = ("recipe", "size", "cut", "epochs")
    columns = ("public", "k", "objects", "recall_a", "recall_b", "gap")
    yield section("Recall", memory["recalls"], *point, *columns)
    other = ("encoder", "public", "k", "objects", "recall")
    yield section("Recall of other encoders", memory["other_recalls"], *other)


def _shapes(fate: Fate) -> Iterator[str]:
    for shown in fate["memorization"]["objects"]:
        if shown["box"]:
            left, top, width, height = map(float, shown["box"])
            name = escaped(shown["name"] or shown["label"])
            yield (
                f'<rect class="object" {STROKE} x="{left}" y="{top}" width="{width}" '
                f'height="{height}"><title>{name}</title></rect>'
            )


# --- exports -----------------------------------------------------------------------------------


def _scores(results: Path, store: Store, corpora: Sequence[str]) -> Iterator[ScoreTable]:
    for encoder in folders(results / "recalls"):
        for public in folders(results / "recalls" / encoder):
            files = score_files(results / "recalls" / encoder / public, store, corpora)
            scores = [
                Score(
                    column_name("recall", encoder, public, str(k)),
                    f"share of the image's objects among those of the {k} images of {public} "
                    f"nearest to its caption, by {encoder}",
                    f"max(correct / nullif(truths, 0)) filter (where k = {k})",
                    pa.float64(),
                )
                for k in values_of(files, "k")
            ]
            yield ScoreTable(files, scores)


PART = AuditPart(
    _queries,
    _COLUMNS,
    _fate,
    _sentences,
    _sections,
    _scores,
    _shapes,
    colours=[
        Colour("memorization_set", "Set of the memorization audit"),
        Colour("recall_gap", "Recall gap of the two models", is_number=True),
    ],
    facets={"Set of records": "memorization_set"},
    orders={"Recall gap": "recall_gap"},
)
