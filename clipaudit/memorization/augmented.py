"""Embed captions with one word dropped, for comparison with a pair's cosine.

A model that has memorized a training pair knows its exact caption, so its cosine falls if a word is
missing. Versions of images are in `augmented_pictures`.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import torch

from clipaudit.corpora.drops import Drops
from clipaudit.embeddings.caption_embedding import embed_captions
from clipaudit.embeddings.embedding import embeddings_schema
from clipaudit.memorization.resampling import generator
from clipaudit.models.clip import Clip

ONE_WORD = "caption of one word"


def augmented_schema(encoder: str, dimension: int) -> pa.Schema:
    """Return the schema of AUGMENTED: EMBEDDINGS with `version`, from 0."""
    version = pa.field("version", pa.int32(), nullable=False)
    return embeddings_schema(encoder, dimension).append(version)


def embed_augmented(
    samples: pa.Table,
    clip: Clip,
    *,
    encoder: str,
    versions: int,
    seed: int,
    batch_size: int,
    device: torch.device,
    drops: Drops,
) -> Iterator[pa.RecordBatch]:
    """Yield AUGMENTED of the captions in `samples`, by version, then by (shard, row).

    Each version lacks one word, see `without_word`. Rows whose caption has at most one word are
    added to `drops` once and have no version. Otherwise it works as `embed_captions`, separately
    for each version.
    """
    captions = samples["caption"].to_pylist()
    is_one = np.array([text is not None and len(text.split()) < 2 for text in captions], bool)
    for lost in samples.select(["shard", "row", "key"]).filter(pa.array(is_one)).to_pylist():
        drops.add(**lost, reason=ONE_WORD)
    schema = augmented_schema(encoder, clip.dimension)
    kept = samples.filter(pa.array(~is_one))
    place = kept.column_names.index("caption")
    for version in range(versions):
        texts = [without_word(text, version, seed) for text in kept["caption"].to_pylist()]
        changed = kept.set_column(place, "caption", pa.array(texts, pa.string()))
        rows = embed_captions(
            changed, clip, encoder=encoder, batch_size=batch_size, device=device, drops=drops
        )
        for batch in rows:
            yield numbered(batch, version, schema)


def numbered(rows: pa.RecordBatch, version: int, schema: pa.Schema) -> pa.RecordBatch:
    """Return EMBEDDINGS of one version as AUGMENTED, in its `schema`."""
    number = np.full(len(rows), version, np.int32)
    return pa.RecordBatch.from_arrays([*rows.columns, pa.array(number)], schema=schema)


def without_word(caption: str | None, version: int, seed: int) -> str | None:
    """Return a caption without one of its words, split at whitespace; None for None.

    Caption and seed decide the order of dropped words; each is dropped once before one recurs.

    >>> sorted({without_word("a red cat", version, 0) for version in range(3)})
    ['a cat', 'a red', 'red cat']
    """
    if caption is None:
        return None
    words = caption.split()
    order = generator(seed, caption).permutation(len(words))
    del words[order[version % len(words)]]
    return " ".join(words)
