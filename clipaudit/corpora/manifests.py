"""Makes manifests: which samples of a corpus to keep, and why each other one was removed."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Int32

from clipaudit.corpora.addresses import sample_addresses
from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.sealed import CorpusToSeal, ShardToSeal
from clipaudit.errors import InputError

NOT_EMBEDDED = "not embedded"  # the reason for a sample whose similarities are unknown

MANIFEST = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("kept", pa.bool_(), nullable=False),
        # why a sample was removed: the test sample to which it is too similar, and that sample's
        # gap
        pa.field("testset", pa.string()),
        pa.field("test_shard", pa.int32()),
        pa.field("test_row", pa.int32()),
        pa.field("similarity", pa.float64()),
        pa.field("gap", pa.float64()),
        # or the earlier sample of its cluster that it repeats, with their similarity
        pa.field("duplicate_shard", pa.int32()),
        pa.field("duplicate_row", pa.int32()),
        pa.field("reason", pa.string()),
    ]
)


def keep_all(samples: pa.Table) -> pa.Table:
    """Return the manifest that keeps every sample of a SAMPLES table, in its order."""
    columns = {
        "shard": samples["shard"],
        "row": samples["row"],
        "kept": pa.array(np.ones(len(samples), dtype=bool)),
    }
    empty = {field.name: pa.nulls(len(samples), field.type) for field in MANIFEST}
    return pa.table(empty | columns, schema=MANIFEST)


def prune_manifest(base: pa.Table, leaving: pa.Table, *, embedded: pa.Table) -> pa.Table:
    """Return the MANIFEST `base` without the samples of `leaving`: its rows, in its order.

    `leaving` has the columns shard, row and reason, each sample once, and any of MANIFEST's others
    that say why. `embedded` is a table with the columns shard and row, in which a sample may
    repeat; a sample that it lacks is removed as not embedded, as its similarities are unknown. Rows
    that the base dropped are unchanged. Samples that the base does not have are ignored.
    """
    addresses = pa.array(sample_addresses(base))
    kept = base["kept"].combine_chunks()
    known = pc.is_in(addresses, value_set=pa.array(sample_addresses(embedded)))
    found = pc.index_in(addresses, value_set=pa.array(sample_addresses(leaving)))
    found = pc.if_else(pc.and_(kept, known), found, None)
    columns = {name: base[name].combine_chunks() for name in ("shard", "row")}
    for field in list(MANIFEST)[3:]:
        fresh = pa.nulls(len(base), field.type)
        if field.name in leaving.column_names:
            fresh = leaving[field.name].cast(field.type).combine_chunks().take(found)
        if field.name == "reason":
            fresh = pc.if_else(known, fresh, NOT_EMBEDDED)
        columns[field.name] = pc.if_else(kept, fresh, base[field.name].combine_chunks())
    columns["kept"] = pc.and_(kept, pc.is_null(columns["reason"]))
    return pa.table({name: columns[name] for name in MANIFEST.names}, schema=MANIFEST)


def count_kept(manifests: Iterable[pa.Table]) -> int:
    """Return how many samples the manifests of all parts keep; they are held one at a time."""
    return sum(pc.sum(manifest["kept"]).as_py() or 0 for manifest in manifests)


def rows_in_tars(samples: pa.Table, drops: pa.Table) -> dict[int, int]:
    """Return how many rows each shard's tar has, from its samples and the drops of stage "index".

    A shard without rows is not in the result.
    """
    indexed = drops.filter(pc.equal(drops["stage"], "index"))
    numbers = np.concatenate([samples["shard"].to_numpy(), indexed["shard"].to_numpy()])
    shards, counts = np.unique(numbers, return_counts=True)
    return dict(zip(shards.tolist(), counts.tolist(), strict=True))


def corpus_to_seal(
    name: str,
    captioning: Captioning,
    digests: Sequence[str],
    rows: Mapping[int, int],
    manifests: Iterable[pa.Table],
) -> CorpusToSeal:
    """Join the manifests of a corpus's parts with its shards, for `seal`.

    `digests` are the SHA-256 of the tars in the order of the corpus, `rows` are as in
    `rows_in_tars`. Manifests and their rows may come in any order, and only kept rows matter; one
    manifest is held at a time. Rows that the corpus does not have raise InputError.
    """
    flags = [np.zeros(rows.get(number, 0), dtype=bool) for number in range(len(digests))]
    for manifest in manifests:
        kept = manifest.filter(manifest["kept"])
        shards, found = kept["shard"].to_numpy(), kept["row"].to_numpy()
        for number in np.unique(shards).tolist():
            here = found[shards == number]
            _refuse_strange_rows(name, number, here, flags)
            flags[number][here] = True
    shards = [
        ShardToSeal(digest, len(flag), np.packbits(flag, bitorder="little").tobytes())
        for digest, flag in zip(digests, flags, strict=True)
    ]
    return CorpusToSeal(name, captioning, shards)


def _refuse_strange_rows(
    name: str, shard: int, rows: Int32[np.ndarray, " n"], flags: Sequence[Bool[np.ndarray, " _"]]
) -> None:
    limit = len(flags[shard]) if 0 <= shard < len(flags) else 0
    strange = rows[(rows < 0) | (rows >= limit)]
    if len(strange):
        raise InputError(
            f"{name}: the manifest keeps row {strange[0]} of shard {shard}, but the corpus has "
            f"{len(flags)} shards and that one {limit} rows. "
            "Make the manifest from the samples of this corpus."
        )
