"""The pictures of a table of samples, in its order, decoded by worker processes.

Batches are cut per shard and always full, the end of a shard's last one being black: what a model
computes for a picture then depends on its shard and the batch size alone, never on how shards are
put together to parts, nor on the number of workers.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Int64, UInt8

from clipaudit.corpora.addresses import sample_addresses
from clipaudit.corpora.images import open_picture
from clipaudit.corpora.reasons import NO_IMAGE, Unusable
from clipaudit.corpora.shards import RawSample, first_image, raw_samples
from clipaudit.errors import InputError
from clipaudit.models.preparation import Pixels, Preparation


class Fault(NamedTuple):
    """A sample whose picture cannot be used, and why."""

    row: int
    key: str
    reason: str
    detail: str


class PictureBatch(NamedTuple):
    """Pictures of one shard: `pixels[i]` is that of `rows[i]`; beyond the rows they are black."""

    shard: int
    rows: list[int]
    keys: list[str]
    pixels: UInt8[torch.Tensor, "batch height width 3"]
    faults: list[Fault]


class PictureSource:
    """Reads the pictures of `samples` (columns shard and row, ascending) from numbered tars.

    Every worker goes through all shards and takes each n-th batch, reading only those rows, so
    that batches come in order and a single shard keeps all workers busy.
    """

    def __init__(
        self,
        shards: Sequence[tuple[int, Path]],
        samples: pa.Table,
        preparation: Preparation,
        *,
        batch_size: int,
    ) -> None:
        """Look up which rows are wanted; nothing is read yet."""
        self.shards = list(shards)
        self.rows = _rows_by_shard(samples)
        self.preparation = preparation
        self.batch_size = batch_size
        missing = self.rows.keys() - {number for number, _ in self.shards}
        assert not missing, f"no path for shards {sorted(missing)}"

    @property
    def total(self) -> int:
        """The number of pictures."""
        return sum(map(len, self.rows.values()))

    def batches(self, worker: int, workers: int) -> Iterator[PictureBatch]:
        """Yield one worker's batches."""
        first = 0  # number, over all shards, of the shard's first batch
        for number, path in self.shards:
            rows = self.rows.get(number)
            if rows is not None:
                own = _OwnRows(rows, self.batch_size, (worker - first) % workers, workers)
                yield from self._shard(number, path, own)
                first += own.batches

    def _shard(self, number: int, path: Path, own: "_OwnRows") -> Iterator[PictureBatch]:
        waiting: list[RawSample] = []
        found = 0
        for raw in raw_samples(path, own.wants):
            found += 1
            if waiting and own.batch(raw.row) != own.batch(waiting[0].row):
                yield self._batch(number, waiting)
                waiting = []
            waiting.append(raw)
        if found != own.count():
            raise InputError(
                f"{path}: the index has {own.count()} samples of it that are not all in the file "
                f"({found} are). It was changed after indexing: index it again."
            )
        if waiting:
            yield self._batch(number, waiting)

    def _batch(self, number: int, samples: list[RawSample]) -> PictureBatch:
        rows, keys, pictures, faults = [], [], [], []
        for sample in samples:
            try:
                pictures.append(self._pixels(sample))
            except Unusable as error:
                faults.append(Fault(sample.row, sample.key, error.reason, error.detail))
            else:
                rows.append(sample.row)
                keys.append(sample.key)
        height, width = self.preparation.size
        pixels = np.zeros((self.batch_size, height, width, 3), np.uint8)
        if pictures:
            pixels[: len(pictures)] = pictures
        return PictureBatch(number, rows, keys, torch.from_numpy(pixels), faults)

    def _pixels(self, sample: RawSample) -> Pixels:
        if sample.fault is not None:
            raise Unusable(sample.fault, sample.detail)
        image = first_image(sample.members)
        if image is None:
            raise Unusable(NO_IMAGE)
        return self.preparation.pixels(open_picture(image).rgb)


class _OwnRows:
    """Which rows of a shard a worker reads: those of each `stride`-th batch, from `start` on."""

    def __init__(self, rows: Int64[np.ndarray, " n"], size: int, start: int, stride: int) -> None:
        place = np.arange(len(rows)) // size  # of each row, its batch within the shard
        self.batches = -(-len(rows) // size)
        own = place % stride == start
        self._batch: dict[int, int] = dict(
            zip(rows[own].tolist(), place[own].tolist(), strict=True)
        )

    def wants(self, row: int) -> bool:
        return row in self._batch

    def batch(self, row: int) -> int:
        return self._batch[row]

    def count(self) -> int:
        return len(self._batch)


def _rows_by_shard(samples: pa.Table) -> dict[int, Int64[np.ndarray, " n"]]:
    shard, row = (samples[name].to_numpy().astype(np.int64) for name in ("shard", "row"))
    assert np.all(np.diff(sample_addresses(samples)) > 0), "samples come sorted by (shard, row)"
    numbers = np.unique(shard)
    starts = np.searchsorted(shard, numbers).tolist()
    ends = [*starts[1:], len(row)]
    return {
        number: row[start:end]
        for number, start, end in zip(numbers.tolist(), starts, ends[: len(starts)], strict=True)
    }
