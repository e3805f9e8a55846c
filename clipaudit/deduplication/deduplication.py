"""Makes the deduplicated manifest from the removal similarities and a threshold."""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from clipaudit.corpora.manifests import MANIFEST, prune_manifest

DUPLICATE = "duplicate"  # why a sample is removed, as the manifest says it

# the columns of DUPLICATES that the manifest also has
WITNESS = pa.schema(
    MANIFEST.field(name)
    for name in ("shard", "row", "similarity", "duplicate_shard", "duplicate_row")
)


def deduplicate(base: pa.Table, duplicates: Iterable[pa.Table], *, threshold: float) -> pa.Table:
    """Return the MANIFEST of a part without duplicates: the rows of `base`, in its order.

    `duplicates` are the DUPLICATES of all groups of clusters; only rows of this part's samples are
    needed. A sample is removed iff its removal similarity exceeds `threshold`; ties are kept. It
    names that similarity and the sample that it duplicates. A sample that is in no group was not
    embedded and is removed as such; rows that the base dropped are unchanged.
    """
    groups = [table.select(WITNESS.names).cast(WITNESS) for table in duplicates]
    found = pa.concat_tables([WITNESS.empty_table(), *groups])
    leaving = found.filter(pc.greater(found["similarity"], threshold))  # null is not greater
    reason = pa.repeat(DUPLICATE, len(leaving))
    return prune_manifest(base, leaving.append_column("reason", reason), embedded=found)
