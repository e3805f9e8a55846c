"""The annotator `transformers`: find objects in the images of samples by a detector.

The preparation of images depends on the detector. Detectors that take padded images with a
`pixel_mask`, such as the DETRs, get them with their aspect ratio, padded to the largest of their
batch. Others (YOLOS, RT-DETR) would treat padding as part of the image, or cut images into windows
(LW-DETR, RF-DETR), and get images stretched to a square. Both give boxes relative to the image. The
checkpoint's own post-processing computes scores, by a softmax or a sigmoid.

One difference from the published code: an image longer than MOST_ASPECT times its shorter side is
scaled by its longer side, so that one banner does not fill the memory.
"""

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Bool, Float32, Int64
from PIL import Image

from clipaudit.corpora.drops import Drops
from clipaudit.corpora.shards import RawSample
from clipaudit.errors import InputError
from clipaudit.memorization.detectors import Detector
from clipaudit.memorization.objects import objects_table, pictures_without_objects
from clipaudit.models.pictures import PictureBatch, PictureSource
from clipaudit.models.preparation import Preparation
from clipaudit.models.workers import Workers
from clipaudit.progress import Progress

NOT_FINITE = "detection not finite"
MOST_ASPECT = 4  # the largest aspect ratio of an image shown to a detector; ours

_log = logging.getLogger(__name__)


def detect_objects(
    shards: Sequence[tuple[int, Path]],
    samples: pa.Table,
    detector: Detector,
    *,
    threshold: float,
    shorter_side: int,
    batch_size: int,
    workers: int,
    device: torch.device,
    drops: Drops,
) -> Iterator[pa.Table]:
    """Yield the OBJECTS of the rows in `samples`, in the same order by (shard, row).

    `shards` gives each shard number's tar, ascending; `samples` are SAMPLES. Images are resized so
    that their shorter side has `shorter_side` pixels, and their longer one at most MOST_ASPECT
    times as many. A box counts if its score is above `threshold`, and is clipped at the image's
    edge. Rows whose image cannot be decoded, or for which the detector gives numbers that are not
    finite, are added to `drops` instead, so that rows in `samples` = rows out + drops. The values
    depend on the detector, the shard, `batch_size`, the device class and its threads, but not on
    `workers` or on which shards are processed together. Raise InputError for a side that the
    detector does not take.
    """
    addresses = zip(samples["shard"].to_pylist(), samples["row"].to_pylist(), strict=True)
    sides = zip(samples["height"].to_pylist(), samples["width"].to_pylist(), strict=True)
    sizes = dict(zip(addresses, sides, strict=True))
    preparation = _preparation(detector, shorter_side)
    source = _PaddedPictures(shards, samples, preparation, batch_size=batch_size)
    detector.model.to(device).eval()
    _refuse_side(detector, shorter_side, device)
    progress = Progress(_log, "detecting objects", total=source.total, unit="rows")
    done = bare = 0
    for batch in Workers(source.batches, workers=workers, pinned=device.type == "cuda"):
        stored = np.array([sizes[batch.shard, row] for row in batch.rows], np.int64).reshape(-1, 2)
        finite, found = _run(batch, stored, detector, preparation, threshold, device)
        table = _batch_objects(batch, stored, finite, found, drops)
        yield table
        done += len(batch.rows) + len(batch.faults)
        bare += pictures_without_objects(table)
        progress.note(done)
    _log.info("%d of %d images show no object above %g", bare, done, threshold)


def _refuse_side(detector: Detector, side: int, device: torch.device) -> None:
    """Raise InputError if a detector of images of one size refuses those of `side` pixels."""
    if detector.own_side is None or detector.own_side == side:
        return
    try:
        with torch.inference_mode():
            detector.model(pixel_values=torch.zeros((1, 3, side, side), device=device))
    except (RuntimeError, ValueError) as error:
        raise InputError(
            f"the detector takes no images of {side} x {side} pixels ({error}). Set `shorter_side` "
            f"to {detector.own_side}, the size in its preprocessor_config.json."
        ) from error


def _batch_objects(
    batch: PictureBatch,
    sizes: Int64[np.ndarray, "n 2"],
    finite: Bool[np.ndarray, " n"],
    found: Sequence[dict[str, torch.Tensor]],
    drops: Drops,
) -> pa.Table:
    """Return the OBJECTS of a batch from the result of `_run`; add lost samples to `drops`."""
    losses = [(fault.row, fault.key, fault.reason, fault.detail) for fault in batch.faults]
    losses += [(batch.rows[at], batch.keys[at], NOT_FINITE, "") for at in np.flatnonzero(~finite)]
    for loss in sorted(losses):
        drops.add(batch.shard, *loss)
    kept = np.flatnonzero(finite)
    parts = [found[at] for at in kept]
    rows = np.array(batch.rows, np.int32)[kept]
    counts = [len(part["labels"]) for part in parts]
    return objects_table(
        np.full(len(rows), batch.shard, np.int32),
        rows,
        np.repeat(np.arange(len(rows)), counts),
        labels=_joined([part["labels"] for part in parts], (), np.int32),
        scores=_joined([part["scores"] for part in parts], (), np.float32),
        boxes=_inside(
            _joined([part["boxes"] for part in parts], (4,), np.float32),
            np.repeat(sizes[kept], counts, axis=0),
        ),
    )


def _run(
    batch: PictureBatch,
    sizes: Int64[np.ndarray, "n 2"],
    detector: Detector,
    preparation: Preparation,
    threshold: float,
    device: torch.device,
) -> tuple[Bool[np.ndarray, " n"], list[dict[str, torch.Tensor]]]:
    """Return, for each image, whether the model's numbers are finite, and its objects."""
    n, side = len(batch.rows), preparation.size[0]
    canvas = (batch.pixels.shape[1], batch.pixels.shape[2])
    stored = np.ones((len(batch.pixels), 2), np.int64)  # height, width; beyond the rows any value
    stored[:n] = sizes
    with torch.inference_mode(), _whole_sums():
        images = preparation.tensor(batch.pixels, device)
        options = {}
        if detector.takes_padding:
            mask = torch.from_numpy(_mask(sizes, len(batch.pixels), side, canvas)).to(device)
            images *= mask[:, None]  # padding is 0 after normalization, as in transformers
            options["pixel_mask"] = mask.to(torch.int64)
        outputs = detector.model(pixel_values=images, **options)
        finite = _finite(outputs.logits) & _finite(outputs.pred_boxes)
        found = detector.processor.post_process_object_detection(
            outputs, threshold=threshold, target_sizes=torch.from_numpy(stored).to(device)
        )
    names = ("labels", "scores", "boxes")
    return finite[:n], [{name: one[name].cpu() for name in names} for one in found[:n]]


def _finite(numbers: torch.Tensor) -> Bool[np.ndarray, " n"]:
    return np.asarray(numbers.isfinite().flatten(1).all(dim=1).cpu().numpy())


@contextmanager
def _whole_sums() -> Iterator[None]:
    """Allow only cumsum among operations without a deterministic kernel on CUDA.

    The DETRs count a mask's ones with it: whole numbers in float32, equal in any order.
    """
    strict = torch.are_deterministic_algorithms_enabled()
    lenient = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(strict, warn_only=True)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".* does not have a deterministic impl")
            warnings.filterwarnings("ignore", message="cumsum_cuda_kernel does not have a determ")
            yield
    finally:
        torch.use_deterministic_algorithms(strict, warn_only=lenient)


# --- images and boxes -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Resized:
    """Stretches an image to a square, or scales it with its aspect ratio."""

    side: int
    filter: Image.Resampling
    keeps_aspect: bool

    def __call__(self, picture: Image.Image) -> Image.Image:
        height = width = self.side
        if self.keeps_aspect:
            stored = np.array([picture.height, picture.width])
            height, width = _fitted(stored, self.side).tolist()
        return picture.resize((width, height), self.filter)


class _PaddedPictures(PictureSource):
    """Prepared images, padded at the right and the bottom to the largest of their batch."""

    def _batch(self, number: int, samples: list[RawSample]) -> PictureBatch:
        rows, keys, pictures, faults = self._usable(samples)
        sizes = np.array([self.preparation.size, *(each.shape[:2] for each in pictures)])
        pixels = np.zeros((self.batch_size, *sizes.max(axis=0), 3), np.uint8)
        for place, picture in zip(pixels, pictures, strict=False):
            place[: picture.shape[0], : picture.shape[1]] = picture
        return PictureBatch(number, rows, keys, torch.from_numpy(pixels), faults)


def _preparation(detector: Detector, side: int) -> Preparation:
    processor = detector.processor
    resample = Image.Resampling(int(getattr(processor, "resample", Image.Resampling.BILINEAR)))
    resized = _Resized(side, resample, keeps_aspect=detector.takes_padding)
    mean, deviation = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
    if processor.do_normalize:
        mean, deviation = tuple(processor.image_mean), tuple(processor.image_std)
    return Preparation((resized,), mean, deviation, (side, side))


def _fitted(sizes: Int64[np.ndarray, "*n 2"], side: int) -> Int64[np.ndarray, "*n 2"]:
    """Return heights and widths scaled to the shorter side, rounded to the nearest, at least 1.

    >>> _fitted(np.array([[480, 640], [1000, 2]]), 256).tolist()
    [[256, 341], [1024, 2]]
    """
    shortest, longest = (edge(sizes, axis=-1, keepdims=True) for edge in (np.min, np.max))
    banner = longest > MOST_ASPECT * shortest
    wanted, known = np.where(banner, MOST_ASPECT * side, side), np.where(banner, longest, shortest)
    scaled: np.ndarray = np.maximum(1, (2 * wanted * sizes + known) // (2 * known))
    return scaled


def _mask(
    sizes: Int64[np.ndarray, "n 2"], batch: int, side: int, canvas: tuple[int, int]
) -> Bool[np.ndarray, "b h w"]:
    """Return which pixels are image, not padding; beyond the rows all count as image."""
    fitted = np.tile(np.array(canvas), (batch, 1))
    fitted[: len(sizes)] = _fitted(sizes, side)
    down, right = (np.arange(edge) for edge in canvas)
    mask: np.ndarray = (down[:, None] < fitted[:, :1, None]) & (right < fitted[:, 1:, None])
    return mask


def _inside(
    corners: Float32[np.ndarray, "m 4"], sizes: Int64[np.ndarray, "m 2"]
) -> Float32[np.ndarray, "m 4"]:
    """Clip boxes of two corners at the image's edges; return left, top, width and height.

    >>> _inside(np.array([[-3, 1, 5, 99]], np.float32), np.array([[10, 20]])).tolist()
    [[0.0, 1.0, 5.0, 9.0]]
    """
    edges = np.tile(sizes[:, ::-1].astype(np.float32), 2)  # width, height, width, height
    cut = np.clip(corners, np.float32(0), edges)
    boxes: np.ndarray = np.concatenate([cut[:, :2], cut[:, 2:] - cut[:, :2]], axis=1)
    return boxes


def _joined(parts: Sequence[torch.Tensor], shape: tuple[int, ...], dtype: type) -> np.ndarray:
    empty: np.ndarray = np.zeros((0, *shape), dtype)
    return np.concatenate([empty, *(part.numpy().astype(dtype) for part in parts)])
