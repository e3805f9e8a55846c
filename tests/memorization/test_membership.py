import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.corpora.manifests import MANIFEST, keep_all
from clipaudit.errors import InputError
from clipaudit.memorization.allotment import ALLOTMENT, SETS, allot
from clipaudit.memorization.lots import LOTS
from clipaudit.memorization.membership import (
    MEMBERS,
    add_sets,
    manifest_of_set,
    members,
    of_kind,
    overlap_drops,
    without_overlaps,
)
from clipaudit.memorization.overlaps import HOWS, OVERLAPS

# row, set, place, the row that stands for its group; one sample for each case
ALLOTTED = [
    (0, "a", 0, None),
    (1, "a", 0, 0),  # a repeat
    (2, "b", 0, None),
    (3, "b", 1, None),  # overlaps set a
    (4, "b", 2, None),  # overlaps a sample of another corpus
    (5, "b", 0, 2),  # a repeat in the other set
    (7, "a", 1, None),
]
LEAVING = [
    (3, "b", "near duplicate", "pool", 0, "a", 0.96875),
    (3, "b", "caption", "coco", 9, "a", None),
    (4, "b", "near duplicate", "pool", 7, "a", 0.984375),
]


def table(schema, *rows, names=None):
    names = names or schema.names
    columns = dict(zip(names, zip(*rows, strict=True), strict=True)) if rows else {}
    empty = {name: [None] * len(rows) for name in schema.names}
    return pa.table({name: (empty | columns)[name] for name in schema.names}, schema=schema)


def allotment(*rows):
    rows = [
        (0, row, name, place, 0, 0, None if first is None else 0, first)
        for row, name, place, first in rows
    ]
    return table(ALLOTMENT, *rows)


def overlaps(*rows):
    rows = [
        (0, row, name, how, corpus, 0, other, other_set, similarity)
        for row, name, how, corpus, other, other_set, similarity in rows
    ]
    return table(OVERLAPS, *rows)


def base(n, dropped=()):
    """A manifest that keeps all rows except `dropped`, which have a reason."""
    rows = [
        (0, row, row not in dropped, *[None] * 7, "too near" if row in dropped else None)
        for row in range(n)
    ]
    return table(MANIFEST, *rows)


def samples(n):
    return pa.table(
        {
            "shard": pa.array([0] * n, pa.int32()),
            "row": pa.array(range(n), pa.int32()),
            "uid": [f"{row:032x}" for row in range(n)],
            "caption": [f"caption {row}" for row in range(n)],
        }
    )


def manifest(name, leaving=LEAVING, n=9, **settings):
    settings = {"group": "caption", "corpus": "pool"} | settings
    allotted, leaving = allotment(*ALLOTTED), overlaps(*leaving)
    return manifest_of_set(base(n, dropped=[8]), allotted, leaving, set=name, **settings)


def why(found):
    names = ("row", "reason", "duplicate_row", "similarity")
    rows = found.filter(pa.array(~np.array(found["kept"]))).select(names).to_pylist()
    return {row["row"]: tuple(row.values())[1:] for row in rows}


def test_every_row_is_kept_or_has_a_reason():
    found = manifest("a")

    assert found.schema == MANIFEST
    assert found["row"].to_pylist() == list(range(9))
    assert found.filter(found["kept"])["row"].to_pylist() == [0, 7]
    assert why(found) == {
        1: ("repeats the caption of another sample", 0, None),
        2: ("allotted to set b", None, None),
        3: ("allotted to set b", None, None),
        4: ("allotted to set b", None, None),
        5: ("repeats the caption of another sample", 2, None),
        6: ("not drawn", None, None),
        8: ("too near", None, None),  # keeps the reason of the base
    }


def test_overlaps_are_removed_from_the_later_set_for_the_first_reason():
    found = manifest("b")

    assert found.filter(found["kept"])["row"].to_pylist() == [2]
    assert why(found)[3] == ("caption of a sample in set a", None, None)  # of another corpus
    assert why(found)[4] == ("near duplicate of a sample in set a", 7, 0.984375)


def test_the_order_of_overlaps_and_of_the_allotment_does_not_matter():
    allotted, leaving = allotment(*ALLOTTED[::-1]), overlaps(*LEAVING[::-1])

    found = manifest_of_set(
        base(9, dropped=[8]), allotted, leaving, set="b", group="caption", corpus="pool"
    )

    assert found == manifest("b")


def test_samples_beyond_the_size_are_removed():
    within = np.array([row != 2 for row, *_ in ALLOTTED])

    found = manifest("b", within=within)

    assert not any(found["kept"].to_pylist())
    assert why(found)[2] == ("beyond the size of the set", None, None)
    assert why(found)[4][0] == "near duplicate of a sample in set a"  # whatever the size


def test_reasons_name_groups_by_uid():
    assert why(manifest("a", group="uid"))[1] == ("repeats the uid of another sample", 0, None)


def test_an_empty_part_gives_an_empty_manifest():
    assert manifest("a", n=0) == MANIFEST.empty_table()


def test_an_empty_allotment_keeps_no_sample():
    found = manifest_of_set(
        base(2),
        ALLOTMENT.empty_table(),
        OVERLAPS.empty_table(),
        set="a",
        group="uid",
        corpus="pool",
    )

    assert found["reason"].to_pylist() == ["not drawn"] * 2


def test_members_represent_their_group_and_have_no_overlap():
    found = members(samples(9), allotment(*ALLOTTED), overlaps(*LEAVING))

    assert found.schema == MEMBERS
    names = ("row", "set", "place")
    assert [tuple(row.values()) for row in found.select(names).to_pylist()] == [
        (0, "a", 0),
        (2, "b", 0),
        (7, "a", 1),
    ]
    assert found["uid"].to_pylist() == [f"{row:032x}" for row in (0, 2, 7)]


def test_without_samples_there_are_no_members():
    assert members(samples(0), allotment(*ALLOTTED), overlaps()) == MEMBERS.empty_table()


def test_member_samples_get_their_set():
    found = members(samples(9), allotment(*ALLOTTED), overlaps(*LEAVING))
    some = samples(9).slice(2)

    added = add_sets(some.take([5, 1, 0]), found)

    assert added.column_names == [*some.column_names, "set"]
    rows = added.select(["row", "set"]).to_pylist()
    assert [tuple(row.values()) for row in rows] == [(7, "a"), (2, "b")]


@given(
    values=st.lists(st.integers(0, 15), min_size=1, max_size=16),
    sizes=st.sampled_from([{"a": 1, "b": 1}, {"a": 0.5, "public": 0.25}]),
    leaving=st.lists(st.tuples(st.integers(0, 15), st.sampled_from(HOWS)), max_size=5),
)
def test_manifests_add_up_and_agree_with_the_members(values, sizes, leaving):
    n = len(values)
    columns = {"shard": [0] * n, "row": range(n), "high": [v << 60 for v in values], "low": [0] * n}
    lots = pa.table(columns, schema=LOTS)
    try:
        allotted = allot([lots], sizes, place="pool")
    except InputError:
        return  # too small a pool
    gone = overlaps(*[(row, "b", how, "pool", 0, "a", None) for row, how in leaving])
    whole = keep_all(samples(n))

    found = {
        name: manifest_of_set(whole, allotted, gone, set=name, group="uid", corpus="pool")
        for name in SETS
    }

    inside = members(samples(n), allotted, gone)
    for name, one in found.items():
        assert one.select(["shard", "row"]) == whole.select(["shard", "row"])
        assert one["kept"].to_pylist() == one["reason"].is_null().to_pylist()
        own = inside.filter(
            pa.array([set_ == name for set_ in inside["set"].to_pylist()], pa.bool_())
        )
        assert one.filter(one["kept"])["row"].to_pylist() == own["row"].to_pylist()


@pytest.mark.parametrize("name", SETS)
def test_samples_of_other_parts_change_nothing(name):
    part = slice(2, 6)
    whole = manifest(name)

    found = manifest_of_set(
        base(9, dropped=[8])[part],
        allotment(*ALLOTTED),
        overlaps(*LEAVING),
        set=name,
        group="caption",
        corpus="pool",
    )

    assert found == whole[part]


def test_overlapping_samples_are_removed_and_the_rest_keeps_its_order():
    drawn = table(MEMBERS, (0, 3, "b", 0, "x"), (0, 1, "a", 0, "y"), (0, 2, "b", 1, "z"))

    left = without_overlaps(drawn, overlaps(*LEAVING))

    assert left["row"].to_pylist() == [1, 2]


def test_all_samples_that_are_not_public_are_records():
    rows = [(0, number, name, 0, "x") for number, name in enumerate(SETS)]
    drawn = table(MEMBERS, *rows)

    assert of_kind(drawn, "public")["set"].to_pylist() == ["public"]
    assert of_kind(drawn, "records")["set"].to_pylist() == ["a", "b", "holdout"]


def test_a_removed_sample_is_dropped_once_with_its_reason():
    keys = {"shard": pa.array([0, 0], pa.int32()), "row": pa.array([3, 4], pa.int32())}
    samples = pa.table({**keys, "key": ["three", "four"]})

    drops = overlap_drops(overlaps(*LEAVING), samples).to_pylist()

    assert [(row["row"], row["key"], row["reason"], row["detail"]) for row in drops] == [
        (3, "three", "caption of a sample in set a", "coco, shard 0, row 9"),
        (4, "four", "near duplicate of a sample in set a", "pool, shard 0, row 7"),
    ]
    assert {row["stage"] for row in drops} == {"overlaps"}
