"""Score the captions of samples held out of all sets, read from their own shards.

As `caption_scores`, on the few, full shards into which these samples are repacked; the corpus's
shards have about ten held-out samples each. A donor is another held-out sample of the same repacked
shard.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Int32

from clipaudit.corpora.drops import Drops
from clipaudit.corpora.repacking import repacked_rows
from clipaudit.models.clip import Clip
from clipaudit.parrot.caption_scores import SCORES, score_captions
from clipaudit.parrot.settings import Erasing
from clipaudit.parrot.tokens import Tokenization

# As SCORES, by addresses in the corpus, where a donor may be in another shard.
HELDOUT_SCORES = pa.schema(
    [
        *(field for field in SCORES if not field.name.endswith("donor_row")),
        pa.field("donor_shard", pa.int32()),  # of the donor; null where random_all is
        pa.field("donor_row", pa.int32()),
        pa.field("co_donor_shard", pa.int32()),  # the same for random_co
        pa.field("co_donor_row", pa.int32()),
    ]
)


def score_heldout(
    shards: Sequence[tuple[int, Path]],
    sources: pa.Table,
    tables: Sequence[pa.Table],
    clip: Clip,
    *,
    tokenization: Tokenization,
    erasing: Erasing,
    batch_size: int,
    workers: int,
    device: torch.device,
    drops: Drops,
) -> Iterator[pa.Table]:
    """Yield the HELDOUT_SCORES of each repacked shard, in its order.

    `shards` gives the tar of each repacked shard, `sources` are its SOURCES, `tables` the SAMPLES,
    SPANS and MATCHES of the held-out samples by their addresses in the corpus. Scores and `drops`
    have these addresses too. The rest is as in `score_captions`.
    """
    samples, spans, matches = (repacked_rows(table, sources) for table in tables)
    lost = Drops(drops.stage)
    score = partial(score_captions, shards, samples, spans, matches, clip, device=device)
    scores = score(
        tokenization=tokenization,
        **erasing.model_dump(),
        batch_size=batch_size,
        workers=workers,
        drops=lost,
    )
    origins = _Origins(sources)
    for table in scores:
        yield origins.scores(table)
    for shard, row, key, _, reason, detail in lost.rows:
        source_shard, source_row = origins.of(
            np.array([shard], np.int32), np.array([row], np.int32)
        )
        drops.add(int(source_shard[0]), int(source_row[0]), key, reason, detail)


class _Origins:
    """The addresses in the corpus of the samples of a repacked set."""

    def __init__(self, sources: pa.Table) -> None:
        shards = sources["shard"].to_numpy()
        self._firsts = np.searchsorted(shards, np.arange(shards.max(initial=-1) + 1))
        self._shards, self._rows = (
            sources[name].to_numpy() for name in ("source_shard", "source_row")
        )

    def of(
        self, shards: Int32[np.ndarray, " n"], rows: Int32[np.ndarray, " n"]
    ) -> tuple[Int32[np.ndarray, " n"], Int32[np.ndarray, " n"]]:
        """Return the shards and rows in the corpus of samples of the repacked set."""
        at = self._firsts[shards] + rows
        return self._shards[at], self._rows[at]

    def scores(self, table: pa.Table) -> pa.Table:
        """Return SCORES as HELDOUT_SCORES."""
        columns = {name: table[name] for name in table.column_names}
        shards = table["shard"].to_numpy()
        for name in ("", "donor_", "co_donor_"):
            rows = table[f"{name}row"].combine_chunks()
            missing = np.asarray(rows.is_null())
            found = self.of(shards, rows.fill_null(0).to_numpy())
            for column, values in zip((f"{name}shard", f"{name}row"), found, strict=True):
                columns[column] = pa.array(values, mask=missing)
        return pa.table({name: columns[name] for name in HELDOUT_SCORES.names}, HELDOUT_SCORES)
