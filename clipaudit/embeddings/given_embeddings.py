"""Joins given embeddings to samples as the embeddings of an encoder.

Rows are matched to samples by a column of the metadata, never by position: other tools read shards
in their own order and leave out images that they could not decode.
"""

import logging
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa

from clipaudit.corpora.drops import Drops
from clipaudit.corpora.joins import join_values
from clipaudit.embeddings.embedding import embedding_rows, embeddings_schema
from clipaudit.embeddings.embedding_files import EmbeddingFiles, Places
from clipaudit.errors import InputError
from clipaudit.plaintext import plain

logger = logging.getLogger(__name__)
NOT_GIVEN = "no embedding given"


def take_embeddings(
    samples: pa.Table,
    given: EmbeddingFiles,
    *,
    encoder: str,
    join_on: Literal["key", "uid", "url", "row"],
    may_lack: float,
    shards: Sequence[int],
    drops: Drops,
) -> Iterator[pa.Table]:
    """Yield the EMBEDDINGS of `samples`, one table per shard, ordered by (shard, row) as these are.

    Each row is scaled to unit length in float32 and rounded to float16, as our own are. A sample
    without a row, or whose row is not finite, is added to `drops`: rows in `samples` = rows out +
    drops. Joined on "row", the files `given` are those of `shards`, in ascending order, and a
    sample's row is that of its file; any other join searches all files. Raise InputError if more
    than the share `may_lack` have no row, and if two samples or two rows share a value.
    """
    if join_on == "row":  # the files are the corpus's own: a shard is a file
        files = np.searchsorted(np.asarray(shards), np.asarray(samples["shard"]))
        rows = np.asarray(samples["row"]).astype(np.int64)
    else:
        wanted = join_values(samples, join_on)
        files, rows = given.find(wanted)
        _refuse_losses(samples, wanted, files, given, join_on, may_lack)
    schema = embeddings_schema(encoder, given.dimension)
    addressed = np.asarray(samples["shard"])
    for shard in np.unique(addressed):
        own = addressed == shard
        for lost in samples.filter(pa.array(own & (files < 0))).select(["row", "key"]).to_pylist():
            drops.add(int(shard), lost["row"], lost["key"], NOT_GIVEN)
        has = own & (files >= 0)
        features = given.read(files[has], rows[has])
        numbers, keys = (samples.filter(pa.array(has))[name].to_pylist() for name in ("row", "key"))
        batch = embedding_rows(int(shard), numbers, keys, features, schema, drops)
        yield pa.Table.from_batches([batch])
    logger.info("%s: %s", given.pairs[0][0], given.lengths)


def _refuse_losses(
    samples: pa.Table,
    wanted: pa.Array,
    files: Places,
    given: EmbeddingFiles,
    join_on: str,
    may_lack: float,
) -> None:
    lost = np.flatnonzero(files < 0)
    if len(lost) <= may_lack * len(samples):
        return
    first = samples.slice(int(lost[0]), 1).to_pylist()[0]
    value = plain(wanted[int(lost[0])].as_py())
    raise InputError(
        f"{len(lost)} of {len(samples)} samples have no embedding, first shard {first['shard']}, "
        f"row {first['row']}: {join_on} {value!r} is not among the {sum(given.rows)} values of "
        f"{given.column} in {given.pairs[0][1]} and on, such as {plain(given.first_value)!r}. Name "
        "other files or another column, or allow a share by `may_lack`."
    )
