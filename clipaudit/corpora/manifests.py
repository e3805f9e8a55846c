"""Manifests: which samples of a corpus to keep, and why each other one left."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Int32

from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.sealed import CorpusToSeal, ShardToSeal
from clipaudit.errors import InputError

MANIFEST = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("kept", pa.bool_(), nullable=False),
        # why a sample left: the test sample to which it is too similar, and that sample's gap
        pa.field("testset", pa.string()),
        pa.field("test_shard", pa.int32()),
        pa.field("test_row", pa.int32()),
        pa.field("similarity", pa.float64()),
        pa.field("gap", pa.float64()),
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
    for field in MANIFEST:
        if field.name not in columns:
            columns[field.name] = pa.nulls(len(samples), field.type)
    return pa.table(columns, schema=MANIFEST)


def rows_in_tars(samples: pa.Table, drops: pa.Table) -> dict[int, int]:
    """Return how many rows each shard's tar has, from its samples and the drops of stage "index".

    A shard without any row is not in the answer.
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

    `digests` are the SHA-256 of the tars in the order of the corpus, `rows` as `rows_in_tars`
    counts them. Manifests and their rows may come in any order, and only kept rows matter; one
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
    bitmaps = [np.packbits(flag, bitorder="little").tobytes() for flag in flags]
    return CorpusToSeal(
        name,
        captioning,
        [
            ShardToSeal(digest, len(flag), bitmap)
            for digest, flag, bitmap in zip(digests, flags, bitmaps, strict=True)
        ],
    )


def _refuse_strange_rows(
    name: str, shard: int, rows: Int32[np.ndarray, " n"], flags: Sequence[Bool[np.ndarray, " _"]]
) -> None:
    limit = len(flags[shard]) if 0 <= shard < len(flags) else 0
    strange = rows[(rows < 0) | (rows >= limit)]
    if len(strange):
        raise InputError(
            f"{name}: the manifest keeps row {strange[0]} of shard {shard}, the corpus has "
            f"{len(flags)} shards and that one {limit} rows. "
            "Make the manifest from the samples of this corpus."
        )
