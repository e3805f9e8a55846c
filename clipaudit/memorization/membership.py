"""Membership: the final samples of each set, and manifests with the reasons for all others."""

from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool

from clipaudit.corpora.addresses import sample_addresses
from clipaudit.corpora.drops import Drops
from clipaudit.corpora.manifests import prune_manifest
from clipaudit.memorization.lots import Group
from clipaudit.memorization.overlaps import HOWS

Kind = Literal["public", "records"]

# reasons of a manifest; further ones: "allotted to set b", "uid of a sample in set a", ...
NOT_DRAWN = "not drawn"
REPEATS: dict[Group, str] = {
    "caption": "repeats the caption of another sample",
    "uid": "repeats the uid of another sample",
}
BEYOND_SIZE = "beyond the size of the set"

# The samples that are finally in a set, in the order of SAMPLES.
MEMBERS = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("set", pa.string(), nullable=False),  # one of SETS
        pa.field("place", pa.int64(), nullable=False),  # rank of its group in the set, by lot
        pa.field("uid", pa.string(), nullable=False),
    ]
)


def members(samples: pa.Table, allotted: pa.Table, leaving: pa.Table) -> pa.Table:
    """Return the MEMBERS of all sets among the SAMPLES of a part, in their order.

    These are the samples of the ALLOTMENT `allotted` that represent their group and have no row in
    `leaving`, the OVERLAPS of their corpus. Rows of samples of other parts are ignored in both.
    """
    standing = allotted.filter(pc.is_null(allotted["duplicate_shard"]))
    standing = without_overlaps(standing, leaving)
    found = _find(samples, standing)
    inside, chosen = samples.filter(found.is_valid()), standing.take(found.drop_null())
    columns = {name: inside[name] for name in ("shard", "row", "uid")}
    columns |= {name: chosen[name] for name in ("set", "place")}
    return pa.table({name: columns[name] for name in MEMBERS.names}, schema=MEMBERS)


def without_overlaps(drawn: pa.Table, overlaps: pa.Table) -> pa.Table:
    """Return the MEMBERS without a row in OVERLAPS, in their order."""
    gone = np.isin(sample_addresses(drawn), sample_addresses(overlaps))
    return drawn.filter(pa.array(~gone))


def overlap_drops(overlaps: pa.Table, samples: pa.Table) -> pa.Table:
    """Return the DROPS of OVERLAPS, stage "overlaps": one row per sample, by (shard, row).

    The reason is that of its manifest; the detail names the sample that it duplicates. `samples`
    has the key of each.
    """
    first = _first_overlaps(overlaps)
    keys = samples["key"].take(_find(first, samples)).to_pylist()
    drops = Drops("overlaps")
    for row, key in zip(first.to_pylist(), keys, strict=True):
        reason = f"{row['how']} of a sample in set {row['other_set']}"
        place = f"{row['other_corpus']}, shard {row['other_shard']}, row {row['other_row']}"
        drops.add(row["shard"], row["row"], key, reason, place)
    return drops.table()


def of_kind(members: pa.Table, kind: Kind) -> pa.Table:
    """Return the public MEMBERS, or the records, whose captions are attacked."""
    public = pc.equal(members["set"], "public")
    return members.filter(public if kind == "public" else pc.invert(public))


def add_sets(table: pa.Table, members: pa.Table) -> pa.Table:
    """Return the rows of SAMPLES or EMBEDDINGS that are MEMBERS, in order, with a column `set`.

    `shared_keys` and `near_duplicates` read these columns to find overlaps.
    """
    found = _find(table, members)
    sets = members["set"].take(found.drop_null())
    return table.filter(found.is_valid()).append_column(MEMBERS.field("set"), sets)


def manifest_of_set(
    base: pa.Table,
    allotted: pa.Table,
    leaving: pa.Table,
    *,
    set: str,
    group: Group,
    corpus: str,
    within: Bool[np.ndarray, " n"] | None = None,
) -> pa.Table:
    """Return the MANIFEST of `set`: the rows of the MANIFEST `base` of a part, in its order.

    A sample is kept if
    * the base keeps it;
    * `allotted`, an ALLOTMENT, has it in the set, as its group's representative;
    * `leaving`, OVERLAPS of `corpus`, has no row for it; and
    * `within`, a value for each row of `allotted`, is true (None: all are).

    Rows of samples of other parts are ignored. Samples that the base dropped stay unchanged. The
    first of these reasons counts: not drawn, duplicates another sample of its `group`, allotted to
    another set, duplicates a record (by the first of HOWS), beyond the size. The duplicated sample
    is named if it is of the same corpus.
    """
    within = np.ones(len(allotted), dtype=bool) if within is None else within
    allotted = allotted.append_column("within", pa.array(within))
    own = allotted.take(_find(base, allotted))  # nulls where there is none
    first = _first_overlaps(leaving)
    other = first.take(_find(base, first))
    reasons = [
        (pc.is_null(own["set"]), NOT_DRAWN),
        (pc.is_valid(own["duplicate_shard"]), REPEATS[group]),
        (pc.not_equal(own["set"], set), _join("allotted to set ", own["set"])),
        (
            pc.is_valid(other["how"]),
            _join(other["how"], " of a sample in set ", other["other_set"]),
        ),
        (pc.invert(own["within"]), BEYOND_SIZE),
    ]
    state = np.select([pc.fill_null(holds, False).to_numpy() for holds, _ in reasons], range(5), 5)
    repeats, overlaps = pa.array(state == 1), pa.array(state == 3)
    here = pc.and_(overlaps, pc.equal(other["other_corpus"], corpus))
    columns = {
        "shard": base["shard"],
        "row": base["row"],
        "reason": pc.choose(pa.array(state, mask=state == 5), *(reason for _, reason in reasons)),
        "similarity": pc.if_else(overlaps, other["similarity"], None),
    }
    for name in ("shard", "row"):
        overlapped = pc.if_else(here, other[f"other_{name}"], None)
        columns[f"duplicate_{name}"] = pc.if_else(repeats, own[f"duplicate_{name}"], overlapped)
    why = pa.table(columns)
    return prune_manifest(base, why.filter(why["reason"].is_valid()), embedded=base)


def _find(table: pa.Table, among: pa.Table) -> pa.Array:
    """Return for each row of a table the row of the same sample in another table, or null."""
    value_set = pa.array(sample_addresses(among))
    return pc.index_in(pa.array(sample_addresses(table)), value_set=value_set)


def _first_overlaps(leaving: pa.Table) -> pa.Table:
    """Return each sample's first row of OVERLAPS, by HOWS, then by its lowest other sample."""
    number = pc.index_in(leaving["how"], value_set=pa.array(HOWS))
    keys = ("number", "other_set", "other_corpus", "other_shard", "other_row")
    ordered = leaving.append_column("number", number)
    ordered = ordered.sort_by([(key, "ascending") for key in keys])
    _, first = np.unique(sample_addresses(ordered), return_index=True)
    return ordered.take(first)


def _join(*words: pa.ChunkedArray | str) -> pa.ChunkedArray:
    return pc.binary_join_element_wise(*words, "")
