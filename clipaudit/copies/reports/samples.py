"""Reports on single samples: which images a sample copies, and which images copy it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from clipaudit.catalog.parts import AuditPart, Colour
from clipaudit.catalog.samples.catalog import Address, SampleCatalog
from clipaudit.catalog.samples.forms import Beside, Fate, Section, picked, section
from clipaudit.catalog.scores import Score, ScoreTable, column_name, folders, score_files
from clipaudit.catalog.view_parts import Columns, nothing
from clipaudit.config.settings import Settings
from clipaudit.copies.kinds import COPIES
from clipaudit.plaindata import Row
from clipaudit.store.store import Store

LISTED = 12  # copies of a sample that its page names
_KINDS = ", ".join(f"'{kind}'" for kind in COPIES)
_NEAREST = f"list_position([{_KINDS}], kind)"

# --- the view `audit` --------------------------------------------------------------------------


def _queries(columns: Columns, _: Settings | None) -> dict[str, str]:
    return {"copied": _copied(columns), "repeating": _repeating(columns)}


def _copied(columns: Columns) -> str:
    """Return a query for the test image that a training image copies most closely."""
    if "testset" not in columns.get("copies", ()):
        return nothing(found="struct(place int, testset varchar, shard int, row int, kind varchar)")
    return f"""\
    select
        corpus,
        shard,
        row,
        min({{
            'place': {_NEAREST},
            'testset': testset,
            'shard': other_shard,
            'row': other_row,
            'kind': kind,
        }}) as found,
    from copies
    where kind in ({_KINDS})
    group by all"""


def _repeating(columns: Columns) -> str:
    """Return a query for the group of repeats that a training image is in."""
    if "first_shard" not in columns.get("repeat_groups", ()):
        return nothing(first_shard="int", first_row="int", size="bigint")
    return "    select corpus, shard, row, first_shard, first_row, size from repeat_groups"


_COLUMNS = """\
    copied.found.testset as copy_testset,
    copied.found.testset || ' ' || copied.found.shard || ':' || copied.found.row as copy_of,
    copied.found.kind as copy_kind,
    repeating.first_shard as repeats_shard,
    repeating.first_row as repeats_row,
    repeating.size as repeats_size,"""

# --- a sample's fate ---------------------------------------------------------------------------

_TOLD = ("kind", "edits", "distance", "similarity", "agreement", "shard", "row")


def _fate(catalog: SampleCatalog, address: Address) -> dict[str, Any]:
    return {
        "searched": bool(catalog.about(address, "images")),
        "copies_of": _copies_of(catalog, address),
        "copied_by": _copied_by(catalog, address),
        "repeats": _repeats(catalog, address),
    }


def _copies_of(catalog: SampleCatalog, address: Address) -> list[Row]:
    """Return the test images that a training image is a copy of."""
    return _asked(
        catalog,
        "select *, other_shard as test_shard, other_row as test_row from copies "
        "where corpus = ? and shard = ? and row = ?",
        address,
        "testset",
        "test_shard",
        "test_row",
    )


def _copied_by(catalog: SampleCatalog, address: Address) -> list[Row]:
    """Return the training images that are copies of a test image."""
    return _asked(
        catalog,
        "select * from copies where testset = ? and other_shard = ? and other_row = ?",
        address,
        "corpus",
    )


def _asked(catalog: SampleCatalog, query: str, address: Address, *names: str) -> list[Row]:
    if not catalog.has("copies", "testset", "kind"):
        return []
    rows = catalog.ask(
        f"select * from ({query}) where kind in ({_KINDS}) "
        f"order by {_NEAREST}, agreement desc nulls first, shard, row limit {LISTED}",
        [address.corpus, address.shard, address.row],
    )
    return picked(rows, *names, *_TOLD)


def _repeats(catalog: SampleCatalog, address: Address) -> list[Row]:
    """Return the other images of a training image's group of repeats."""
    if not catalog.has("repeat_groups", "first_shard"):
        return []
    return catalog.ask(
        "select others.corpus, others.shard, others.row, others.size from repeat_groups as own "
        "inner join repeat_groups as others using (corpus, first_shard, first_row) "
        "where own.corpus = ? and own.shard = ? and own.row = ? "
        "and (others.shard, others.row) != (own.shard, own.row) "
        f"order by others.shard, others.row limit {LISTED}",
        [address.corpus, address.shard, address.row],
    )


def _sentences(fate: Fate) -> Iterator[str]:
    if fate["copies_of"]:
        nearest = fate["copies_of"][0]
        yield (
            f"A copy of the test image {nearest['testset']} "
            f"{nearest['test_shard']}:{nearest['test_row']} ({nearest['kind']})."
        )
    if fate["copied_by"]:
        nearest = fate["copied_by"][0]
        yield (
            "A test image that the training data has a copy of: "
            f"{nearest['corpus']} {nearest['shard']}:{nearest['row']} ({nearest['kind']})."
        )
    if fate["repeats"]:
        yield f"In a group of {fate['repeats'][0]['size']} images that repeat each other."
    if fate["searched"] and not (fate["copies_of"] or fate["copied_by"] or fate["repeats"]):
        yield "The copies audit found no copy of it."


def _sections(fate: Fate) -> Iterator[Section]:
    told = _TOLD[:-2]
    yield section(
        "Copy of test images", fate["copies_of"], "testset", "test_shard", "test_row", *told
    )
    yield section("Copies in the training data", fate["copied_by"], "corpus", "shard", "row", *told)
    yield section("Repeats", fate["repeats"], "corpus", "shard", "row")


def _beside(fate: Fate) -> Iterator[Beside]:
    for copy in fate["copies_of"]:
        yield _shown(copy["testset"], copy["test_shard"], copy["test_row"], copy)
    for copy in fate["copied_by"]:
        yield _shown(copy["corpus"], copy["shard"], copy["row"], copy)
    for other in fate["repeats"]:
        yield _shown(other["corpus"], other["shard"], other["row"], {})


def _shown(corpus: str, shard: int, row: int, copy: Row) -> Beside:
    what = ", ".join(filter(None, (copy.get("kind", "repeat"), copy.get("edits"))))
    return Beside(Address(corpus, shard, row), f"{corpus} {shard}:{row} ({what})")


# --- exports -----------------------------------------------------------------------------------


def _scores(results: Path, store: Store, corpora: Sequence[str]) -> Iterator[ScoreTable]:
    for testset in folders(results / "copies"):
        files = score_files(results / "copies" / testset, store, corpora)
        score = Score(
            column_name("copy_of", testset),
            f"address of the image of test set {testset} that the sample copies most closely",
            f"arg_min(other_shard || ':' || other_row, {_NEAREST}) "
            f"filter (where kind in ({_KINDS}))",
            pa.string(),
        )
        yield ScoreTable(files, [score])


PART = AuditPart(
    _queries,
    _COLUMNS,
    _fate,
    _sentences,
    _sections,
    _scores,
    beside=_beside,
    colours=[
        Colour("copy_kind", "Copy of a test image"),
        Colour("copy_testset", "Copied test set"),
    ],
    facets={"Copy of": "copy_testset", "Kind of copy": "copy_kind"},
)
