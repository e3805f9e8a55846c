import pyarrow as pa
import pytest
from handmaderun import HandmadeRun

from clipaudit.lineage.why.bindings import bindings
from clipaudit.lineage.why.parts import Restriction, Views
from clipaudit.lineage.why.restrictions import label_restrictions, row_restrictions

MEMBERS = [
    {"manifest": "m", "corpus": "large", "pruning": "cut"},
    {"manifest": "m", "corpus": "small", "pruning": "all"},
]


@pytest.fixture
def views(tmp_path, monkeypatch):
    """Return a view with a file for each corpus and pruning, of two rows each."""
    run = HandmadeRun(tmp_path, monkeypatch)
    files = []
    for corpus in ("large", "small"):
        for pruning in ("all", "cut"):
            rows = [{"k": k, "name": f"{corpus}{k}"} for k in (1, 2)]
            labels = {"corpus": corpus, "pruning": pruning}
            files += run.act("prune", {f"{corpus}-{pruning}.json": (labels, rows)})
    return Views(run.store, {"rows": files, "nothing": []})


def levels(views, *rows, **relations):
    found = label_restrictions(views, [bindings(row, relations, {}) for row in rows])
    return [[each.words for each in level] for level in found]


def test_a_label_takes_the_values_bound_by_its_name(views):
    strict, own, every = levels(views, {"corpus": "large"})

    assert strict == own == every == ["corpus: large"]


def test_texts_of_the_row_itself_come_second(views):
    strict, own, _ = levels(views, {"pruning": "cut", "baseline": "all"})

    assert (strict, own) == (["pruning: cut"], [])  # both prunings: no restriction


def test_a_relation_gives_combinations(views):
    strict, _, _ = levels(views, {"manifest": "m"}, members=MEMBERS)

    assert strict == ["corpus and pruning: large cut, small all"]


def test_a_value_that_binds_nothing_restricts_nothing(views):
    assert levels(views, {"other": "x"}) == [[], [], []]


def test_a_row_without_information_requires_nothing_and_finally_everything(views):
    strict, own, every = levels(views, {"corpus": "large"}, {"other": "x"})

    assert (strict, own, every) == (["corpus: large"], ["corpus: large"], [])


def test_numbers_and_texts_of_rows_are_restricted_by_name(views):
    found = [bindings({"k": 2, "score": 0.5}, {}, {})]
    part = views.part("rows", [], 1)

    (restriction,) = row_restrictions(views, found, {"rows": part})

    left = views.part("rows", [restriction], 1)
    assert restriction.words == "k: 2"
    assert set(views.rows("rows", left)["k"].to_pylist()) == {2}


def test_a_part_includes_rows_for_any_chosen_row(views):
    """The part includes large and 1, and small and 2, but not large and 2."""
    corpus = Restriction(
        "rows", ("corpus",), (frozenset({("large",)}), frozenset({("small",)})), True
    )
    k = Restriction("rows", ("k",), (frozenset({("1",)}), frozenset({("2",)})), False)

    part = views.part("rows", [corpus, k], 2)

    assert set(views.rows("rows", part)["name"].to_pylist()) == {"large1", "small2"}


def test_an_empty_part_still_has_its_columns(views):
    nobody = Restriction("rows", ("corpus",), (frozenset(),), True)

    source = views.source("rows", views.part("rows", [nobody], 1))

    assert source.column_names == ["corpus", "pruning", "k", "name"]
    assert len(source) == 0


def test_the_first_rows_are_read_from_as_few_files_as_possible(views):
    rows = views.first_rows("rows", views.part("rows", [], 1), 3)

    assert [row["name"] for row in rows] == ["large1", "large2", "large1"]


def test_a_relation_that_would_lose_the_baseline_is_not_combined(tmp_path, monkeypatch):
    """The row of a chosen data set names its manifest; another row names the baseline's."""
    run = HandmadeRun(tmp_path, monkeypatch)
    names = ("m", "base", "x")
    outputs = {f"p/{n}.json": ({"recipe": "r", "manifest": n}, [{"rank": 0}]) for n in names}
    views = Views(run.store, {"predictions": run.act("evaluate", outputs)})
    row = {"dataset": "d", "recipe": "r", "manifest": "m", "baseline": "base"}
    rows = [row, {"dataset": "e", "recipe": "r", "manifest": "base"}]

    strict, own, _ = levels(views, row, rows=rows)

    assert set(strict) == {"manifest: m", "manifest and recipe: m r"}
    assert own == ["manifest: base, m"]


def test_a_label_that_a_file_lacks_contradicts_nothing():
    pair = frozenset({("a", "x"), ("b", "y")})
    restriction = Restriction("rows", ("corpus", "base"), (pair,), True)

    passing = [{"corpus": "a"}, {"base": "y"}, {}, {"corpus": "a", "base": "x"}]
    assert all(restriction.admits(0, labels) for labels in passing)
    assert not restriction.admits(0, {"corpus": "a", "base": "y"})
    assert not restriction.admits(0, {"corpus": "c"})


def test_a_file_without_rows_is_restricted_to_no_rows(tmp_path, monkeypatch):
    run = HandmadeRun(tmp_path, monkeypatch)
    schema = pa.schema([("k", pa.int64())])
    empty = pa.Table.from_pylist([], schema)
    files = run.act("verify_copies", {"0.json": ({"part": "0"}, empty)})
    views = Views(run.store, {"rows": files})
    only = Restriction("rows", ("k",), (frozenset({("1",)}),), of_labels=False)

    assert len(views.rows("rows", views.part("rows", [only], 1))) == 0
