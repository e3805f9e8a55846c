"""Reads the images of a table of samples, in its order, decoded by worker processes.

Batches are cut per shard and always full; the end of a shard's last one is black. So what a model
computes for an image depends only on its shard and the batch size, not on how shards form parts,
nor on the number of workers.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Int64, UInt8
from PIL import Image

from clipaudit.corpora.addresses import sample_addresses
from clipaudit.corpora.images import open_picture
from clipaudit.corpora.reasons import NO_IMAGE, Unusable
from clipaudit.corpora.shards import RawSample, first_image, raw_samples
from clipaudit.errors import InputError
from clipaudit.models.preparation import Pixels, Preparation
from clipaudit.models.workers import Workers
from clipaudit.progress import Progress

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Running:
    """How images go through a model; the number of decoding `workers` does not affect results."""

    batch_size: int
    workers: int
    device: torch.device


class Fault(NamedTuple):
    """A sample whose image cannot be used, and why."""

    row: int
    key: str
    reason: str
    detail: str


class PictureBatch(NamedTuple):
    """Images of one shard: `pixels[i]` is that of `rows[i]`; beyond the rows they are black."""

    shard: int
    rows: list[int]
    keys: list[str]
    pixels: UInt8[torch.Tensor, "batch height width 3"]
    faults: list[Fault]


class StoredBatch(NamedTuple):
    """Images of one shard in their own sizes: `pictures[i]` is that of `rows[i]`."""

    shard: int
    rows: list[int]
    keys: list[str]
    pictures: list[UInt8[torch.Tensor, "_ _ 3"]]
    faults: list[Fault]


B = TypeVar("B", PictureBatch, StoredBatch)


def decoded(
    shards: Sequence[tuple[int, Path]],
    samples: pa.Table,
    preparation: Preparation,
    running: Running,
    *,
    task: str,
    unit: str = "images",
) -> Iterator[PictureBatch]:
    """Yield the batches of `PictureSource`; log the progress of `task`."""
    source = PictureSource(shards, samples, preparation, batch_size=running.batch_size)
    return _through_workers(source, running, task=task, unit=unit)


def stored(
    shards: Sequence[tuple[int, Path]], samples: pa.Table, running: Running, *, task: str
) -> Iterator[StoredBatch]:
    """Yield the images of `samples` in their own sizes; log the progress of `task`."""
    source = StoredPictures(shards, samples, batch_size=running.batch_size)
    return _through_workers(source, running, task=task, unit="rows")


def _through_workers(
    source: "ShardPictures[B]", running: Running, *, task: str, unit: str
) -> Iterator[B]:
    progress = Progress(_log, task, total=source.total, unit=unit)
    pinned = running.device.type == "cuda"
    done = 0
    for batch in Workers(source.batches, workers=running.workers, pinned=pinned):
        yield batch
        done += len(batch.rows) + len(batch.faults)
        progress.note(done)


class ShardPictures(ABC, Generic[B]):
    """Reads the images of `samples` (columns shard and row, ascending) from numbered tars.

    Every worker visits all shards and takes each n-th batch, reading only those rows, so that
    batches come in order and a single shard keeps all workers busy.
    """

    def __init__(
        self,
        shards: Sequence[tuple[int, Path]],
        samples: pa.Table,
        *,
        batch_size: int,
    ) -> None:
        """Look up which rows are wanted; nothing is read yet."""
        self.shards = list(shards)
        self.rows = _rows_by_shard(samples)
        self.batch_size = batch_size
        missing = self.rows.keys() - {number for number, _ in self.shards}
        assert not missing, f"no path for shards {sorted(missing)}"

    @property
    def total(self) -> int:
        """Return the number of images."""
        return sum(map(len, self.rows.values()))

    def batches(self, worker: int, workers: int) -> Iterator[B]:
        """Yield one worker's batches."""
        first = 0  # number, over all shards, of the shard's first batch
        for number, path in self.shards:
            rows = self.rows.get(number)
            if rows is not None:
                batch = first + np.arange(len(rows)) // self.batch_size  # of each row
                own = batch % workers == worker
                mine = dict(zip(rows[own].tolist(), batch[own].tolist(), strict=True))
                yield from self._shard(number, path, mine)
                first += -(-len(rows) // self.batch_size)

    def _shard(self, number: int, path: Path, own: dict[int, int]) -> Iterator[B]:
        """Yield the batches of a shard's rows in `own`, which gives each row's batch."""
        waiting: list[RawSample] = []
        found = 0
        for raw in raw_samples(path, own.__contains__):
            found += 1
            if waiting and own[raw.row] != own[waiting[0].row]:
                yield self._batch(number, waiting)
                waiting = []
            waiting.append(raw)
        if found != len(own):
            raise InputError(
                f"{path}: the index has {len(own)} of its samples, but the file has {found} of "
                "these. It was changed after indexing: index it again."
            )
        if waiting:
            yield self._batch(number, waiting)

    @abstractmethod
    def _batch(self, number: int, samples: list[RawSample]) -> B:
        """Return the images of some samples of a shard."""

    def _usable(
        self, samples: list[RawSample]
    ) -> tuple[list[int], list[str], list[Pixels], list[Fault]]:
        """Return the rows, keys and pixels of usable images, and the faults of the others."""
        rows, keys, pictures, faults = [], [], [], []
        for sample in samples:
            try:
                pictures.append(self._pixels(sample))
            except Unusable as error:
                faults.append(Fault(sample.row, sample.key, error.reason, error.detail))
            else:
                rows.append(sample.row)
                keys.append(sample.key)
        return rows, keys, pictures, faults

    def _pixels(self, sample: RawSample) -> Pixels:
        if sample.fault is not None:
            raise Unusable(sample.fault, sample.detail)
        image = first_image(sample.members)
        if image is None:
            raise Unusable(NO_IMAGE)
        return self._prepared(open_picture(image).rgb)

    def _prepared(self, picture: Image.Image) -> Pixels:
        return np.array(picture)  # a copy: torch shares no read-only memory


class StoredPictures(ShardPictures[StoredBatch]):
    """A source of images as they are stored, for models that prepare their images."""

    def _batch(self, number: int, samples: list[RawSample]) -> StoredBatch:
        rows, keys, pictures, faults = self._usable(samples)
        return StoredBatch(number, rows, keys, [*map(torch.from_numpy, pictures)], faults)


class PictureSource(ShardPictures[PictureBatch]):
    """A source of images that one preparation brings to the same size."""

    def __init__(
        self,
        shards: Sequence[tuple[int, Path]],
        samples: pa.Table,
        preparation: Preparation,
        *,
        batch_size: int,
    ) -> None:
        """Look up which rows are wanted; nothing is read yet."""
        super().__init__(shards, samples, batch_size=batch_size)
        self.preparation = preparation

    def _batch(self, number: int, samples: list[RawSample]) -> PictureBatch:
        rows, keys, pictures, faults = self._usable(samples)
        height, width = self.preparation.size
        pixels = np.zeros((self.batch_size, height, width, 3), np.uint8)
        if pictures:
            pixels[: len(pictures)] = pictures
        return PictureBatch(number, rows, keys, torch.from_numpy(pixels), faults)

    def _prepared(self, picture: Image.Image) -> Pixels:
        return self.preparation.pixels(picture)


def _rows_by_shard(samples: pa.Table) -> dict[int, Int64[np.ndarray, " n"]]:
    shard, row = (samples[name].to_numpy().astype(np.int64) for name in ("shard", "row"))
    assert np.all(np.diff(sample_addresses(samples)) > 0), "samples come sorted by (shard, row)"
    numbers, starts = np.unique(shard, return_index=True)
    return dict(zip(numbers.tolist(), np.split(row, starts)[1:], strict=True))
