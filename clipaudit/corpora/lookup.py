"""Looks up samples of a corpus by their addresses: their images, and rows of their shards."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clipaudit.corpora.addresses import sample_address, shard_row
from clipaudit.corpora.scattered import Scattered, is_plain_tar
from clipaudit.corpora.shards import RawSample, first_image, raw_samples
from clipaudit.errors import InputError

_CHANGED = "Restore the shard as it was indexed, or run the workflow again from its index."

# Returns the images of some rows of a shard, with the rows.
ReadRows = Callable[[Path, set[int]], Iterator[tuple[int, bytes]]]


def read_pictures(paths_by_shard: Mapping[int, Path], addresses: Iterable[int]) -> dict[int, bytes]:
    """Return the image files of some samples, undecoded, by address (`sample_addresses`).

    Each tar is read once, forward, up to its last requested sample; bytes of other samples are not
    read, and other tars are not opened. Raise InputError for a shard without a path, and for a row
    that is missing or has no usable image.
    """
    return _pictures(paths_by_shard, addresses, _in_order)


class PictureReader:
    """Does what `read_pictures` does, again and again.

    A plain tar's headers are read once, when it is first needed; then each sample is read at its
    position. Memory: 8 bytes a sample of the tars that were read.
    """

    def __init__(self, paths_by_shard: Mapping[int, Path]) -> None:
        """Open nothing yet."""
        self._paths = paths_by_shard
        self._scattered: dict[Path, Scattered] = {}

    def __call__(self, addresses: Iterable[int]) -> dict[int, bytes]:
        """Return the image files of some samples by address."""
        return _pictures(self._paths, addresses, self._by_position)

    def _by_position(self, path: Path, wanted: set[int]) -> Iterator[tuple[int, bytes]]:
        if path not in self._scattered:
            if not is_plain_tar(path):
                yield from _in_order(path, wanted)
                return
            self._scattered[path] = Scattered(path)
        for row in sorted(wanted):
            yield row, _image(path, self._scattered[path].sample(row))


def _pictures(
    paths_by_shard: Mapping[int, Path], addresses: Iterable[int], read: ReadRows
) -> dict[int, bytes]:
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
        for row, image in read(paths_by_shard[shard], rows[shard]):
            found[sample_address(shard, row)] = image
    return found


def _in_order(path: Path, wanted: set[int]) -> Iterator[tuple[int, bytes]]:
    left = set(wanted)
    for sample in raw_samples(path, wanted.__contains__):
        yield sample.row, _image(path, sample)
        left.remove(sample.row)
        if not left:
            return
    raise InputError(f"{path}: no row {min(left)}: the tar ends before it. {_CHANGED}")


def _image(path: Path, sample: RawSample) -> bytes:
    image = first_image(sample.members)
    if image is None:
        what = sample.detail or sample.fault or "no image beside its text"
        raise InputError(f"{path}: row {sample.row} cannot be shown: {what}. {_CHANGED}")
    return image


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
