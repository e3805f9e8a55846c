import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.corpora.manifests import MANIFEST, NOT_EMBEDDED, keep_all, prune_manifest
from clipaudit.similarity.gap import CROSSES, CROSSES_SHIFTED, prune_to_gap

COLUMNS = ("shard", "row", "testset", "gap_similarity", "gap", "gap_test_shard", "gap_test_row")
TEST_SETS = ("val", "sketch")


def similarities(*rows):
    columns = dict(zip(COLUMNS, zip(*rows, strict=True) if rows else [[]] * 7, strict=True))
    whole = [name for name in COLUMNS if name.endswith(("shard", "row"))]
    ints = {name: pa.array(columns[name], pa.int32()) for name in whole}
    floats = {name: pa.array(columns[name], pa.float64()) for name in ("gap_similarity", "gap")}
    names = pa.array(columns["testset"], pa.string()).dictionary_encode()
    return pa.table({**ints, **floats, "testset": names})


def base(*addresses):
    columns = zip(("shard", "row"), zip(*addresses, strict=True), strict=True)
    return keep_all(pa.table({name: pa.array(column, pa.int32()) for name, column in columns}))


def test_a_sample_beyond_a_gap_is_removed_with_its_reason():
    found = similarities(
        (0, 0, "val", 0.75, 0.5, 0, 3),
        (0, 0, "sketch", None, None, None, None),
        (0, 1, "val", None, None, None, None),
        (0, 1, "sketch", None, None, None, None),
    )

    manifest = prune_to_gap(base((0, 0), (0, 1)), found, ["val", "sketch"])

    assert manifest.schema == MANIFEST
    dropped, kept = manifest.to_pylist()
    nothing = dict.fromkeys(MANIFEST.names)
    assert dropped == nothing | {
        "shard": 0, "row": 0, "kept": False, "testset": "val", "test_shard": 0, "test_row": 3,
        "similarity": 0.75, "gap": 0.5, "reason": CROSSES,
    }  # fmt: skip
    assert kept == nothing | {"shard": 0, "row": 1, "kept": True}


def test_only_the_chosen_test_sets_prune():
    found = similarities((0, 0, "val", 0.75, 0.5, 0, 3), (0, 0, "sketch", None, None, None, None))

    assert prune_to_gap(base((0, 0)), found, ["sketch"])["kept"].to_pylist() == [True]


def test_a_tie_with_the_gap_is_kept():
    found = similarities((0, 0, "val", 0.5, 0.5, 0, 3))

    assert prune_to_gap(base((0, 0)), found, ["val"])["kept"].to_pylist() == [True]


@pytest.mark.parametrize(
    ("margin", "kept"),
    [
        (-0.25, [False, False, False]),
        (-0.125, [False, False, True]),
        (0.0, [False, True, True]),
        (0.25, [True, True, True]),
    ],
)
def test_a_lower_margin_removes_more_samples(margin, kept):
    found = similarities(
        (0, 0, "val", 0.75, 0.5, 0, 3),
        (0, 1, "val", 0.5, 0.5, 0, 3),
        (0, 2, "val", 0.375, 0.5, 0, 3),
    )

    manifest = prune_to_gap(base((0, 0), (0, 1), (0, 2)), found, ["val"], margin=margin)

    assert manifest["kept"].to_pylist() == kept
    reason = CROSSES_SHIFTED if margin else CROSSES
    assert manifest["reason"].to_pylist() == [None if each else reason for each in kept]
    gaps = manifest["gap"].to_pylist()
    assert gaps == [None if each else 0.5 for each in kept]


@pytest.mark.parametrize(("sketch", "named"), [(0.75, "val"), (0.8125, "sketch")])
def test_combined_pruning_names_the_largest_excess_and_the_first_of_equals(sketch, named):
    found = similarities((0, 0, "sketch", sketch, 0.5, 1, 1), (0, 0, "val", 0.75, 0.5, 0, 3))

    assert prune_to_gap(base((0, 0)), found, ["val", "sketch"])["testset"].to_pylist() == [named]


def test_a_sample_without_an_embedding_is_dropped_with_that_reason():
    found = similarities((0, 0, "val", None, None, None, None))

    manifest = prune_to_gap(base((0, 0), (0, 1)), found, ["val"])

    assert manifest["reason"].to_pylist() == [None, NOT_EMBEDDED]


def test_a_part_without_similarities_keeps_nothing():
    manifest = prune_to_gap(base((0, 0)), similarities(), ["val"])

    assert manifest["kept"].to_pylist() == [False]


def test_drops_of_the_base_are_unchanged():
    found = similarities((0, 0, "val", 0.75, 0.5, 0, 3), (0, 1, "val", 0.75, 0.5, 0, 3))
    whole = base((0, 0), (0, 1), (0, 2))
    repeats = whole.select(["shard", "row"]).slice(1).append_column("reason", [["copy", "copy"]])
    start = prune_manifest(whole, repeats, embedded=whole)

    manifest = prune_to_gap(start, found, ["val"])

    assert manifest["reason"].to_pylist() == [CROSSES, "copy", "copy"]
    assert manifest.slice(1).equals(start.slice(1))


def test_rows_have_the_order_of_the_base():
    found = similarities((0, 1, "val", 0.75, 0.5, 0, 3), (2, 0, "val", None, None, None, None))

    manifest = prune_to_gap(base((2, 0), (0, 1)), found, ["val"])

    assert manifest.select(["shard", "kept"]).to_pydict() == {
        "shard": [2, 0],
        "kept": [True, False],
    }


crossing = st.one_of(st.none(), st.integers(-8, 8))


@given(st.lists(st.tuples(crossing, crossing), max_size=40))
def test_pruning_equals_its_definition_on_random_excesses(excesses):
    rows = [
        (0, row, name, *((0.5 + excess / 16, 0.5, 0, row) if excess is not None else (None,) * 4))
        for row, pair in enumerate(excesses)
        for name, excess in zip(TEST_SETS, pair, strict=True)
    ]
    if not rows:
        return

    manifest = prune_to_gap(
        base(*((0, row) for row in range(len(excesses)))), similarities(*rows), TEST_SETS
    )

    kept = [all(excess is None or excess <= 0 for excess in pair) for pair in excesses]
    assert manifest["kept"].to_pylist() == kept
