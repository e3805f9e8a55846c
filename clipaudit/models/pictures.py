"""The pictures of a table of samples, in its order, decoded by worker processes.

Batches are cut per shard and always full, the end of a shard's last one being black: what a model
computes for a picture then depends on its shard and the batch size alone, never on how shards are
put together to parts, nor on the number of workers.
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
    """How pictures go through a model; the number of decoding `workers` never shows."""

    batch_size: int
    workers: int
    device: torch.device


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


class StoredBatch(NamedTuple):
    """Pictures of one shard in their own sizes: `pictures[i]` is that of `rows[i]`."""

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
    """Yield the batches of `PictureSource`; the log says how far `task` is."""
    source = PictureSource(shards, samples, preparation, batch_size=running.batch_size)
    return _through_workers(source, running, task=task, unit=unit)


def stored(
    shards: Sequence[tuple[int, Path]], samples: pa.Table, running: Running, *, task: str
) -> Iterator[StoredBatch]:
    """Yield the pictures of `samples` in their own sizes; the log says how far `task` is."""
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
    """Reads the pictures of `samples` (columns shard and row, ascending) from numbered tars.

    Every worker goes through all shards and takes each n-th batch, reading only those rows, so
    that batches come in order and a single shard keeps all workers busy.
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
        """The number of pictures."""
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
        """Yield the batches of a shard's rows of `own`, which has the batch of each."""
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
                f"{path}: the index has {len(own)} samples of it that are not all in the file "
                f"({found} are). It was changed after indexing: index it again."
            )
        if waiting:
            yield self._batch(number, waiting)

    @abstractmethod
    def _batch(self, number: int, samples: list[RawSample]) -> B:
        """Return the pictures of some samples of a shard."""

    def _usable(
        self, samples: list[RawSample]
    ) -> tuple[list[int], list[str], list[Pixels], list[Fault]]:
        """Return the rows, keys and pixels of usable pictures, and the faults of the others."""
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
    """A source of pictures as they are stored, for models that prepare their pictures."""

    def _batch(self, number: int, samples: list[RawSample]) -> StoredBatch:
        rows, keys, pictures, faults = self._usable(samples)
        return StoredBatch(number, rows, keys, [*map(torch.from_numpy, pictures)], faults)


class PictureSource(ShardPictures[PictureBatch]):
    """A source of pictures that one preparation makes equally large."""

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
