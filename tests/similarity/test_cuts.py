import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from ordercases import SETS, addresses, base, duplicates, similarities

from clipaudit.corpora.manifests import MANIFEST, NOT_EMBEDDED
from clipaudit.errors import TooSmall
from clipaudit.similarity.cuts import CUT, find_cut, prune_at_cut
from clipaudit.similarity.orders import DRAWN, DUPLICATE, FAR, NEAR, Order, places

ORDERS = [
    Order("near", ["sketch"]),
    Order("far", ["val"]),
    Order("near", SETS),
    Order("far", SETS),
    Order("rand", seed=5),
    Order("semdedup"),
]
RAND = Order("rand")
each_order = pytest.mark.parametrize("order", ORDERS, ids=lambda order: order.kind)

# a corpus: (shard, row) -> its similarities, with many ties, whether the base keeps it, and
# whether it was embedded
near_half = [0.5 - 2**-54, 0.5, 0.5 + 2**-53, 0.5 + 2**-48, 0.5 + 2**-20]
score = st.sampled_from([-0.5, -0.0, 0.0, 1.0, *near_half])
mostly = st.sampled_from([True, True, True, False])
shard = st.sampled_from([0, 1, 2, 2**20, 2**31 - 1])
address = st.tuples(shard, st.integers(0, 2**31 - 1))
corpora = st.dictionaries(address, st.tuples(score, score, mostly, mostly), max_size=30)


def part(order, corpus):
    """The base and embedded tables of a part."""
    found = {at: scores for at, (*scores, _, embedded) in corpus.items() if embedded}
    if order.kind == "semdedup":
        table = duplicates({at: val for at, (val, _) in found.items()})
    else:
        table = similarities(found)
    return base(list(corpus), [at for at, (*_, stays, _) in corpus.items() if not stays]), table


def split(order, corpus, size):
    """The parts of a corpus, `size` rows each."""
    rows = sorted(corpus.items())
    return [part(order, dict(rows[start : start + size])) for start in range(0, len(rows), size)]


def sequence(order, corpus):
    """The eligible addresses in the order, by its definition."""

    def score_of(at, val, sketch):
        if order.kind == "rand":
            place = places(*(np.array([number], np.int32) for number in at), seed=order.seed)
            return int(place[0])
        named = {"val": val, "sketch": sketch}
        return max(named[name] for name in order.test_sets or ["val"])

    eligible = {at: scores for at, (*scores, stays, here) in corpus.items() if stays and here}
    return sorted(eligible, key=lambda at: (-score_of(at, *eligible[at]), at))


def prune(order, parts, **size):
    cut = find_cut("x", order, lambda: parts, **size)
    return pa.concat_tables([prune_at_cut(order, *one, cut) for one in parts])


def kept(manifest):
    rows = manifest.filter(manifest["kept"])
    return set(zip(rows["shard"].to_pylist(), rows["row"].to_pylist(), strict=True))


def whole_shard(n):
    """A corpus of n samples of shard 0, all kept and embedded, with ties."""
    scores = np.random.default_rng(0).integers(-8, 8, (n, 2)) / 8
    return {(0, row): (*scores[row].tolist(), True, True) for row in range(n)}


@each_order
@settings(max_examples=30)
@given(corpora, st.data())
def test_a_cut_equals_its_definition(order, corpus, data):
    wanted = sequence(order, corpus)
    assume(wanted)
    removed = data.draw(st.integers(0, len(wanted) - 1))
    parts = split(order, corpus, data.draw(st.integers(1, 31)))

    found = prune(order, parts, removed=removed, bucket_rows=data.draw(st.integers(1, 40)))

    stay = wanted[: len(wanted) - removed] if order.kind == "far" else wanted[removed:]
    assert kept(found) == set(stay)


@settings(max_examples=30)
@given(corpora, st.data())
def test_far_removes_last_the_samples_that_near_removes_first(corpus, data):
    near, far = Order("near", ["val"]), Order("far", ["val"])
    eligible, parts = sequence(near, corpus), split(near, corpus, 7)
    assume(len(eligible) > 1)
    removed = data.draw(st.integers(1, len(eligible) - 1))

    near_stay = kept(prune(near, parts, removed=removed))
    far_stay = kept(prune(far, parts, removed=len(eligible) - removed))

    assert near_stay | far_stay == set(eligible)
    assert not near_stay & far_stay


@each_order
def test_the_manifest_has_every_row_of_the_base_and_keeps_the_stated_number(order):
    corpus = whole_shard(40)
    corpus |= {(1, 3): (0.5, 0.5, False, True), (1, 4): (0.5, 0.5, True, False)}
    start, embedded = part(order, corpus)

    manifest = prune(order, [(start, embedded)], removed=15)

    assert manifest.schema == MANIFEST
    assert manifest.select(["shard", "row"]).equals(start.select(["shard", "row"]))
    assert manifest["reason"].to_pylist().count(order.reason) == 15
    assert len(kept(manifest)) == 25
    assert manifest["reason"].to_pylist()[40:] == ["copy", NOT_EMBEDDED]
    assert manifest.slice(40, 1).equals(start.slice(40, 1))


@each_order
def test_parts_and_bucket_sizes_do_not_change_a_cut(order):
    corpus = whole_shard(100)
    sizes = [(100, 1 << 22), (100, 1), (7, 3), (1, 1)]
    all_parts = [(split(order, corpus, size), rows) for size, rows in sizes]

    cuts = [
        find_cut("x", order, lambda parts=parts: parts, removed=0.3, bucket_rows=rows)
        for parts, rows in all_parts
    ]

    assert cuts[0]["kept"].to_pylist() == [70]
    assert all(cut.equals(cuts[0]) and cut.schema == CUT for cut in cuts)


@pytest.mark.parametrize("kind", ["near", "far"])
def test_samples_that_all_tie_are_counted_by_address(kind):
    shards = (0, 5, 2**20, 2**31 - 1)
    corpus = {(shard, row): (0.5, 0.5, True, True) for shard in shards for row in (1, 2, 2**30)}
    order = Order(kind, ["val"])

    found = prune(order, split(order, corpus, 5), removed=7, bucket_rows=1)

    stay = sorted(corpus)[7:] if kind == "near" else sorted(corpus)[:5]
    assert kept(found) == set(stay)


@pytest.mark.parametrize(("bucket_rows", "passes"), [(16, 2), (15, 9), (1, 9)])
def test_more_samples_than_fit_a_bucket_are_counted_to_the_last_bit(bucket_rows, passes):
    order = Order("near", ["val"])
    parts = split(order, {(0, row): (0.5, 0.5, True, True) for row in range(16)}, 5)
    gone_through = []

    def once_more():
        gone_through.append(parts)
        return parts

    find_cut("x", order, once_more, removed=8, bucket_rows=bucket_rows)

    assert len(gone_through) == passes


def test_a_smaller_random_set_is_part_of_a_larger_one():
    parts = split(RAND, whole_shard(200), 64)

    small, large = (kept(prune(RAND, parts, kept=size)) for size in (30, 60))

    assert (len(small), len(large)) == (30, 60)
    assert small < large


def test_the_random_set_has_the_lowest_places():
    row = np.arange(50, dtype=np.int32)

    found = kept(prune(Order("rand", seed=2), split(RAND, whole_shard(50), 9), kept=20))

    lowest = np.argsort(places(np.zeros_like(row), row, seed=2))[:20]
    assert {at for _, at in found} == set(lowest.tolist())


def test_the_random_order_needs_only_addresses():
    start = base([(0, 0), (0, 1), (0, 2)])

    manifest = prune(RAND, [(start, addresses([(0, 0), (0, 2)]))], removed=1)

    assert sorted(manifest["reason"].to_pylist(), key=str) == [None, DRAWN, NOT_EMBEDDED]


def test_a_sample_names_the_test_sample_it_is_near_to():
    found = similarities({(0, 6): (0.5, 0.75), (0, 7): (0.25, 0.25)})

    near, far = (
        prune(Order(kind, SETS), [(base([(0, 6), (0, 7)]), found)], removed=1).to_pylist()
        for kind in ("near", "far")
    )

    nothing = dict.fromkeys(MANIFEST.names) | {"shard": 0, "kept": False}
    assert near[0] == nothing | {
        "row": 6, "testset": "sketch", "test_shard": 1, "test_row": 6, "similarity": 0.75,
        "reason": NEAR,
    }  # fmt: skip
    assert far[1] == nothing | {
        "row": 7, "testset": "val", "test_shard": 0, "test_row": 7, "similarity": 0.25,
        "reason": FAR,
    }  # fmt: skip
    assert near[1] == nothing | {"row": 7, "kept": True}


def test_a_duplicate_names_the_sample_it_repeats():
    found = duplicates({(0, 0): None, (0, 1): 0.5, (0, 2): 0.75})

    pruned = prune(Order("semdedup"), [(base([(0, 0), (0, 1), (0, 2)]), found)], removed=1)

    columns = ["shard", "row", "reason", "similarity", "duplicate_shard", "duplicate_row"]
    left = pruned.filter(pa.compute.invert(pruned["kept"])).select(columns)
    assert [tuple(row.values()) for row in left.to_pylist()] == [(0, 2, DUPLICATE, 0.75, 0, 0)]


@pytest.mark.parametrize(
    ("size", "stay"),
    [
        ({"removed": 0}, 10),
        ({"removed": 9}, 1),
        ({"removed": 0.25}, 8),  # 2.5 to even
        ({"removed": 0.35}, 6),  # 3.5 to even
        ({"kept": 10}, 10),
        ({"kept": 0.45}, 4),  # 4.5 to even
        ({"like": 3}, 3),
        ({"kept": 0.5, "like": 4}, 2),
        ({"kept": 5, "like": 4}, 5),
    ],
)
@each_order
def test_sizes_are_counts_or_fractions(order, size, stay):
    parts = split(order, whole_shard(10), 4)

    cut = find_cut("x", order, lambda: parts, **size)

    assert cut.select(["eligible", "kept"]).to_pylist() == [{"eligible": 10, "kept": stay}]
    assert len(kept(prune(order, parts, **size))) == stay


@pytest.mark.parametrize(
    ("size", "said"),
    [
        ({"removed": 10}, "removed is 10, 10 samples"),
        ({"removed": 11}, "removed is 11, 11 samples"),
        ({"removed": 0.96}, "removed is 0.96, 10 samples"),
        ({"kept": 11}, "kept is 11, 11 samples"),
        ({"kept": 0.01}, "kept is 0.01, 0 samples"),
        ({"like": 0}, "kept is 0 samples"),
        ({"like": 12}, "kept is 12 samples"),
    ],
)
def test_sizes_that_keep_none_or_request_too_many_are_refused(size, said):
    parts = split(RAND, whole_shard(10), 4)

    message = f"large.rand-x: {said}, and 10 are eligible .*, of which 1 to 10 must be kept; choose"
    with pytest.raises(TooSmall, match=message):
        find_cut("large.rand-x", RAND, lambda: parts, **size)


@pytest.mark.parametrize("corpus", [{}, {(0, 0): (1.0, 1.0, True, False)}])
def test_pruning_without_eligible_samples_is_refused(corpus):
    with pytest.raises(TooSmall, match=r"all-far: 0 eligible samples: .* look into the drops"):
        find_cut("all-far", ORDERS[3], lambda: split(ORDERS[3], corpus, 5), removed=0)


def test_removing_more_duplicates_than_there_are_is_refused():
    found = duplicates({(0, 0): None, (0, 1): 0.5, (0, 2): None, (0, 3): 0.25})
    parts = [(base([(0, row) for row in range(4)]), found)]
    order = Order("semdedup")

    assert find_cut("x", order, lambda: parts, removed=2)["kept"].to_pylist() == [2]
    message = re.escape("x: 3 of 4 eligible samples must be removed as duplicates, but only 2 rep")
    with pytest.raises(TooSmall, match=message):
        find_cut("x", order, lambda: parts, removed=3)
