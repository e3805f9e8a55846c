import numpy as np
import pyarrow as pa
import pytest
from shardzoo import sample

from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.manifests import MANIFEST, corpus_to_seal, keep_all, rows_in_tars
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


def test_keeping_all_of_nothing_is_an_empty_manifest():
    assert keep_all(SAMPLES.empty_table()).schema == MANIFEST
    assert keep_all(SAMPLES.empty_table()).num_rows == 0


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
