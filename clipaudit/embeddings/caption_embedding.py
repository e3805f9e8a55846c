"""Embeds captions as unit rows in float16, by any CLIP model.

As for images, batches are cut per shard and always full; empty captions fill a shard's last one.
"""

import logging
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Float32

from clipaudit.corpora.addresses import sample_addresses
from clipaudit.corpora.drops import Drops
from clipaudit.embeddings.embedding import embedding_rows, embeddings_schema
from clipaudit.errors import InputError
from clipaudit.models.clip import Clip
from clipaudit.progress import Progress

_log = logging.getLogger(__name__)


class CaptionBatch(NamedTuple):
    """Captions of one shard: `captions[i]` is that of `rows[i]`."""

    shard: int
    rows: list[int]
    keys: list[str]
    captions: list[str]


def embed_captions(
    samples: pa.Table,
    clip: Clip,
    *,
    encoder: str,
    batch_size: int,
    device: torch.device,
    drops: Drops,
) -> Iterator[pa.RecordBatch]:
    """Yield the EMBEDDINGS of the captions in `samples`, ordered by (shard, row) as these are.

    `samples` are SAMPLES; they have the first of several captions of an image. Rows whose embedding
    is not finite are added to `drops` instead: rows in `samples` = rows out + drops. The values
    depend on the model, the shard's rows, `batch_size`, the device class and its threads, but not
    on which shards are embedded together. Raises InputError for a null caption, before embedding
    any.
    """
    _require_captions(samples)
    schema = embeddings_schema(encoder, clip.dimension)
    clip.model.to(device).eval()
    progress = Progress(_log, f"embedding captions with {encoder}", total=len(samples), unit="rows")
    done = 0
    for batch in caption_batches(samples, batch_size=batch_size):
        features = caption_features(batch.captions, clip, batch_size=batch_size, device=device)
        yield embedding_rows(batch.shard, batch.rows, batch.keys, features, schema, drops)
        done += len(batch.rows)
        progress.note(done)


def _require_captions(samples: pa.Table) -> None:
    if samples["caption"].null_count:
        missing = samples.filter(samples["caption"].is_null())
        shard, row = (missing[name][0].as_py() for name in ("shard", "row"))
        raise InputError(
            f"{len(missing)} of {len(samples)} samples have no caption to embed, the first is "
            f"shard {shard}, row {row}. Set `captions` of the corpus to text, texts or class, and "
            "index it again: indexing then drops samples without one."
        )


def caption_batches(samples: pa.Table, *, batch_size: int) -> Iterator[CaptionBatch]:
    """Yield the captions of `samples` in order, at most `batch_size` of one shard at a time."""
    shard = samples["shard"].to_numpy()
    assert np.all(np.diff(sample_addresses(samples)) > 0), "samples must be sorted by (shard, row)"
    starts = [0, *(np.flatnonzero(np.diff(shard)) + 1).tolist(), len(shard)]
    for start, end in pairwise(starts):
        for first in range(start, end, batch_size):
            some = samples.slice(first, min(batch_size, end - first))
            rows, keys, captions = (some[name].to_pylist() for name in ("row", "key", "caption"))
            yield CaptionBatch(int(shard[first]), rows, keys, captions)


def caption_features(
    captions: Sequence[str], clip: Clip, *, batch_size: int, device: torch.device
) -> Float32[np.ndarray, "n d"]:
    """Return the model's raw output for at most `batch_size` captions, in float32.

    The model, in its evaluation mode, is on `device`.
    """
    padded = [*captions, *[""] * (batch_size - len(captions))]
    with torch.inference_mode(), clip.autocast(device):
        tokens = clip.tokenizer(padded).to(device)
        features = clip.model.encode_text(tokens)  # type: ignore[operator]
        return np.asarray(features[: len(captions)].float().cpu().numpy())
