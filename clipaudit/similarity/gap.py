"""Gap pruning: drop what is nearer to a test sample than all of the small train set.

Mayilvahanan et al., ICLR 2024, Sec. 4.4: https://arxiv.org/abs/2310.09562. A train sample x is
pruned iff some test sample t has s(t, x) > gap_t; ties stay. The paper's code tests only the top
candidates of each test sample; every pair is tested here, by the nearest engine.
"""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from clipaudit.corpora.manifests import MANIFEST

CROSSES = "nearer than the gap"
NOT_EMBEDDED = "not embedded"

# columns of SIMILARITIES that say which pair crosses, and what the manifest calls them
WITNESS = {
    "testset": "testset",
    "gap_test_shard": "test_shard",
    "gap_test_row": "test_row",
    "gap_similarity": "similarity",
    "gap": "gap",
}


def prune_to_gap(samples: pa.Table, similarities: pa.Table, test_sets: Sequence[str]) -> pa.Table:
    """Return the MANIFEST of a part pruned to the gaps of `test_sets`.

    One row for each of `samples`, in their order. A pruned row names the test sample that it comes
    nearest to beyond the gap: the largest s - gap over `test_sets`, ties to the earliest test set,
    with its similarity and gap. A sample without similarities was not embedded and is dropped as
    such: nothing could be said of it.
    """
    crossings = _largest_crossing(similarities, test_sets)
    addresses = similarities.group_by(["shard", "row"]).aggregate([])
    embedded = addresses.append_column("embedded", pa.repeat(True, addresses.num_rows))
    keys = ["shard", "row"]
    rows = (
        samples.select(keys)
        .join(embedded, keys)
        .join(crossings, keys)
        .sort_by([("shard", "ascending"), ("row", "ascending")])
    )
    crosses = pc.is_valid(rows["testset"])
    missing = pc.is_null(rows["embedded"])
    reason = pc.if_else(crosses, CROSSES, pc.if_else(missing, NOT_EMBEDDED, None))
    columns = {name: rows[name] for name in rows.column_names if name in MANIFEST.names}
    columns |= {"kept": pc.is_null(reason), "reason": reason}
    return pa.table({name: columns[name] for name in MANIFEST.names}).cast(MANIFEST)


def _largest_crossing(similarities: pa.Table, test_sets: Sequence[str]) -> pa.Table:
    """Return, for each sample that crosses a gap, the pair that crosses it by most."""
    names = similarities["testset"].cast(pa.string())
    rows = similarities.set_column(similarities.column_names.index("testset"), "testset", names)
    excess = pc.subtract(rows["gap_similarity"], rows["gap"])  # exact: multiples of 2^-48 below 2
    rows = rows.append_column("excess", excess).append_column(
        "order", pc.index_in(rows["testset"], pa.array(list(test_sets), pa.string()))
    )
    rows = rows.filter(pc.and_(pc.is_valid(rows["order"]), pc.greater(rows["excess"], 0.0)))
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
