import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.errors import ConfigError
from clipaudit.memorization.allotment import ALLOTMENT, SETS
from clipaudit.memorization.cuts import CUT, cut_again, with_cut, within_cut
from clipaudit.memorization.membership import MEMBERS


def members(sets):
    rows = [(n // 3, n % 3, name, 0, f"{n:032x}") for n, name in enumerate(sets)]
    return pa.Table.from_pylist(
        [dict(zip(MEMBERS.names, row, strict=True)) for row in rows], MEMBERS
    )


def counts(table):
    return {name: table["set"].to_pylist().count(name) for name in SETS}


@given(st.lists(st.sampled_from(SETS), max_size=20), st.integers(1, 3))
def test_a_further_cut_has_sets_of_the_same_sizes_without_the_public_one(sets, pieces):
    table = members(sets)

    cut = cut_again([table.slice(n * 7, 7) for n in range(pieces)], cut=1, seed=0)

    assert cut.schema == CUT
    assert counts(cut) == counts(table.slice(0, 7 * pieces)) | {"public": 0}
    for name in ("a", "b", "holdout"):
        places = sorted(row["place"] for row in cut.to_pylist() if row["set"] == name)
        assert places == list(range(len(places)))


def test_cuts_differ_by_their_number_and_seed_and_not_by_the_order_of_rows():
    table = members(["a", "b", "holdout"] * 40)
    turned = table.take(pa.array(np.random.default_rng(0).permutation(120)))

    one = cut_again([table], cut=1, seed=0)

    assert cut_again([turned], cut=1, seed=0) == one
    assert cut_again([table], cut=2, seed=0) != one
    assert cut_again([table], cut=1, seed=1) != one


def test_any_record_is_as_likely_in_each_set():
    table = members(["a", "b", "holdout"] * 2)

    sets = [cut_again([table], cut=n, seed=0)["set"][0].as_py() for n in range(1, 601)]

    assert all(sets.count(name) == pytest.approx(200, abs=47) for name in ("a", "b", "holdout"))


def allotment(sets):
    rows = [(n // 3, n % 3, name, n, 0, n, None, None) for n, name in enumerate(sets)]
    return pa.Table.from_pylist(
        [dict(zip(ALLOTMENT.names, row, strict=True)) for row in rows], ALLOTMENT
    )


def test_records_get_the_set_of_the_cut_and_others_keep_theirs():
    sets = ["a", "public", "b", "holdout"] * 5
    cut = cut_again([members(sets)], cut=1, seed=0)

    found = with_cut(allotment(sets), cut.slice(2))

    assert found.schema == ALLOTMENT
    assert found["set"].to_pylist()[1::4] == ["public"] * 5
    assert found.slice(0, 1) == allotment(sets).slice(0, 1)  # the cut's first rows are left out
    by_place = {(row["shard"], row["row"]): row["set"] for row in cut.slice(2).to_pylist()}
    rows = {(row["shard"], row["row"]): row["set"] for row in found.to_pylist()}
    assert {place: rows[place] for place in by_place} == by_place


@pytest.mark.parametrize(("size", "own", "records"), [(3, 10, 3), (0.25, 0.5, 5), (0.5, 0.5, 10)])
def test_a_smaller_set_is_the_first_part_of_the_cuts(size, own, records):
    sets = ["a"] * 10 + ["b"] * 10
    cut = cut_again([members(sets)], cut=1, seed=0)

    inside = within_cut(allotment(sets), cut, set="a", size=size, own=own)

    first = [row for row in cut.to_pylist() if row["set"] == "a" and row["place"] < records]
    found = allotment(sets).filter(pa.array(inside)).to_pylist()
    assert {(row["shard"], row["row"]) for row in found} == {
        (row["shard"], row["row"]) for row in first
    }


def test_a_size_above_the_sets_own_is_refused():
    cut = cut_again([members(["a"])], cut=1, seed=0)

    with pytest.raises(ConfigError, match="set a: a smaller size of 5, and the set's own is 2"):
        within_cut(allotment(["a"]), cut, set="a", size=5, own=2)
