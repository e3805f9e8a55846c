import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.corpora.manifests import MANIFEST, keep_all
from clipaudit.similarity.gap import NOT_EMBEDDED
from clipaudit.similarity.randomly import CUT, cut_like, find_cut, places, prune_randomly


def manifest(kept, *, shard=0, reasons=None):
    n = len(kept)
    samples = {"shard": [shard] * n, "row": range(n)}
    rows = keep_all(pa.table({name: pa.array(of, pa.int32()) for name, of in samples.items()}))
    rows = rows.set_column(2, MANIFEST.field("kept"), pa.array(kept, pa.bool_()))
    return rows.set_column(
        8, MANIFEST.field("reason"), pa.array(reasons or [None] * n, pa.string())
    )


def test_no_two_samples_share_a_place():
    row = np.arange(100_000, dtype=np.int32)

    first = places(np.zeros_like(row), row, seed=3)
    second = places(np.ones_like(row), row, seed=3)

    assert len(np.unique(np.concatenate([first, second]))) == 200_000


@given(st.lists(st.integers(0, 2**64 - 1), unique=True, max_size=60), st.data())
def test_the_cut_has_exactly_so_many_places_below(drawn, data):
    kept = data.draw(st.integers(0, len(drawn)))
    blocks = [np.array(drawn[start : start + 7], np.uint64) for start in range(0, len(drawn), 7)]

    cut = find_cut(lambda: blocks, kept)

    below = sum(place < cut for place in drawn)
    assert below == kept or (kept == len(drawn) and max(drawn) == 2**64 - 1)


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_as_many_are_kept_whatever_the_parts(parts):
    rng = np.random.default_rng(0)
    shards = [manifest(rng.random(50) < 0.6, shard=shard) for shard in range(10)]
    groups = [pa.concat_tables(shards[start::parts]) for start in range(parts)]

    cut = cut_like(lambda: groups, seed=1)
    pruned = pa.concat_tables(prune_randomly(group, cut, seed=1) for group in groups)

    wanted = sum(shard["kept"].to_numpy().sum() for shard in shards)
    assert cut["kept"].to_pylist() == [wanted]
    assert pruned["kept"].to_numpy().sum() == wanted
    assert pruned.schema == MANIFEST


def test_what_was_not_embedded_is_neither_counted_nor_drawn():
    part = manifest([True, False, False], reasons=[None, NOT_EMBEDDED, "x"])

    pruned = prune_randomly(part, cut_like(lambda: [part], seed=0), seed=0)

    assert pruned["reason"].to_pylist()[1] == NOT_EMBEDDED
    assert pruned["kept"].to_numpy().sum() == 1


def test_a_smaller_set_lies_in_a_larger_one():
    part = manifest([True] * 100)
    order = places(np.zeros(100, np.int32), np.arange(100, dtype=np.int32), seed=0)
    cuts = [find_cut(lambda: [order], kept) for kept in (30, 60)]
    small, large = (
        prune_randomly(part, pa.table([[cut], [0]], schema=CUT), seed=0)["kept"].to_numpy()
        for cut in cuts
    )

    assert small.sum() == 30
    assert np.all(large[small])
