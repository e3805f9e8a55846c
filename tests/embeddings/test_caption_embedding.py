import logging

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import torch
from tinyclip import WORDS, without

from clipaudit.corpora.drops import Drops
from clipaudit.embeddings.caption_embedding import embed_captions
from clipaudit.embeddings.embedding import embeddings_schema
from clipaudit.errors import InputError

COUNTS = [5, 1, 9, 6]
SCHEMA = pa.schema(
    [
        ("shard", pa.int32()),
        ("row", pa.int32()),
        ("key", pa.string()),
        ("caption", pa.string()),
    ]
)


@pytest.fixture
def samples():
    """The columns of SAMPLES that count here."""
    rng = np.random.default_rng(0)
    rows = [(shard, row) for shard, count in enumerate(COUNTS) for row in range(count)]
    captions = [" ".join(rng.choice(WORDS, 4)) for _ in rows]
    shards, numbers = zip(*rows, strict=True)
    keys = [f"{row:05d}" for row in numbers]
    return pa.table([shards, numbers, keys, captions], schema=SCHEMA)


def embedded(samples, clip, size=4):
    drops = Drops("embed captions")
    batches = embed_captions(
        samples,
        clip,
        encoder="own",
        batch_size=size,
        device=torch.device("cpu"),
        drops=drops,
    )
    return pa.Table.from_batches(list(batches), embeddings_schema("own", 16)), drops.table()


def vectors(table):
    data = b"".join(table["embedding"].to_pylist())
    return np.frombuffer(data, "<f2").reshape(len(table), -1)


def model_vectors(samples, clip):
    with torch.inference_mode():
        tokens = clip.tokenizer(samples["caption"].to_pylist())
        return clip.model.eval().encode_text(tokens, normalize=True).numpy()


@pytest.mark.parametrize("size", [1, 4, 64])
def test_values_equal_those_of_the_model(samples, clip, size):
    table, drops = embedded(samples, clip, size=size)

    assert (
        table.select(["shard", "row"]).to_pydict() == samples.select(["shard", "row"]).to_pydict()
    )
    np.testing.assert_allclose(vectors(table), model_vectors(samples, clip), atol=1e-3)  # float16
    assert len(drops) == 0


def test_metadata_names_the_encoder(samples, clip):
    table, _ = embedded(samples, clip)

    assert table.schema.equals(embeddings_schema("own", 16), check_metadata=True)


def test_parts_of_one_or_four_shards_give_the_same_rows(samples, clip):
    whole = embedded(samples, clip)[0]
    parts = [
        embedded(samples.filter(pc.equal(samples["shard"], shard)), clip)[0]
        for shard in range(len(COUNTS))
    ]

    assert pa.concat_tables(parts).combine_chunks() == whole.combine_chunks()


def test_samples_in_many_chunks_give_the_same_rows(samples, clip):
    pieces = pa.concat_tables([samples.slice(start, 3) for start in range(0, len(samples), 3)])

    assert embedded(pieces, clip)[0] == embedded(samples, clip)[0]


def test_every_forward_pass_has_a_full_batch(samples, clip, monkeypatch):
    encode, sizes = clip.model.encode_text, []

    def counted(tokens):
        sizes.append(len(tokens))
        return encode(tokens)

    monkeypatch.setattr(clip.model, "encode_text", counted)
    embedded(samples, clip, size=4)

    assert sizes == [4] * (2 + 1 + 3 + 2)  # full batches of each shard


def test_only_rows_of_the_samples_are_embedded(samples, clip):
    some = without(samples, (0, 2), (3, 0))

    assert embedded(some, clip)[0]["row"].to_pylist() == some["row"].to_pylist()


def test_captions_that_the_model_cannot_embed_are_dropped(samples, clip):
    kept, broken = without(samples, (2, 1), (2, 7)), pc.is_in(samples["row"], pa.array([1, 7]))
    broken = pc.and_(pc.equal(samples["shard"], 2), broken)
    captions = pc.if_else(broken, "green", "a cat")
    with torch.no_grad():
        clip.model.token_embedding.weight[int(clip.tokenizer(["green"])[0, 1])] = torch.nan

    table, drops = embedded(samples.set_column(3, "caption", captions), clip)

    assert table.select(["shard", "row"]).to_pydict() == kept.select(["shard", "row"]).to_pydict()
    assert drops.select(["shard", "row", "key", "stage", "reason", "detail"]).to_pylist() == [
        {
            "shard": 2,
            "row": row,
            "key": f"{row:05d}",
            "stage": "embed captions",
            "reason": "embedding not finite",
            "detail": "",
        }
        for row in (1, 7)
    ]


def test_all_captions_are_dropped_if_the_model_diverged(samples, clip):
    with torch.no_grad():
        clip.model.text_projection.fill_(torch.nan)

    table, drops = embedded(samples, clip)

    assert len(table) == 0
    assert drops["reason"].to_pylist() == ["embedding not finite"] * len(samples)


def test_a_sample_without_caption_is_refused(samples, clip):
    captions = pc.if_else(pc.equal(samples["row"], 5), None, samples["caption"])

    with pytest.raises(InputError, match=r"2 of 21 samples .* shard 2, row 5\. Set `captions`"):
        embedded(samples.set_column(3, "caption", captions), clip)


def test_no_samples_give_no_rows(samples, clip):
    table, drops = embedded(samples.slice(0, 0), clip)

    assert len(table) == len(drops) == 0


def test_the_final_row_count_is_logged(samples, clip, caplog):
    caplog.set_level(logging.INFO, "clipaudit")

    embedded(samples, clip)

    assert "embedding captions with own: 21 of 21 rows" in caplog.text
