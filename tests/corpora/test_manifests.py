import numpy as np
import pyarrow as pa
import pytest
from shardzoo import sample

from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.manifests import (
    MANIFEST,
    NOT_EMBEDDED,
    corpus_to_seal,
    count_kept,
    keep_all,
    prune_manifest,
    rows_in_tars,
    sample_addresses,
)
from clipaudit.corpora.samples import SAMPLES, index_shards
from clipaudit.errors import InputError

TEXT = Captioning("text")
DIGESTS = ["00" * 32, "11" * 32, "22" * 32]


def manifest(rows):
    columns = dict(zip(("shard", "row", "kept"), zip(*rows, strict=True), strict=True))
    empty = {name: [None] * len(rows) for name in MANIFEST.names if name not in columns}
    return pa.table({name: (columns | empty)[name] for name in MANIFEST.names}, schema=MANIFEST)


def test_keeping_all_keeps_every_sample(shard):
    path = shard([*sample("a"), *sample("b", caption=None), *sample("c")])
    samples, drops = index_shards([(4, path)], TEXT, needs_caption=True, needs_label=False)

    kept = keep_all(samples)

    assert kept.schema == MANIFEST
    assert kept.select(["shard", "row", "kept"]).to_pydict() == {
        "shard": [4, 4],
        "row": [0, 2],
        "kept": [True, True],
    }
    assert rows_in_tars(samples, drops) == {4: 3}


def test_keeping_all_of_no_samples_gives_an_empty_manifest():
    assert keep_all(SAMPLES.empty_table()).schema == MANIFEST
    assert keep_all(SAMPLES.empty_table()).num_rows == 0


def addresses(*rows, **columns):
    whole = np.array(rows, dtype=np.int32).reshape(-1, 2)
    return pa.table({"shard": whole[:, 0], "row": whole[:, 1], **columns})


def test_removed_samples_have_a_reason_and_kept_ones_do_not():
    base = keep_all(addresses((0, 0), (0, 1)))
    why = {"reason": ["near"], "similarity": [0.5], "testset": pa.array(["a"]).dictionary_encode()}

    pruned = prune_manifest(base, addresses((0, 1), **why), embedded=base)

    assert pruned.schema == MANIFEST
    nothing = dict.fromkeys(MANIFEST.names)
    assert pruned.to_pylist() == [
        nothing | {"shard": 0, "row": 0, "kept": True},
        nothing
        | {"shard": 0, "row": 1, "kept": False, "reason": "near", "similarity": 0.5}
        | {"testset": "a"},
    ]


def test_samples_without_an_embedding_are_removed_for_that_reason():
    base = keep_all(addresses((0, 0), (0, 1)))
    embedded = addresses((0, 0), (0, 0), (7, 7))
    leaving = addresses((0, 1), reason=["near"], similarity=[0.5])

    pruned = prune_manifest(base, leaving, embedded=embedded)

    assert pruned["kept"].to_pylist() == [True, False]
    assert pruned["reason"].to_pylist() == [None, NOT_EMBEDDED]
    assert pruned["similarity"].to_pylist() == [None, None]


def test_samples_removed_in_the_base_keep_their_reason():
    all_rows = keep_all(addresses((0, 0), (0, 1), (0, 2)))
    first = addresses((0, 1), reason=["repeats"], duplicate_row=pa.array([0], pa.int32()))
    base = prune_manifest(all_rows, first, embedded=addresses((0, 0), (0, 1)))
    second = addresses((0, 0), (0, 1), (0, 2), reason=["near"] * 3, similarity=[0.5] * 3)

    pruned = prune_manifest(base, second, embedded=addresses((0, 0)))

    assert pruned.slice(1).equals(base.slice(1))
    assert pruned["reason"].to_pylist() == ["near", "repeats", NOT_EMBEDDED]


def test_samples_removed_without_a_reason_stay_removed():
    base = manifest([(0, 0, False), (0, 1, True)])

    assert prune_manifest(base, base.slice(0, 0), embedded=base).equals(base)


def test_a_pruned_manifest_has_the_rows_of_its_base_in_order():
    base = keep_all(addresses((3, 1), (0, 2), (0, 1)))

    pruned = prune_manifest(base, addresses((0, 2), (9, 9), reason=["x", "x"]), embedded=base)

    assert pruned.select(["shard", "row"]).equals(base.select(["shard", "row"]))
    assert pruned["kept"].to_pylist() == [True, False, True]


def test_pruning_nothing_from_nothing_gives_an_empty_manifest():
    nothing = keep_all(addresses())

    assert prune_manifest(nothing, nothing, embedded=nothing).equals(nothing)


def test_kept_samples_are_counted_over_all_parts():
    parts = [[(2, 9, True), (2, 0, False)], [(0, 1, True)]]

    assert count_kept(manifest(rows) for rows in parts) == 2
    assert count_kept([MANIFEST.empty_table()]) == 0


def test_addresses_are_ordered_by_shard_and_row():
    rows = [(0, 2**31 - 1), (1, 0), (2**31 - 1, 5)]

    assert sample_addresses(addresses(*rows)).tolist() == [s * 2**32 + r for s, r in rows]


def test_bitmaps_hold_the_kept_rows_of_each_shard():
    parts = [[(2, 9, True), (2, 0, True)], [(0, 1, True), (0, 0, False)]]

    corpus = corpus_to_seal("large", TEXT, DIGESTS, {0: 2, 2: 10}, map(manifest, parts))

    assert [shard.sha256 for shard in corpus.shards] == DIGESTS
    assert [shard.rows for shard in corpus.shards] == [2, 0, 10]
    assert [shard.bitmap for shard in corpus.shards] == [b"\x02", b"", b"\x01\x02"]


@pytest.mark.parametrize("row", [(0, 2), (1, 0), (3, 0)])
def test_rows_that_the_corpus_lacks_are_refused(row):
    shard, number = row
    with pytest.raises(InputError, match=f"large: .* row {number} of shard {shard}, .* 3 shards"):
        corpus_to_seal("large", TEXT, DIGESTS, {0: 2}, [manifest([(*row, True)])])


def test_bitmaps_of_many_rows_equal_the_flags():
    flags = np.random.default_rng(0).random(1001) < 0.5

    rows = manifest([(0, row, bool(kept)) for row, kept in enumerate(flags)])
    (shard,) = corpus_to_seal("x", TEXT, DIGESTS[:1], {0: 1001}, [rows]).shards

    unpacked = np.unpackbits(np.frombuffer(shard.bitmap, np.uint8), bitorder="little")
    np.testing.assert_array_equal(unpacked[:1001].astype(bool), flags)
