"""Prunes to gaps: drops samples nearer to a test sample than any of the small train set.

Mayilvahanan et al., ICLR 2024, Sec. 4.4: https://arxiv.org/abs/2310.09562. A train sample x is
pruned iff some test sample t has s(t, x) > gap_t; ties are kept. The paper's code tests only the
top candidates of each test sample; here the nearest engine tests every pair.
"""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from clipaudit.corpora.manifests import prune_manifest

CROSSES = "nearer than the gap"
CROSSES_SHIFTED = "nearer than the gap with a margin"

# columns of SIMILARITIES that say which pair crosses, and what the manifest calls them
WITNESS = {
    "testset": "testset",
    "gap_test_shard": "test_shard",
    "gap_test_row": "test_row",
    "gap_similarity": "similarity",
    "gap": "gap",
}


def prune_to_gap(
    base: pa.Table, similarities: pa.Table, test_sets: Sequence[str], *, margin: float = 0.0
) -> pa.Table:
    """Return the MANIFEST of a part pruned to the gaps of `test_sets`, `margin` added to each.

    It has one row for each of the MANIFEST `base`, in its order; rows that the base dropped are
    unchanged. A pruned row names the test sample whose gap it crosses by most: the largest s - gap
    over `test_sets`, ties to the earliest test set, with its similarity and gap. A sample without
    SIMILARITIES was not embedded and is dropped as such: its similarity is unknown.

    SIMILARITIES are searched with this margin, a lower one, or, if it is not below 0, with none.
    """
    crossings = _largest_crossing(similarities, test_sets, margin)
    reason = CROSSES_SHIFTED if margin else CROSSES
    reasons = pa.repeat(reason, len(crossings))
    leaving = crossings.append_column("reason", reasons)
    return prune_manifest(base, leaving, embedded=similarities)


def _largest_crossing(similarities: pa.Table, test_sets: Sequence[str], margin: float) -> pa.Table:
    """Return, for each sample that crosses a gap with the margin, the pair that crosses by most."""
    names = similarities["testset"].cast(pa.string())
    rows = similarities.set_column(similarities.column_names.index("testset"), "testset", names)
    excess = pc.subtract(rows["gap_similarity"], rows["gap"])  # rounded once, as in the search
    rows = rows.append_column("excess", excess).append_column(
        "order", pc.index_in(rows["testset"], pa.array(list(test_sets), pa.string()))
    )
    rows = rows.filter(pc.and_(pc.is_valid(rows["order"]), pc.greater(rows["excess"], margin)))
    rows = rows.sort_by(
        [
            ("shard", "ascending"),
            ("row", "ascending"),
            ("excess", "descending"),
            ("order", "ascending"),
        ]
    )
    first = rows.group_by(["shard", "row"], use_threads=False).aggregate(
        [(name, "first") for name in WITNESS]
    )
    return first.rename_columns(["shard", "row", *WITNESS.values()])
