"""Reads the embeddings of both sides of a search, by encoder."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
from jaxtyping import Float16, Int64

from clipaudit.copies.candidates import Embedded
from clipaudit.corpora.addresses import sample_addresses
from clipaudit.corpora.vectors import embedding_array
from clipaudit.store.actions import LabelledFile

Vectors = tuple[Int64[np.ndarray, " n"], Float16[np.ndarray, "n d"]]


def embedded_sides(
    others: Sequence[LabelledFile],
    own: Sequence[LabelledFile],
    searched: pa.Table,
    similarity: Mapping[str, float | None],
) -> Iterator[Embedded]:
    """Yield the embeddings by which each encoder proposes candidates.

    Files are labelled with their encoder. Training images that are not in `searched`, IMAGES, are
    left out, and so is an encoder without a threshold.
    """
    wanted = sample_addresses(searched)
    for encoder, threshold in similarity.items():
        if threshold is None:
            continue
        addresses, vectors = _vectors(own, encoder)
        kept = np.isin(addresses, wanted)
        left = _vectors(others, encoder)
        yield Embedded(encoder, left, (addresses[kept], vectors[kept]), threshold)


def _vectors(files: Sequence[LabelledFile], encoder: str) -> Vectors:
    tables = [file.table() for file in files if file.labels["encoder"] == encoder]
    table = pa.concat_tables(tables)
    return sample_addresses(table), embedding_array(table, f"embeddings of {encoder}")
