"""The deduplicated manifest: what the removal similarities of a corpus mean at one threshold."""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from clipaudit.corpora.manifests import MANIFEST, prune_manifest

DUPLICATE = "duplicate"  # why a sample leaves, in the manifest's words

# the columns of DUPLICATES that the manifest has too
WITNESS = pa.schema(
    MANIFEST.field(name)
    for name in ("shard", "row", "similarity", "duplicate_shard", "duplicate_row")
)


def deduplicate(base: pa.Table, duplicates: Iterable[pa.Table], *, threshold: float) -> pa.Table:
    """Return the MANIFEST of a part whose duplicates left: the rows of `base`, in its order.

    `duplicates` are the DUPLICATES of all groups of clusters; only rows of this part's samples
    matter, so give no more. A sample leaves iff its removal similarity exceeds `threshold`, a tie
    stays; it names that similarity and what it duplicates. A sample that is in no group was not
    embedded and leaves as such; what the base dropped stays as it is.
    """
    groups = [table.select(WITNESS.names).cast(WITNESS) for table in duplicates]
    found = pa.concat_tables([WITNESS.empty_table(), *groups])
    leaving = found.filter(pc.greater(found["similarity"], threshold))  # null is not greater
    reason = pa.repeat(DUPLICATE, len(leaving))
    return prune_manifest(base, leaving.append_column("reason", reason), embedded=found)
