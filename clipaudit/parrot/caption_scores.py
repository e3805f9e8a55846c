"""Score captions by their cosine to their images, before and after erasing text.

Lin et al., ECCV 2024, https://arxiv.org/abs/2312.14232, Sec. 5.1: RSA is the raw score minus the
score without any text, RSC minus the one without the words that the caption repeats. Text is erased
from images as stored (large ones scaled down), not as the model takes them, and the erased images
go straight through the model.

As in `pictures`, the model's batches are cut per shard and always full: black images fill a shard's
last one. Each kind of image has its own batches. So a result depends only on the shard, the kind
and the batch size, not on the split of shards into parts or the number of workers.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from jaxtyping import Bool, Float32, UInt8

from clipaudit.corpora.drops import Drops
from clipaudit.corpora.reasons import NO_CAPTION
from clipaudit.embeddings.caption_embedding import caption_batches, caption_features
from clipaudit.embeddings.embedding import NOT_FINITE
from clipaudit.models.clip import Clip
from clipaudit.models.clip_features import image_features
from clipaudit.models.pictures import PictureBatch
from clipaudit.models.preparation import Preparation
from clipaudit.models.transforms import evaluation_preparation
from clipaudit.models.workers import Workers
from clipaudit.parrot.erased_pictures import (
    KINDS,
    ErasedPictures,
    Erasing,
    Reduced,
    erasable_pictures,
    kinds_of,
)
from clipaudit.parrot.erasing import Fill
from clipaudit.parrot.tokens import Tokenization
from clipaudit.progress import Progress

SCORES = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("raw", pa.float32(), nullable=False),  # of the unchanged image
        pa.field("all", pa.float32()),  # all text erased; null: it has none
        pa.field("co", pa.float32()),  # co-embedded text erased; null: it has none
        # area of the donor's text erased; null: this image, or every other, has no such text
        pa.field("random_all", pa.float32()),
        pa.field("random_co", pa.float32()),
        pa.field("donor_row", pa.int32()),  # of the donor, in the same shard; null if random_all is
        pa.field("co_donor_row", pa.int32()),  # of the donor of random_co; null if that is
    ]
)

_log = logging.getLogger(__name__)


def score_captions(
    shards: Sequence[tuple[int, Path]],
    samples: pa.Table,
    spans: pa.Table,
    matches: pa.Table,
    clip: Clip,
    *,
    tokenization: Tokenization,
    radius: float,
    dilation: float,
    shorter_side: int,
    seed: int,
    fill: Fill = "telea",
    batch_size: int,
    workers: int,
    device: torch.device,
    drops: Drops,
) -> Iterator[pa.Table]:
    """Yield the SCORES of each shard, ordered by (shard, row).

    `shards` gives each shard number's tar, ascending; `samples` are SAMPLES, `spans` the SPANS of
    the samples that were spotted, `matches` their MATCHES. `radius` and `dilation` are pixels of an
    image whose shorter side is 224. Images with a shorter side above `shorter_side` are scaled down
    to it first, raw ones too. Rows without a caption, whose image cannot be decoded, or with a
    score that is not finite are added to `drops`: rows in `spans` = rows out + drops. Rows of
    `samples` that `spans` lacks were dropped at spotting and are left out.

    A score is the product, in float64, of two unit rows in float32. Donors are drawn among all of
    the shard's `spans`, captioned or not. The values depend on the model, the shard, the settings,
    `batch_size`, the device class and its threads, but not on `workers` or the other shards.
    """
    pictures = erasable_pictures(samples, spans, matches, tokenization, seed)
    captioned = pictures.filter(pc.is_valid(pictures["caption"]))
    preparation = evaluation_preparation(clip.preprocessing)
    erasing = Erasing(pictures, tokenization, radius, dilation, fill)
    source = ErasedPictures(shards, captioned, preparation, erasing, Reduced(shorter_side))
    clip.model.to(device).eval()
    model = _Model(clip, preparation, batch_size, device)
    progress = Progress(_log, "scoring captions", total=source.total, unit="images")
    by_shard = groupby(Workers(source.batches, workers=workers), key=attrgetter("shard"))
    done = 0
    for shard in np.unique(pictures["shard"]).tolist():
        own = captioned.filter(pc.equal(captioned["shard"], shard))
        losses = _without_caption(pictures, shard)
        if len(own):
            number, batches = next(by_shard)
            assert number == shard, f"images of shard {number} came for those of {shard}"
            table, lost = _score_shard(own, batches, model)
            losses += lost
            yield table
        for loss in sorted(losses):
            drops.add(shard, *loss)
        done += len(own)
        progress.note(done)


@dataclass(frozen=True)
class _Model:
    """A model on its device, and its batch size."""

    clip: Clip
    preparation: Preparation
    batch_size: int
    device: torch.device

    def captions(self, samples: pa.Table) -> Float32[np.ndarray, "n d"]:
        """Return the model's output for the captions of one shard's samples."""
        size = self.batch_size
        features = [
            caption_features(batch.captions, self.clip, batch_size=size, device=self.device)
            for batch in caption_batches(samples, batch_size=size)
        ]
        return np.concatenate(features)


class _Stream:
    """Pass images of one kind and one shard through the model, in full batches."""

    def __init__(self, model: _Model) -> None:
        self.rows: list[int] = []
        self._model = model
        self._waiting = 0
        self._features: list[np.ndarray] = []
        shape = (model.batch_size, *model.preparation.size, 3)
        pinned = model.device.type == "cuda"
        self._pixels = torch.zeros(shape, dtype=torch.uint8, pin_memory=pinned)

    def add(self, row: int, pixels: UInt8[torch.Tensor, "height width 3"]) -> None:
        self._pixels[self._waiting] = pixels
        self.rows.append(row)
        self._waiting += 1
        if self._waiting == self._model.batch_size:
            self._run()

    def features(self) -> Float32[np.ndarray, "n d"]:
        """Run the pending last batch, and return the model's output for all `rows`."""
        if self._waiting:
            self._run()
        return np.concatenate(
            [np.zeros((0, self._model.clip.dimension), np.float32), *self._features]
        )

    def _run(self) -> None:
        self._pixels[self._waiting :] = 0
        batch = PictureBatch(0, self.rows[-self._waiting :], [], self._pixels, [])
        model = self._model
        self._features.append(image_features(batch, model.clip, model.preparation, model.device))
        self._waiting = 0


Loss = tuple[int, str, str, str]  # row, key, reason, detail


def _without_caption(pictures: pa.Table, shard: int) -> list[Loss]:
    bare = pictures.filter(
        pc.and_(pc.equal(pictures["shard"], shard), pc.is_null(pictures["caption"]))
    )
    return [
        (row, key, NO_CAPTION, "")
        for row, key in zip(bare["row"].to_pylist(), bare["key"].to_pylist(), strict=True)
    ]


def _score_shard(
    pictures: pa.Table, batches: Iterable[PictureBatch], model: _Model
) -> tuple[pa.Table, list[Loss]]:
    """Return the SCORES of captioned images of one shard, and the samples lost."""
    rows = pictures["row"].to_pylist()
    kinds = dict(zip(rows, kinds_of(pictures), strict=True))
    streams = {kind: _Stream(model) for kind in KINDS}
    losses: list[Loss] = []
    for batch in batches:
        pixels = iter(batch.pixels)
        for row in dict.fromkeys(batch.rows):
            for kind in kinds[row]:
                streams[kind].add(row, next(pixels))
        losses += [(fault.row, fault.key, fault.reason, fault.detail) for fault in batch.faults]
    texts = model.captions(pictures)
    places = {row: at for at, row in enumerate(rows)}
    scores = np.zeros((len(rows), len(KINDS)), np.float32)
    there = np.zeros(scores.shape, bool)
    for column, stream in enumerate(streams.values()):
        at = [places[row] for row in stream.rows]
        scores[at, column] = _cosines(stream.features(), texts[at])
        there[at, column] = True
    finite = np.isfinite(scores).all(axis=1)
    keys = pictures["key"].to_pylist()
    losses += [(rows[at], keys[at], NOT_FINITE, "") for at in np.flatnonzero(~finite)]
    kept = finite & there[:, 0]
    return _table(pictures.filter(pa.array(kept)), scores[kept], there[kept]), losses


def _cosines(
    images: Float32[np.ndarray, "n d"], texts: Float32[np.ndarray, "n d"]
) -> Float32[np.ndarray, " n"]:
    """Return the cosine of each image and its caption; nan if one is zero or not finite."""
    with np.errstate(all="ignore"):
        units = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (images, texts)]
        products: np.ndarray = (units[0].astype(np.float64) * units[1]).sum(axis=1)
    return products.astype(np.float32)


def _table(
    pictures: pa.Table,
    scores: Float32[np.ndarray, "n kinds"],
    there: Bool[np.ndarray, "n kinds"],
) -> pa.Table:
    columns = {name: pictures[name] for name in SCORES.names if name not in KINDS}
    for at, kind in enumerate(KINDS):
        columns[kind] = pa.array(scores[:, at], mask=~there[:, at])
    return pa.table([columns[name] for name in SCORES.names], schema=SCORES).combine_chunks()
