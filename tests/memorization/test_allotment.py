from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.errors import ConfigError, TooSmall
from clipaudit.memorization.allotment import ALLOTMENT, SETS, allot, within_size
from clipaudit.memorization.lots import LOTS

WHOLE = 1 << 128
HALF, QUARTER = WHOLE // 2, WHOLE // 4

# few lots, at borders and far from them, so that groups have several members
lots_drawn = st.sampled_from(
    [0, 1, 5, 1 << 64, QUARTER - 1, QUARTER, HALF - 1, HALF, HALF + 1, 3 * QUARTER, WHOLE - 1]
)
pools = st.lists(lots_drawn, min_size=1, max_size=20)


def lots(values, shard=0, rows=None):
    columns = {
        "shard": [shard] * len(values),
        "row": range(len(values)) if rows is None else rows,
        "high": [value >> 64 for value in values],
        "low": [value & (1 << 64) - 1 for value in values],
    }
    return pa.table(columns, schema=LOTS)


def spread(n, seed=0, shard=0):
    """The lots of n samples, nearly all in groups of their own."""
    rng = np.random.default_rng([seed, shard])
    return lots([int.from_bytes(rng.bytes(16), "big") for _ in range(n)], shard)


def plain(values, sizes):
    """Allotment by its definition: rows (row, set, place, row that stands for the group)."""
    names = [name for name in SETS if name in sizes]
    shares = [Fraction(str(sizes[name])) for name in names]
    counts = isinstance(sizes[names[0]], int)
    ends = [sum(shares[:i]) / (sum(shares) if counts else 1) * WHOLE for i in range(5)]
    found = []
    for i, name in enumerate(names):
        inside = [value for value in values if int(ends[i]) <= value < int(ends[i + 1])]
        groups = sorted(set(inside))[: sizes[name] if counts else None]
        if len(groups) < (sizes[name] if counts else 1):
            return None
        for row, value in enumerate(values):
            if value in groups:
                found.append((row, name, groups.index(value), values.index(value)))
    return sorted(found)


def rows(allotted):
    return [
        (row["row"], row["set"], row["place"], row["duplicate_row"]) for row in allotted.to_pylist()
    ]


def sets_by_sample(allotted):
    table = allotted.select(["shard", "row", "set", "place"]).to_pylist()
    return {(row["shard"], row["row"]): (row["set"], row["place"]) for row in table}


@pytest.mark.parametrize(
    "sizes",
    [
        {"a": 1},
        {"a": 2, "b": 2},
        {"a": 1, "b": 1, "public": 2, "holdout": 1},
        {"b": 3, "holdout": 1},
        {"a": 0.5, "b": 0.5},
        {"a": 0.25, "public": 0.25},
        {"a": 0.1, "b": 0.2, "public": 0.4, "holdout": 0.3},
    ],
)
@given(values=pools)
def test_allotment_equals_its_definition(sizes, values):
    expected = plain(values, sizes)

    if expected is None:
        with pytest.raises(TooSmall, match="pool: set"):
            allot([lots(values)], sizes, place="pool")
        return
    found = allot([lots(values)], sizes, place="pool")

    assert found.schema == ALLOTMENT
    assert rows(found) == [
        (row, name, place, None if first == row else first) for row, name, place, first in expected
    ]
    halves = zip(found["high"].to_pylist(), found["low"].to_pylist(), strict=True)
    assert [high << 64 | low for high, low in halves] == [values[row] for row, *_ in expected]


@pytest.mark.parametrize("sizes", [{"a": 20, "b": 5}, {"a": 0.3, "b": 0.2, "holdout": 0.1}])
@pytest.mark.parametrize("held_rows", [1, 30, 10_000])
@pytest.mark.parametrize("cut", [1, 17, 1000])
def test_tables_their_order_and_memory_do_not_change_the_result(sizes, held_rows, cut):
    pool = pa.concat_tables([spread(100, shard=shard) for shard in range(3)])
    pool = pa.concat_tables([pool, spread(100).replace_schema_metadata(None)])  # groups of two
    pool = pool.set_column(1, LOTS.field("row"), pa.array(range(400), pa.int32()))
    expected = allot([pool], sizes, place="pool")
    shuffled = pool.take(np.random.default_rng(1).permutation(len(pool)))
    tables = [shuffled.slice(start, cut) for start in range(0, len(pool), cut)]

    turned = dict(reversed(sizes.items()))

    assert allot(tables, turned, place="pool", held_rows=held_rows) == expected


@given(
    old=st.lists(lots_drawn, max_size=25),
    new=st.lists(lots_drawn, max_size=10),
    sizes=st.sampled_from([{"a": 2, "b": 1}, {"a": 1, "public": 2, "holdout": 1}]),
)
def test_added_shards_displace_samples_only_by_lower_lots(old, new, sizes):
    if plain(old, sizes) is None:
        return
    before = allot([lots(old)], sizes, place="pool")

    after = sets_by_sample(allot([lots(old), lots(new, shard=1)], sizes, place="pool"))

    for sample, (name, place) in sets_by_sample(before).items():
        fresh = {value for value in new if value < old[sample[1]] and value not in old}
        if sample in after:
            assert after[sample][0] == name
            assert place <= after[sample][1] <= place + len(fresh)
        else:
            assert place + len(fresh) >= sizes[name]


def test_the_lowest_address_represents_its_group():
    tables = [lots([HALF - 1], shard=3), lots([5, HALF - 1, HALF - 1], shard=1)]

    found = allot(tables, {"a": 0.5}, place="pool")

    names = ["shard", "row", "place", "duplicate_shard", "duplicate_row"]
    assert [tuple(row.values()) for row in found.select(names).to_pylist()] == [
        (1, 0, 0, None, None),
        (1, 1, 1, None, None),
        (1, 2, 1, 1, 1),
        (3, 0, 1, 1, 1),
    ]


def test_fractions_are_decimal_as_written():
    """As binary numbers 0.4 + 0.4 + 0.1 + 0.1 exceed 1."""
    sizes = dict(zip(SETS, (0.4, 0.4, 0.1, 0.1), strict=True))

    found = allot([spread(200)], sizes, place="pool")

    assert len(found) == 200


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"a": 3, "b": 1}, "the pool: set a needs 3 groups of samples and 2 fall.*add shards"),
        ({"a": 0.5, "b": 0.1}, "the pool: set b needs 1 groups of samples and 0 fall"),
    ],
)
def test_a_pool_that_is_too_small_is_refused(sizes, message):
    with pytest.raises(TooSmall, match=message):
        allot([lots([1, 2, 2, WHOLE - 1])], sizes, place="the pool")


def test_no_tables_give_a_pool_without_groups():
    with pytest.raises(TooSmall, match="needs 4 groups of samples and 0"):
        allot([], {"a": 4}, place="pool")


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({}, "name one or more of the sets a, b, public, holdout"),
        ({"a": 1, "c": 1}, r"sizes \{a: 1, c: 1\}: name one or more"),
        ({"a": 1, "b": 0.5}, r"sizes \{a: 1, b: 0.5\} mix counts and fractions"),
        ({"a": 1, "b": 0}, "0 of b is invalid. Give counts of 1 or more"),
        ({"a": 0.5, "b": 1.5}, "1.5 of b is invalid"),
        ({"a": float("nan")}, "nan of a is invalid"),
        ({"a": 0.7, "b": 0.4}, r"sizes \{a: 0.7, b: 0.4\} sum to more than 1"),
    ],
)
def test_invalid_sizes_are_refused(sizes, message):
    with pytest.raises(ConfigError, match=message):
        allot([spread(9)], sizes, place="pool")


@pytest.mark.parametrize("size", [1, 4, 10])
def test_a_smaller_count_selects_the_lowest_lots_of_the_set(size):
    sizes = {"a": 10, "b": 10}
    found = allot([spread(100), spread(100)], sizes, place="pool")

    smaller = found.filter(pa.array(within_size(found, set="b", size=size, sizes=sizes)))

    assert set(smaller["set"].to_pylist()) == {"b"}
    assert sorted(set(smaller["place"].to_pylist())) == list(range(size))


@given(values=pools, size=st.sampled_from([0.01, 0.25, 0.3, 0.5]))
def test_a_smaller_fraction_selects_the_set_of_that_fraction(values, size):
    sizes = {"a": 0.25, "b": 0.5, "holdout": 0.25}
    smaller = {"a": 0.25, "b": size, "holdout": 0.25}
    if plain(values, sizes) is None or plain(values, smaller) is None:
        return
    found = allot([lots(values)], sizes, place="pool")
    expected = [row for row, name, *_ in plain(values, smaller) if name == "b"]

    inside = within_size(found, set="b", size=size, sizes=sizes)

    assert found.filter(pa.array(inside))["row"].to_pylist() == expected


@pytest.mark.parametrize(
    ("size", "sizes", "message"),
    [
        (11, {"a": 10}, "set a: a smaller size of 11, but the set's own is 10"),
        (0.5, {"a": 10}, "a smaller size of 0.5, but the set's own is 10; give both"),
        (0, {"a": 10}, "0 of a is invalid"),
    ],
)
def test_invalid_smaller_sizes_are_refused(size, sizes, message):
    with pytest.raises(ConfigError, match=message):
        within_size(ALLOTMENT.empty_table(), set="a", size=size, sizes=sizes)
