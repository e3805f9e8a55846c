"""Select the records of a size: the samples whose captions the models of that size embed."""

from collections.abc import Iterable

import pyarrow as pa

from clipaudit.corpora.splits import select_rows


def records_of_size(samples: pa.Table, manifests: Iterable[pa.Table]) -> pa.Table:
    """Return the SAMPLES that at least one of the MANIFESTs keeps, in the order of `samples`.

    `manifests` are those of A and B at a size and of the hold-out, each of the part of `samples`.
    A sample that no manifest names is left out; without manifests no sample is left.
    """
    kept = [manifest.filter(manifest["kept"]).select(["shard", "row"]) for manifest in manifests]
    return select_rows(samples, pa.concat_tables(kept)) if kept else samples.slice(0, 0)
