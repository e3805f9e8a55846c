"""Reports on single samples: their nearest neighbours, and the gaps they cross."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from clipaudit.catalog.parts import AuditPart, Colour
from clipaudit.catalog.samples.catalog import Address, SampleCatalog
from clipaudit.catalog.samples.forms import Beside, Fate, Section, picked, place, section
from clipaudit.catalog.scores import Score, ScoreTable, column_name, folders, score_files, values_of
from clipaudit.catalog.sqltext import literal
from clipaudit.catalog.view_parts import Columns, chosen, corpus_of, nothing
from clipaudit.config.settings import Settings
from clipaudit.plaindata import Row
from clipaudit.similarity.settings import Similarity
from clipaudit.store.store import Store

NEIGHBORS = 5  # of a test sample, shown for each corpus

# --- the view `audit` --------------------------------------------------------------------------


def _queries(columns: Columns, run: Settings | None) -> dict[str, str]:
    audit = run.section(Similarity) if run else None
    if "encoder" not in columns.get("similarities", ()):
        encoder = ""
    else:
        encoder = chosen(audit.encoder if audit else None, "similarities", "encoder")
    return {"nearest": _nearest(columns, encoder), "crossed": _crossed(columns, encoder)}


def _nearest(columns: Columns, encoder: str) -> str:
    """Return a query for the nearest test sample of any set; a corpus goes before its draw."""
    if not encoder:
        found = "struct(testset varchar, away double, test_shard int, test_row int)"
        return nothing(found=found)
    return f"""\
    select
        {corpus_of(columns["similarities"])} as corpus,
        shard,
        row,
        min({{
            'drawn': contains(corpus, '.'),
            'away': -similarity,
            'testset': testset,
            'test_shard': test_shard,
            'test_row': test_row,
        }}) as found,
    from similarities
    where encoder = {encoder}
    group by all"""


def _crossed(columns: Columns, encoder: str) -> str:
    """Return a query for the gap of any set that is crossed by most."""
    if not encoder:
        return nothing(
            found="struct(testset varchar, similarity double, gap double, away double, "
            "test_shard int, test_row int)"
        )
    return f"""\
    select
        {corpus_of(columns["similarities"])} as corpus,
        shard,
        row,
        min({{
            'away': gap - gap_similarity,
            'testset': testset,
            'test_shard': gap_test_shard,
            'test_row': gap_test_row,
            'similarity': gap_similarity,
            'gap': gap,
        }}) as found,
    from similarities
    where gap_similarity > gap and encoder = {encoder}
    group by all"""


_COLUMNS = """\
    nearest.found.testset as nearest_testset,
    -nearest.found.away as nearest_similarity,
    nearest.found.test_shard as nearest_test_shard,
    nearest.found.test_row as nearest_test_row,
    crossed.found.testset as gap_testset,
    crossed.found.similarity as gap_similarity,
    crossed.found.gap,
    -crossed.found.away as gap_excess,
    crossed.found.test_shard as gap_test_shard,
    crossed.found.test_row as gap_test_row,"""

# --- a sample's fate ---------------------------------------------------------------------------


def _fate(catalog: SampleCatalog, address: Address) -> dict[str, Any]:
    near = catalog.rows_of(address)("similarities", "encoder", "testset")
    return {
        "nearest_tests": [_nearest_test(row) for row in near],
        "nearest_train": _nearest_train(catalog, address),
        "predictions": _predictions(catalog, address),
    }


def _nearest_test(row: Row) -> Row:
    crossed = None
    if row["gap"] is not None and row["gap_similarity"] > row["gap"]:
        crossed = {
            "test_shard": row["gap_test_shard"],
            "test_row": row["gap_test_row"],
            "similarity": row["gap_similarity"],
            "gap": row["gap"],
            "excess": row["gap_similarity"] - row["gap"],
        }
    (nearest,) = picked([dict(row)], "encoder", "testset", "similarity", "test_shard", "test_row")
    return {**nearest, "crossed": crossed}


def _nearest_train(catalog: SampleCatalog, address: Address) -> list[Row]:
    """Return the train samples nearest to a test sample."""
    if not catalog.has("neighbors_merged", "corpus", "encoder"):
        return []
    return catalog.ask(
        "select encoder, corpus, rank, similarity, shard, row from neighbors_merged "
        f"where testset = ? and test_shard = ? and test_row = ? and rank < {NEIGHBORS} "
        "order by encoder, corpus, rank",
        [address.corpus, address.shard, address.row],
    )


def _predictions(catalog: SampleCatalog, address: Address) -> list[Row]:
    """Return the predictions of the run's models for a test sample."""
    if not catalog.has("predictions", "recipe", "manifest", "testset"):
        return []
    return catalog.ask(
        "select recipe, manifest, label, top[1] as predicted, right_rank from predictions "
        "where testset = ? and shard = ? and row = ? order by recipe, manifest",
        [address.corpus, address.shard, address.row],
    )


def _sentences(fate: Fate) -> Iterator[str]:
    crossed = [row for row in fate["nearest_tests"] if row["crossed"]]
    if crossed:
        most = max(crossed, key=lambda row: row["crossed"]["excess"])
        names = dict.fromkeys(row["testset"] for row in crossed)  # several encoders may find one
        yield (
            f"Crosses the gap of {', '.join(names)}; that of {most['testset']} by "
            f"{most['crossed']['excess']:.4f}{_by_encoder(most, fate['nearest_tests'])}."
        )
    if fate["nearest_train"]:
        near = max(fate["nearest_train"], key=lambda row: row["similarity"])
        yield (
            f"A test image; its nearest neighbour is {near['corpus']} {place(near)} "
            f"at {near['similarity']:.4f} ({near['encoder']})."
        )


def _sections(fate: Fate) -> Iterator[Section]:
    yield Section(
        "Nearest test images",
        ("encoder", "test set", "similarity", "image", "gap crossed", "of image", "by"),
        [_nearest_line(row) for row in fate["nearest_tests"]],
    )
    near = ("encoder", "corpus", "rank", "similarity", "shard", "row")
    yield section("Nearest train samples", fate["nearest_train"], *near)
    predicted = ("recipe", "manifest", "label", "predicted", "right_rank")
    yield section("Predictions", fate["predictions"], *predicted)


def _beside(fate: Fate) -> Iterator[Beside]:
    """Yield the test image whose gap is crossed by most, and the nearest; reversed for a test."""
    tests = fate["nearest_tests"]
    crossed = [{**row, **row["crossed"]} for row in tests if row["crossed"]]
    most = max(crossed, key=lambda row: row["excess"], default=None)
    near = max(tests, key=lambda row: row["similarity"], default=None)
    if most:
        similarity = f"similarity {most['similarity']:.4f}{_by_encoder(most, tests)}"
        yield _shown(most, f"{similarity}, above the gap {most['gap']:.4f}")
    if near and not (most and _test_image(most) == _test_image(near)):
        similarity = f"similarity {near['similarity']:.4f}{_by_encoder(near, tests)}"
        yield _shown(near, f"nearest test image, {similarity}")
    for row in fate["nearest_train"]:
        if row["rank"] == 0:
            what = f"nearest training image by {row['encoder']}, similarity {row['similarity']:.4f}"
            address = Address(row["corpus"], row["shard"], row["row"])
            yield Beside(address, f"{row['corpus']} {place(row)}: {what}")


def _by_encoder(row: Row, rows: Sequence[Row]) -> str:
    """Return which encoder a row is of, if the rows are of several."""
    several = len({each["encoder"] for each in rows}) > 1
    return f" ({row['encoder']})" if several else ""


def _test_image(row: Row) -> Address:
    return Address(row["testset"], row["test_shard"], row["test_row"])


def _shown(row: Row, what: str) -> Beside:
    address = _test_image(row)
    return Beside(address, f"{address.corpus} {address.shard}:{address.row}: {what}")


def _nearest_line(row: Row) -> tuple[object, ...]:
    crossed = row["crossed"] or {}
    image = f"{crossed['test_shard']}:{crossed['test_row']}" if crossed else None
    return (
        row["encoder"],
        row["testset"],
        row["similarity"],
        f"{row['test_shard']}:{row['test_row']}",
        crossed.get("gap"),
        image,
        crossed.get("excess"),
    )


# --- exports -----------------------------------------------------------------------------------


def _scores(results: Path, store: Store, corpora: Sequence[str]) -> Iterator[ScoreTable]:
    for encoder in folders(results / "similarities"):
        files = score_files(results / "similarities" / encoder, store, corpora)
        scores = [
            Score(
                column_name("similarity", encoder, testset),
                f"highest similarity to a sample of test set {testset}, by encoder {encoder}",
                f"max(similarity) filter (where testset = {literal(testset)})",
                pa.float64(),
            )
            for testset in values_of(files, "testset")
        ]
        yield ScoreTable(files, scores)


PART = AuditPart(
    _queries,
    _COLUMNS,
    _fate,
    _sentences,
    _sections,
    _scores,
    colours=[
        Colour("nearest_testset", "Nearest test set"),
        Colour("nearest_similarity", "Similarity to the nearest test image", is_number=True),
        Colour("gap_testset", "Test set whose gap it crosses"),
    ],
    beside=_beside,
    facets={"Crosses the gap of": "gap_testset"},
    orders={
        "Similarity to the nearest test image": "nearest_similarity",
        "Excess over the gap": "gap_excess",
    },
)
