"""Zero-shot classification: one prediction per image; accuracies are made of them by SQL.

Class embeddings as in open_clip's build_zero_shot_classifier (Radford et al., 2021): each prompt's
text embedding at unit length, the mean over the templates, again at unit length. Classes are known
by their number: some of ImageNet's thousand names stand for two classes.
"""

import functools
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Float32, Int32, Int64

from clipaudit.embedding import image_features
from clipaudit.errors import InputError, StepError
from clipaudit.models import Clip, Tokenizer
from clipaudit.pictures import PictureBatch, PictureSource
from clipaudit.preparation import evaluation_preparation
from clipaudit.progress import Progress
from clipaudit.workers import Workers

TOP = 5  # predicted labels kept for each image

PREDICTIONS = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("label", pa.int32(), nullable=False),  # the right one
        # the most similar classes, most similar first; fewer than TOP when there are fewer classes
        pa.field("top", pa.list_(pa.field("item", pa.int32(), nullable=False)), nullable=False),
        pa.field("right_similarity", pa.float32(), nullable=False),  # cosine to the right class
        pa.field("right_rank", pa.int32(), nullable=False),  # 0: the right class is the first
    ]
)

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ZeroShotTask:
    """A test set and its classes; `labels` restricts prompts and predictions to some of them."""

    name: str
    shards: Sequence[tuple[int, Path]]  # ascending
    samples: pa.Table  # SAMPLES, all labelled
    classes: Sequence[str]  # a label is a place in it
    templates: Sequence[str]  # `{}` stands for the class
    labels: Sequence[int] | None = None  # all when None


def evaluate(
    clip: Clip,
    tasks: Sequence[ZeroShotTask],
    *,
    batch_size: int,
    workers: int,
    device: torch.device,
) -> Iterator[tuple[str, pa.Table]]:
    """Yield each task's name and its PREDICTIONS, one row a sample, ordered as its samples are.

    Prompts that tasks share are embedded once. Ties go to the lowest label. InputError for a label
    that is missing or outside of the task's classes, and for a picture that cannot be decoded.
    """
    clip.model.to(device).eval()

    @functools.cache
    def embed_class(name: str, templates: tuple[str, ...]) -> Float32[np.ndarray, " d"]:
        row: Float32[np.ndarray, " d"]
        row = class_embeddings(clip.model, clip.tokenizer, [name], templates, device=device)[0]
        return row

    for task in tasks:
        yield task.name, _predict(clip, task, embed_class, batch_size, workers, device)


def class_embeddings(
    model: torch.nn.Module,
    tokenizer: Tokenizer,
    classes: Sequence[str],
    templates: Sequence[str],
    *,
    device: torch.device,
) -> Float32[np.ndarray, "classes d"]:
    """Return the unit embedding of each class: the mean over its prompts, one per template.

    A class is one forward pass, so its embedding depends on its own prompts alone.
    """
    rows = []
    with torch.inference_mode():
        for name in classes:
            prompts = tokenizer([template.replace("{}", name) for template in templates])
            texts = model.encode_text(prompts.to(device), normalize=True)  # type: ignore[operator]
            mean = texts.float().mean(dim=0)
            rows.append((mean / mean.norm()).cpu().numpy())
    return np.stack(rows)


def _predict(
    clip: Clip,
    task: ZeroShotTask,
    embed_class: Callable[[str, tuple[str, ...]], Float32[np.ndarray, " d"]],
    batch_size: int,
    workers: int,
    device: torch.device,
) -> pa.Table:
    labels = _task_labels(task)
    right = _right_labels(task, labels)
    templates = tuple(task.templates)
    classes = np.stack([embed_class(task.classes[label], templates) for label in labels])
    preparation = evaluation_preparation(clip.preprocessing)
    source = PictureSource(task.shards, task.samples, preparation, batch_size=batch_size)
    progress = Progress(_log, f"evaluating on {task.name}", total=source.total, unit="images")
    tables, done = [], 0
    for batch in Workers(source.batches, workers=workers, pinned=device.type == "cuda"):
        _refuse_faults(task.name, batch)
        features = image_features(batch, clip, preparation, device)
        own = right[done : done + len(batch.rows)]
        tables.append(_prediction_rows(batch, unit_rows(features, task.name), classes, labels, own))
        done += len(batch.rows)
        progress.note(done)
    return pa.concat_tables([PREDICTIONS.empty_table(), *tables])


def _task_labels(task: ZeroShotTask) -> Int32[np.ndarray, " c"]:
    """Return the labels that can be predicted, ascending."""
    labels = sorted(set(range(len(task.classes)) if task.labels is None else task.labels))
    if not labels or labels[0] < 0 or labels[-1] >= len(task.classes):
        raise InputError(
            f"{task.name}: its labels go from {labels[:1]} to {labels[-1:]}, its label set has "
            f"{len(task.classes)} classes, numbered from 0"
        )
    return np.array(labels, np.int32)


def _right_labels(task: ZeroShotTask, labels: Int32[np.ndarray, " c"]) -> Int32[np.ndarray, " n"]:
    """Return each sample's label; all must be among `labels`."""
    right: Int32[np.ndarray, " n"]
    right = task.samples["label"].fill_null(-1).to_numpy().astype(np.int32)
    strange = np.flatnonzero(~np.isin(right, labels))
    if len(strange):
        shard, row, label = (task.samples[c][strange[0]].as_py() for c in ("shard", "row", "label"))
        raise InputError(
            f"{task.name}: {len(strange)} images have a label outside of the {len(labels)} of this "
            f"test set, the first is shard {shard}, row {row} with label {label}. Correct the "
            "labels in the shard, or `classes` of the test set."
        )
    return right


def _refuse_faults(name: str, batch: PictureBatch) -> None:
    for fault in batch.faults:
        raise InputError(
            f"{name}: shard {batch.shard}, row {fault.row}: {fault.reason} ({fault.detail}). "
            "The shard was changed after indexing: index it again."
        )


def unit_rows(features: Float32[np.ndarray, "n d"], place: str) -> Float32[np.ndarray, "n d"]:
    """Return the rows at unit length; StepError if one is zero or not finite."""
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    if not np.all(np.isfinite(lengths) & (lengths > 0)):
        raise StepError(
            f"{place}: the model gives embeddings that are zero or not finite. Its training "
            "diverged: look at its curve, and lower the learning rate."
        )
    return np.asarray(features / lengths)


def rank_classes(
    images: Float32[np.ndarray, "n d"], classes: Float32[np.ndarray, "c d"]
) -> tuple[Float32[np.ndarray, "n c"], Int64[np.ndarray, "n c"]]:
    """Return similarities, and for each image the places of the classes, most similar first.

    Classes with equal embeddings have exactly equal similarities; ties go to the lowest place.

    >>> images, classes = np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32)[[1, 0, 1]]
    >>> rank_classes(images, classes)[1].tolist()
    [[1, 0, 2], [0, 2, 1]]
    """
    # a matrix product may round equal columns differently, so each distinct one is taken once
    distinct, place = np.unique(classes, axis=0, return_inverse=True)
    # torch's product, since its threads are the ones that `use_device` sets
    products = (torch.from_numpy(images) @ torch.from_numpy(distinct).T).numpy()
    similarities = products[:, place.reshape(-1)]
    return similarities, np.argsort(-similarities, axis=1, kind="stable")


def _prediction_rows(
    batch: PictureBatch,
    images: Float32[np.ndarray, "n d"],
    classes: Float32[np.ndarray, "c d"],
    labels: Int32[np.ndarray, " c"],
    right: Int32[np.ndarray, " n"],
) -> pa.Table:
    similarities, order = rank_classes(images, classes)
    ranked = labels[order]  # (n, c)
    rank = (ranked == right[:, None]).argmax(axis=1)
    similarity = similarities[np.arange(len(right)), np.searchsorted(labels, right)]
    columns = {
        "shard": np.full(len(right), batch.shard, np.int32),
        "row": np.array(batch.rows, np.int32),
        "label": right,
        "top": pa.array(ranked[:, :TOP].tolist(), PREDICTIONS.field("top").type),
        "right_similarity": similarity,
        "right_rank": rank.astype(np.int32),
    }
    return pa.table(columns, schema=PREDICTIONS)
