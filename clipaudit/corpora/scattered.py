"""Reads samples of tars in any order: training shuffles them, pairs of copies are far apart."""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from clipaudit.corpora.shards import RawSample, as_raw, is_tar, tar_groups
from clipaudit.corpora.tarmembers import TarReader
from clipaudit.errors import InputError
from clipaudit.remote.stubs import SUFFIX as STUB

_BUFFER_BYTES = 1 << 16  # read from the disk at once: speed, never results
_GZIP = b"\x1f\x8b"


class Scattered:
    """The samples of a tar in any order, each read at its own position.

    Positions are found once, from the headers. Raises InputError for a shard that can only be read
    in order: one that is compressed, remote or not a tar.
    """

    def __init__(self, path: Path) -> None:
        """Find the positions of the samples."""
        if not is_plain_tar(path):
            raise InputError(
                f"{path}: is not a plain tar on a disk, so its samples can only be read in "
                "order. Set the recipe's `shuffle: shards`, or write plain tars by "
                "`clipaudit stream --to`."
            )
        self._path = path
        with _opened(path) as (file, size):
            groups = tar_groups(TarReader(file, size), path, None, bare=True)
            self._starts = np.fromiter((group.start for group in groups), np.int64)

    def sample(self, row: int) -> RawSample:
        """Return the sample of a row; raise InputError if the tar lacks it."""
        if row >= len(self._starts):
            raise InputError(
                f"{self._path}: has {len(self._starts)} rows, but row {row} is requested. Restore "
                "the shard that was indexed."
            )
        start = int(self._starts[row])
        with _opened(self._path) as (file, size):
            file.seek(start)
            tar = TarReader(file, size, start)
            return as_raw(next(tar_groups(tar, self._path, None)))._replace(row=row)


def is_plain_tar(path: Path) -> bool:
    """Return whether a shard is a tar on a disk that is not compressed."""
    if path.suffix == STUB or not is_tar(path):
        return False
    with _opened(path) as (file, _):
        return file.read(2) != _GZIP


@contextmanager
def _opened(path: Path) -> Iterator[tuple[io.BufferedIOBase, int]]:
    try:
        with io.BufferedReader(io.FileIO(path), _BUFFER_BYTES) as file:
            yield file, os.fstat(file.fileno()).st_size
    except OSError as error:
        raise InputError(f"{path}: reading failed: {error}. Check the disk, then rerun.") from error
