import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.errors import StoreError
from clipaudit.memorization.allotment import ALLOTMENT
from clipaudit.memorization.cuts import CUT, cut_again, with_cut, within_cut


def samples(n):
    rows = [{"shard": row // 3, "row": row % 3, "uid": f"{row:032x}"} for row in range(n)]
    types = [("shard", pa.int32()), ("row", pa.int32()), ("uid", pa.string())]
    return pa.Table.from_pylist(rows, pa.schema(types))


def cut_of(a, b, holdout, *, cut=1, seed=0):
    table = samples(a + b + holdout)
    return cut_again([table], {"a": a, "b": b, "holdout": holdout}, cut=cut, seed=seed)


@given(st.tuples(*[st.integers(0, 8)] * 3), st.integers(1, 5))
def test_a_further_split_has_sets_of_the_same_sizes_as_the_first(sizes, step):
    table = samples(sum(sizes))
    pieces = [table.slice(start, step) for start in range(0, max(len(table), 1), step)]

    cut = cut_again(pieces, dict(zip(("a", "b", "holdout"), sizes, strict=True)), cut=1, seed=0)

    assert cut.schema == CUT
    for name, size in zip(("a", "b", "holdout"), sizes, strict=True):
        places = sorted(row["place"] for row in cut.to_pylist() if row["set"] == name)
        assert places == list(range(size))


def test_splits_depend_on_their_number_and_seed_but_not_on_the_row_order():
    table = samples(120)
    turned = table.take(pa.array(np.random.default_rng(0).permutation(120)))
    sizes = dict.fromkeys(("a", "b", "holdout"), 40)

    one = cut_again([table], sizes, cut=1, seed=0)

    assert cut_again([turned], sizes, cut=1, seed=0) == one
    assert cut_again([table], sizes, cut=2, seed=0) != one
    assert cut_again([table], sizes, cut=1, seed=1) != one


def test_every_record_is_equally_likely_in_each_set():
    sets = [cut_of(2, 2, 2, cut=n)["set"][0].as_py() for n in range(1, 601)]

    assert all(sets.count(name) == pytest.approx(200, abs=47) for name in ("a", "b", "holdout"))


def test_sizes_that_do_not_match_the_records_are_refused():
    with pytest.raises(StoreError, match="5 records, but the sets have 6 together"):
        cut_again([samples(5)], {"a": 3, "b": 3}, cut=1, seed=0)


def allotment(sets):
    rows = [(n // 3, n % 3, name, n, 0, n, None, None) for n, name in enumerate(sets)]
    return pa.Table.from_pylist(
        [dict(zip(ALLOTMENT.names, row, strict=True)) for row in rows], ALLOTMENT
    )


def test_records_get_the_set_of_the_split_and_others_keep_theirs():
    sets = ["a", "b", "holdout", "public"] * 3
    cut = cut_of(3, 3, 3).filter(pa.array([True] * 6 + [False] * 3))  # of the rows 0 to 5

    found, inside = with_cut(allotment(sets), cut), within_cut(allotment(sets), cut)

    assert found.schema == ALLOTMENT
    assert found["set"].to_pylist() == cut["set"].to_pylist() + sets[6:]
    assert found["place"].to_pylist() == cut["place"].to_pylist() + list(range(6, 12))
    assert inside.tolist() == [True] * 6 + [False] * 6
