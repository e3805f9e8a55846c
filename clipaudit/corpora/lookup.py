"""Looks up samples of a corpus by their addresses: their images, and rows of their shards."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clipaudit.corpora.addresses import sample_address, shard_row
from clipaudit.corpora.shards import first_image, raw_samples
from clipaudit.errors import InputError

_CHANGED = "Restore the shard as it was indexed, or run the workflow again from its index."


def read_pictures(paths_by_shard: Mapping[int, Path], addresses: Iterable[int]) -> dict[int, bytes]:
    """Return the image files of some samples, undecoded, by address (`sample_addresses`).

    Each tar is read once, forward, up to its last requested sample; bytes of other samples are not
    read, and other tars are not opened. Raise InputError for a shard without a path, and for a row
    that is missing or has no usable image.
    """
    rows: dict[int, set[int]] = {}
    for address in addresses:
        shard, row = shard_row(address)
        rows.setdefault(shard, set()).add(row)
    found = {}
    for shard in sorted(rows):
        if shard not in paths_by_shard:
            raise InputError(
                f"shard {shard}: one of its samples is needed, but there are only "
                f"{len(paths_by_shard)} shards; give the shards that were indexed"
            )
        for row, image in _images(paths_by_shard[shard], rows[shard]):
            found[sample_address(shard, row)] = image
    return found


def _images(path: Path, wanted: set[int]) -> Iterator[tuple[int, bytes]]:
    left = set(wanted)
    for sample in raw_samples(path, wanted.__contains__):
        image = first_image(sample.members)
        if image is None:
            what = sample.detail or sample.fault or "no image beside its text"
            raise InputError(f"{path}: row {sample.row} cannot be shown: {what}. {_CHANGED}")
        yield sample.row, image
        left.remove(sample.row)
        if not left:
            return
    raise InputError(f"{path}: no row {min(left)}: the tar ends before it. {_CHANGED}")


def paths_by_corpus(
    paths: Sequence[Path], shards: Iterable[tuple[str, int]]
) -> dict[str, dict[int, Path]]:
    """Return the tars of each corpus by shard, from one list of all tars.

    `shards` gives, in the order of the tars, each corpus and its number of shards.

    >>> paths_by_corpus([Path("a"), Path("b")], [("val", 2)])
    {'val': {0: PosixPath('a'), 1: PosixPath('b')}}
    """
    left = iter(paths)
    found = {corpus: dict(enumerate(islice(left, count))) for corpus, count in shards}
    assert sum(map(len, found.values())) == len(paths), "tars that belong to no corpus"
    return found


def rows_of_shards(paths: Sequence[Path], shards: Iterable[int]) -> Iterator[pa.Table]:
    """Yield the row groups of Parquet files that may hold rows with `shard` among `shards`.

    The statistics of the groups decide; groups are in the order of the files, one in memory at a
    time. From files sorted by shard, little more is read than is requested.
    """
    wanted = np.unique(np.fromiter(shards, dtype=np.int64))
    for path in paths:
        with pq.ParquetFile(path) as file:
            column = file.schema_arrow.names.index("shard")
            for group in range(file.num_row_groups):
                statistics = file.metadata.row_group(group).column(column).statistics
                if statistics is not None and statistics.has_min_max:
                    first = np.searchsorted(wanted, statistics.min)
                    if first == np.searchsorted(wanted, statistics.max, side="right"):
                        continue  # none of them in this group
                yield file.read_row_group(group)
