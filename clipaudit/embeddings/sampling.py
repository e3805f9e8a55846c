"""Draws a uniform sample of stored embeddings, independent of how they are batched."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
from jaxtyping import Float16, Int64

from clipaudit.corpora.addresses import sample_addresses, shards_and_rows
from clipaudit.corpora.places import places
from clipaudit.corpora.vectors import embedding_array


def drawn_embeddings(
    batches: Iterable[pa.Table | pa.RecordBatch], count: int, *, seed: int, place: str
) -> tuple[Int64[np.ndarray, " n"], Float16[np.ndarray, "n d"]]:
    """Return the `count` samples with the lowest `places`: addresses, ascending, and embeddings.

    `batches` are EMBEDDINGS of one encoder, read once; `count` rows and a batch are held. If there
    are fewer samples, all are returned. Raises InputError, which names `place`, for a damaged
    column.
    """
    addresses, vectors = np.empty(0, np.int64), np.empty((0, 0), np.float16)
    for batch in batches:
        given, rows = sample_addresses(batch), embedding_array(batch, place)
        vectors = np.concatenate([vectors, rows]) if len(vectors) else rows
        addresses = np.concatenate([addresses, given])
        first = np.argsort(places(*shards_and_rows(addresses), seed=seed))[:count]
        addresses, vectors = addresses[first], vectors[first]
    order = np.argsort(addresses)
    return addresses[order], vectors[order]
