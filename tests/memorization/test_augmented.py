import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tinyclip import WORDS

from clipaudit.corpora.drops import Drops
from clipaudit.embeddings.caption_embedding import embed_captions
from clipaudit.memorization.augmented import (
    ONE_WORD,
    augmented_schema,
    embed_augmented,
    without_word,
)


def samples(captions):
    """The columns of SAMPLES of shard 0 that count here."""
    columns = {
        "shard": pa.array([0] * len(captions), pa.int32()),
        "row": pa.array(range(len(captions)), pa.int32()),
        "key": [f"{row:05d}" for row in range(len(captions))],
        "caption": captions,
    }
    return pa.table(columns)


@pytest.fixture
def embedded(clip, cpu):
    """A function: AUGMENTED of captions, and the drops."""

    def build(captions, *, versions=2, size=4):
        drops = Drops("embed augmented")
        settings = {"encoder": "own", "batch_size": size, "device": cpu, "drops": drops}
        batches = embed_augmented(samples(captions), clip, versions=versions, seed=0, **settings)
        return pa.Table.from_batches(list(batches), augmented_schema("own", 16)), drops.rows

    return build


def test_each_version_omits_another_word_until_all_were_omitted():
    versions = [without_word("a red cat", version, 0) for version in range(4)]

    assert set(versions[:3]) == {"red cat", "a cat", "a red"}
    assert versions[3] == versions[0]


def test_another_random_seed_drops_words_in_another_order():
    caption = " ".join(WORDS)

    assert without_word(caption, 0, 0) == without_word(caption, 0, 0)
    assert len({without_word(caption, 0, seed) for seed in range(9)}) > 1


def test_a_version_is_embedded_as_its_caption(embedded, clip, cpu):
    captions = ["a red cat", "photo of a dog", "green cat"]
    table, drops = embedded(captions)

    changed = samples([without_word(caption, 1, 0) for caption in captions])
    plain = embed_captions(changed, clip, encoder="own", batch_size=4, device=cpu, drops=Drops("x"))
    second = table.filter(pc.equal(table["version"], 1))
    assert second["embedding"].to_pylist() == next(plain)["embedding"].to_pylist()
    assert table["row"].to_pylist() == [0, 1, 2, 0, 1, 2]
    assert drops == []


def test_a_caption_of_one_word_is_dropped_once_and_has_no_version(embedded):
    table, drops = embedded(["cat", "red cat", ""], versions=3)

    assert set(table["row"].to_pylist()) == {1}
    assert [(row, reason) for _, row, _, _, reason, _ in drops] == [(0, ONE_WORD), (2, ONE_WORD)]


def test_only_captions_of_one_word_give_no_rows(embedded):
    table, drops = embedded(["cat", "dog"])

    assert len(table) == 0
    assert len(drops) == 2
    assert np.array_equal(table.schema.names, ["shard", "row", "embedding", "version"])
