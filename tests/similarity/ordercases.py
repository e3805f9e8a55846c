"""Parts of a corpus small enough to order by hand: bases, similarities, duplicates."""

import numpy as np
import pyarrow as pa

from clipaudit.corpora.manifests import keep_all, prune_manifest
from clipaudit.deduplication.duplicates import DUPLICATES
from clipaudit.similarity.nearest import SIMILARITIES

SETS = ("val", "sketch")


def addresses(rows):
    whole = np.array(rows, dtype=np.int32).reshape(-1, 2)
    return pa.table({"shard": whole[:, 0], "row": whole[:, 1]})


def base(rows, dropped=()):
    """The manifest that keeps these rows except `dropped`, which it dropped as copies."""
    whole = keep_all(addresses(rows))
    copies = addresses(dropped).append_column("reason", pa.array(["copy"] * len(dropped)))
    return prune_manifest(whole, copies, embedded=whole)


def similarities(scores, sets=SETS):
    """SIMILARITIES: for each (shard, row) its similarity to each set's sample (its number, row)."""
    rows = [
        dict.fromkeys(SIMILARITIES.names)
        | {"shard": shard, "row": row, "testset": name, "similarity": similarity}
        | {"test_shard": number, "test_row": row}
        for (shard, row), found in scores.items()
        for number, (name, similarity) in enumerate(zip(sets, found, strict=True))
    ]
    return pa.Table.from_pylist(rows, schema=SIMILARITIES)


def duplicates(scores):
    """DUPLICATES: for each (shard, row) its similarity to (0, 0), which it repeats, or None."""
    rows = [
        {"cluster": 0, "shard": shard, "row": row, "similarity": similarity}
        | dict.fromkeys(("duplicate_shard", "duplicate_row"), None if similarity is None else 0)
        for (shard, row), similarity in scores.items()
    ]
    return pa.Table.from_pylist(rows, schema=DUPLICATES)
