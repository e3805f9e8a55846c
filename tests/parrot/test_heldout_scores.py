import hashlib

import numpy as np
import pyarrow as pa
import pytest
import torch
from tinyclip import index, text_shards

from clipaudit.corpora.drops import Drops
from clipaudit.corpora.reasons import CORRUPT_IMAGE
from clipaudit.corpora.repacking import Collection, repack
from clipaudit.parrot.caption_scores import SCORES, score_captions
from clipaudit.parrot.heldout_scores import HELDOUT_SCORES, score_heldout
from clipaudit.parrot.matching import match
from clipaudit.parrot.settings import Erasing
from clipaudit.parrot.spans import Span, spans_table

BOX = (5, 5, 20, 5, 20, 15, 5, 15)
ERASING = Erasing(seed=3)
ASKED = {"tokenization": "words", "batch_size": 4, "workers": 0, "device": torch.device("cpu")}


@pytest.fixture
def corpus(tmp_path):
    """Two tars with a word in each image but one; every second sample is held out."""
    shards = text_shards(tmp_path, [9, 6])
    samples = index(shards)
    heldout = samples.filter(pa.array(samples["row"].to_numpy() % 2 == 0))
    words = [caption.split()[0] for caption in heldout["caption"].to_pylist()]
    spans = spans_table(
        (shard, row, [Span(word, 1.0, BOX)] if row else [])
        for shard, row, word in zip(
            heldout["shard"].to_pylist(), heldout["row"].to_pylist(), words, strict=True
        )
    )
    return shards, heldout, spans, match(heldout, spans)


def repacked(folder, shards, heldout, change=None):
    """The shards that the held-out samples are repacked into, and their sources."""
    collection = Collection(shards, {"heldout": heldout}, heldout)
    (folder / "collected").write_bytes(b"".join(collection.blocks()))
    found = []

    def write(name, blocks):
        path = folder / name.replace("/", "-")
        path.write_bytes(b"".join(blocks))
        found.append((len(found), path))
        return hashlib.sha256(path.read_bytes()).hexdigest()

    made = repack([(folder / "collected", collection.table())], write, seed=0, change=change)
    return found, made.sources


def scored(tmp_path, corpus, clip, change=None):
    shards, *tables = corpus
    drops = Drops("score")
    found, sources = repacked(tmp_path, shards, tables[0], change)
    scores = score_heldout(found, sources, tables, clip, erasing=ERASING, drops=drops, **ASKED)
    return pa.concat_tables([HELDOUT_SCORES.empty_table(), *scores]), drops.table()


def test_held_out_samples_have_their_corpus_scores_at_their_own_addresses(tmp_path, corpus, clip):
    scores, drops = scored(tmp_path, corpus, clip)

    asked = {**ASKED, **ERASING.model_dump()}
    plain = pa.concat_tables(
        score_captions(*corpus[:1], *corpus[1:], clip, drops=Drops("score"), **asked)
    )
    ours = scores.sort_by([("shard", "ascending"), ("row", "ascending")])
    assert len(drops) == 0
    for name in ("shard", "row"):
        assert ours[name].equals(plain[name])
    for name in ("raw", "all", "co"):
        one, other = (np.array(each[name].to_pylist(), float) for each in (ours, plain))
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_donors_are_other_held_out_samples_with_text(tmp_path, corpus, clip):
    scores, _ = scored(tmp_path, corpus, clip)

    for row in scores.to_pylist():
        donor = row["donor_shard"], row["donor_row"]
        assert (donor == (None, None)) == (row["row"] == 0) == (row["random_all"] is None)
        assert donor != (row["shard"], row["row"])
        assert donor == (None, None) or donor[1] % 2 == 0 < donor[1]


def test_a_dropped_held_out_sample_is_named_by_its_address_in_the_corpus(tmp_path, corpus, clip):
    lost = 1 << 32 | 4

    scores, drops = scored(
        tmp_path, corpus, clip, lambda address, file: b"" if address == lost else file
    )

    (row,) = drops.to_pylist()
    assert (row["shard"], row["row"], row["reason"]) == (1, 4, CORRUPT_IMAGE)
    assert len(scores) == len(corpus[1]) - 1


def test_no_held_out_samples_give_no_scores(tmp_path, corpus, clip):
    shards, *tables = corpus

    scores, drops = scored(tmp_path, (shards, *(table[:0] for table in tables)), clip)

    assert (len(scores), len(drops)) == (0, 0)
    assert SCORES.names[:7] == scores.column_names[:7]
