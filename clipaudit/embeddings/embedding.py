"""Embeds images as unit rows in float16, by any CLIP model or a plug-in's encoder.

The model computes in float32, or in bfloat16 if its settings say so. Its output is scaled to unit
length in float32, then rounded to float16: every later stage compares these stored numbers exactly.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float16, Float32, UInt8

from clipaudit.corpora.drops import Drops
from clipaudit.corpora.vectors import binary_rows
from clipaudit.errors import InputError
from clipaudit.models.embedder import Embedder
from clipaudit.models.pictures import Fault, Running

NOT_FINITE = "embedding not finite"
TOO_LONG = "embedding norm above 4"
MAX_NORM = 4.0  # up to it, sums of products of float16 numbers are exact in float64


def embeddings_schema(encoder: str, dimension: int) -> pa.Schema:
    """Return the schema of EMBEDDINGS: float16 little-endian rows, the encoder in the metadata."""
    return pa.schema(
        [
            pa.field("shard", pa.int32(), nullable=False),
            pa.field("row", pa.int32(), nullable=False),
            pa.field("embedding", pa.binary(2 * dimension), nullable=False),
        ],
        metadata={"encoder": encoder, "dimension": str(dimension), "dtype": "float16"},
    )


def embed_images(
    shards: Sequence[tuple[int, Path]],
    samples: pa.Table,
    model: Embedder,
    running: Running,
    *,
    encoder: str,
    drops: Drops,
) -> Iterator[pa.RecordBatch]:
    """Yield the EMBEDDINGS of the rows in `samples`, ordered by (shard, row) as these are.

    `shards` gives each shard number's tar, ascending. Rows whose image cannot be decoded, or whose
    embedding is not finite, are added to `drops` instead: rows in `samples` = rows out + drops. The
    values depend on the model, the shard, the batch size, the device class and its threads, but not
    on the workers or on which shards are embedded together.
    """
    schema = embeddings_schema(encoder, model.dimension)
    task = f"embedding with {encoder}"
    for batch, features in model.of_samples(shards, samples, running, task=task):
        yield embedding_rows(
            batch.shard, batch.rows, batch.keys, features, schema, drops, faults=batch.faults
        )


def embedding_rows(
    shard: int,
    rows: Sequence[int],
    keys: Sequence[str],
    features: Float32[np.ndarray, "n d"],
    schema: pa.Schema,
    drops: Drops,
    *,
    faults: Sequence[Fault] = (),
) -> pa.RecordBatch:
    """Return the EMBEDDINGS of some rows of a shard; `features` is the model's output for them.

    Rows whose embedding is not usable, and the `faults`, which have no features, are added to
    `drops` in the order of the rows.
    """
    halves, usable, reasons = unit_halves(features)
    losses = [(fault.row, fault.key, fault.reason, fault.detail) for fault in faults]
    for at in np.flatnonzero(~usable):
        losses.append((rows[at], keys[at], reasons[at], ""))
    for loss in sorted(losses):
        drops.add(shard, *loss)
    kept = np.array(rows, np.int32)[usable]
    return pa.record_batch(
        [np.full(len(kept), shard, np.int32), kept, binary_rows(halves[usable])], schema=schema
    )


def embed_arrays(
    images: Sequence[UInt8[np.ndarray, "_ _ 3"]],
    model: Embedder,
    *,
    batch_size: int = 64,
) -> Float16[np.ndarray, "n d"]:
    """Return the stored form of the embeddings of RGB images: unit rows, as `embed_images` gives.

    Raises InputError if one is not usable. The values depend on the model, the device class and its
    threads, and on `batch_size`.
    """
    found = [np.empty((0, model.dimension), np.float16)]
    for start in range(0, len(images), batch_size):
        block = images[start : start + batch_size]
        halves, usable, reasons = unit_halves(model.features(block))
        if not usable.all():
            at = int(np.flatnonzero(~usable)[0])
            raise InputError(
                f"image {start + at}: {reasons[at]}. The encoder gives no usable embedding for it: "
                "check its weights."
            )
        found.append(halves)
    return np.concatenate(found)


def unit_halves(
    features: Float32[np.ndarray, "n d"],
) -> tuple[Float16[np.ndarray, "n d"], Bool[np.ndarray, " n"], list[str]]:
    """Return the rows at unit length in float16, whether each is usable, and why others are not.

    >>> halves, usable, reasons = unit_halves(np.array([[3, 4], [0, 0], [1e20, 0]], np.float32))
    >>> halves[0].tolist(), usable.tolist(), set(reasons[1:])
    ([0.60009765625, 0.7998046875], [True, False, False], {'embedding not finite'})
    """
    with np.errstate(all="ignore"):  # zero rows and infinities become nan, which is refused below
        lengths = np.linalg.norm(features, axis=1, keepdims=True)
        halves = (features / lengths).astype("<f2")
        norms = np.linalg.norm(halves.astype(np.float64), axis=1)
    usable = (0 < norms) & (norms <= MAX_NORM)  # 0: the length overflowed
    reasons = [
        "" if fits else TOO_LONG if norm > MAX_NORM and np.isfinite(norm) else NOT_FINITE
        for norm, fits in zip(norms, usable, strict=True)
    ]
    return halves, usable, reasons
