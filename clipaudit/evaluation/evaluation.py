"""Classifies images, zero-shot or by a classifier, with one prediction per image.

Class embeddings are as in open_clip's build_zero_shot_classifier (Radford et al., 2021): each
prompt's text embedding at unit length, the mean over the templates, again at unit length. Classes
are identified by number: some of ImageNet's thousand names have two classes. SQL computes the
accuracies.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Float32, Int32, Int64

from clipaudit.corpora.classes import read_classes
from clipaudit.corpora.labels import require_labels, usable_labels
from clipaudit.errors import InputError, StepError
from clipaudit.models.clip import Clip
from clipaudit.models.clip_features import image_features
from clipaudit.models.image_classifier import ImageClassifier
from clipaudit.models.pictures import PictureBatch, Running, decoded
from clipaudit.models.preparation import Preparation
from clipaudit.models.tokenizers import Tokenizer
from clipaudit.models.transforms import evaluation_preparation

TOP = 5  # predicted labels kept for each image

PREDICTIONS = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("label", pa.int32(), nullable=False),  # the right one
        # the classes of highest similarity, highest first; fewer than TOP if there are fewer
        pa.field("top", pa.list_(pa.field("item", pa.int32(), nullable=False)), nullable=False),
        # of the right class: its cosine; for a classifier, which has no embedding of it, its logit,
        # the highest one if the label stands for several of its classes
        pa.field("right_similarity", pa.float32(), nullable=False),
        pa.field("right_rank", pa.int32(), nullable=False),  # 0: the right class is the first
    ]
)

# similarities of the images of a batch to the classes that can be predicted
Score = Callable[[PictureBatch], Float32[np.ndarray, "n c"]]


@dataclass(frozen=True)
class ZeroShotTask:
    """A test set and its classes; `labels` restricts prompts and predictions to some of them.

    A classifier needs no prompts and ignores templates.
    """

    name: str
    shards: Sequence[tuple[int, Path]]  # ascending
    samples: pa.Table  # SAMPLES, all labelled
    classes: Sequence[str]  # a label is a place in it
    templates: Sequence[str]  # `{}` stands for the class
    labels: Sequence[int] | None = None  # all if None


def read_tasks(
    tasks: Mapping[str, Mapping[str, Any]],
    class_files: Mapping[str, Path],
    tars: Sequence[Path],
    samples: Callable[[str], pa.Table],
) -> list[ZeroShotTask]:
    """Return the tasks in settings: `shards`, their number; label_set, templates, classes.

    `class_files` has the class names of each label set, `tars` the shards of all tasks, in their
    order, and `samples` returns the SAMPLES of a task by its name.
    """
    waiting = iter(tars)
    return [
        ZeroShotTask(
            name=name,
            shards=[(number, next(waiting)) for number in range(task["shards"])],
            samples=samples(name),
            classes=read_classes(class_files[task["label_set"]]),
            templates=task["templates"],
            labels=task["classes"],
        )
        for name, task in tasks.items()
    ]


def evaluate(
    clip: Clip, tasks: Sequence[ZeroShotTask], running: Running
) -> Iterator[tuple[str, pa.Table]]:
    """Yield each task's name and its PREDICTIONS, one row per sample, ordered as its samples are.

    Prompts that tasks share are embedded once. Ties go to the lowest label. Raises InputError for a
    label that is missing or outside the task's classes, and for an image that cannot be decoded.
    """
    preparation = evaluation_preparation(clip.preprocessing)
    scoring = zero_shot_scoring(clip, running.device)
    for task in tasks:
        yield task.name, _predict(task, scoring, preparation, running)


def zero_shot_scoring(
    clip: Clip, device: torch.device
) -> Callable[[ZeroShotTask, Int32[np.ndarray, " c"]], Score]:
    """Return a function that gives the cosines of images and classes, for some labels of a task.

    The model is moved to `device`, in its evaluation mode. Prompts that tasks share are embedded
    once. An image whose embedding is zero or not finite raises StepError.
    """
    clip.model.to(device).eval()
    preparation = evaluation_preparation(clip.preprocessing)

    @functools.cache
    def embed_class(name: str, templates: tuple[str, ...]) -> Float32[np.ndarray, " d"]:
        with clip.autocast(device):
            return class_embedding(clip.model, clip.tokenizer, name, templates, device=device)

    def scoring(task: ZeroShotTask, labels: Int32[np.ndarray, " c"]) -> Score:
        templates = tuple(task.templates)
        classes = np.stack([embed_class(task.classes[label], templates) for label in labels])

        def score(batch: PictureBatch) -> Float32[np.ndarray, "n c"]:
            features = image_features(batch, clip, preparation, device)
            return class_similarities(unit_rows(features, task.name), classes)

        return score

    return scoring


def evaluate_classifier(
    classifier: ImageClassifier,
    tasks: Sequence[ZeroShotTask],
    running: Running,
    label_maps: Mapping[str, Sequence[Sequence[int]]] | None = None,
) -> Iterator[tuple[str, pa.Table]]:
    """Yield what `evaluate` does, by a classifier.

    Its outputs are the classes of a task, or `label_maps` has for the task the outputs that each
    label stands for. The logit of a label is the highest of these, so the predicted label is that
    of the highest output of all. If a task has `labels`, only their outputs are compared. Besides
    the errors of `evaluate`, raises InputError for a task without a label map and with another
    number of classes.
    """
    maps = label_maps or {}
    for task in tasks:
        if task.name not in maps and len(task.classes) != classifier.classes:
            raise InputError(
                f"{task.name}: its label set has {len(task.classes)} classes, but the classifier "
                f"has {classifier.classes} outputs. Test it on the classes that it has learned."
            )
    device = running.device
    model, preparation = classifier.model.to(device).eval(), classifier.preparation

    def scoring(task: ZeroShotTask, labels: Int32[np.ndarray, " c"]) -> Score:
        outputs_of = [maps[task.name][label] if task.name in maps else [label] for label in labels]
        flat = [output for outputs in outputs_of for output in outputs]
        starts = np.cumsum([0, *map(len, outputs_of[:-1])])

        def score(batch: PictureBatch) -> Float32[np.ndarray, "n c"]:
            with torch.inference_mode():
                outputs = model(preparation.tensor(batch.pixels, device))[: len(batch.rows)]
            logits = outputs.float().cpu().numpy()[:, flat]
            if not np.isfinite(logits).all():
                raise _diverged(task.name, "logits that are")
            return np.asarray(np.maximum.reduceat(logits, starts, axis=1))

        return score

    for task in tasks:
        yield task.name, _predict(task, scoring, preparation, running)


def class_embedding(
    model: torch.nn.Module,
    tokenizer: Tokenizer,
    name: str,
    templates: Sequence[str],
    *,
    device: torch.device,
) -> Float32[np.ndarray, " d"]:
    """Return the unit embedding of a class: the mean over its prompts, one per template.

    It is one forward pass, so it depends only on the class's own prompts.
    """
    with torch.inference_mode():
        prompts = tokenizer([template.replace("{}", name) for template in templates])
        texts = model.encode_text(prompts.to(device), normalize=True)  # type: ignore[operator]
        mean = texts.float().mean(dim=0)
        return np.asarray((mean / mean.norm()).cpu().numpy())


def _predict(
    task: ZeroShotTask,
    scoring: Callable[[ZeroShotTask, Int32[np.ndarray, " c"]], Score],
    preparation: Preparation,
    running: Running,
) -> pa.Table:
    labels = usable_labels(task.name, task.labels, len(task.classes))
    right = require_labels(task.name, task.samples, labels)
    score = scoring(task, labels)
    tables = [PREDICTIONS.empty_table()]
    what = f"evaluating on {task.name}"
    batches = decoded(task.shards, task.samples, preparation, running, task=what)
    for own, batch in all_usable(batches, task.name):
        tables.append(_prediction_rows(batch, score(batch), labels, right[own]))
    return pa.concat_tables(tables)


def all_usable(batches: Iterable[PictureBatch], name: str) -> Iterator[tuple[slice, PictureBatch]]:
    """Yield the places of each batch's rows among all, and the batch, for a set's images.

    Raise InputError for the first image that cannot be used.
    """
    done = 0
    for batch in batches:
        for fault in batch.faults:
            raise InputError(
                f"{name}: shard {batch.shard}, row {fault.row}: {fault.reason} ({fault.detail}). "
                "The shard was changed after indexing: index it again."
            )
        yield slice(done, done + len(batch.rows)), batch
        done += len(batch.rows)


def unit_rows(features: Float32[np.ndarray, "n d"], place: str) -> Float32[np.ndarray, "n d"]:
    """Return the rows at unit length; StepError if one is zero or not finite."""
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    if not np.all(np.isfinite(lengths) & (lengths > 0)):
        raise _diverged(place, "embeddings that are zero or")
    return np.asarray(features / lengths)


def _diverged(place: str, what: str) -> StepError:
    return StepError(
        f"{place}: the model gives {what} not finite. Its training diverged: check its curve, "
        "and lower the learning rate."
    )


def class_similarities(
    images: Float32[np.ndarray, "n d"], classes: Float32[np.ndarray, "c d"]
) -> Float32[np.ndarray, "n c"]:
    """Return the products of all images and classes, exactly equal for equal classes.

    >>> images, classes = np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32)[[1, 0, 1]]
    >>> class_similarities(images, classes).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    """
    # a matrix product may round equal columns differently, so each distinct one is taken once
    distinct, place = np.unique(classes, axis=0, return_inverse=True)
    # torch's product, since its threads are the ones that `use_device` sets
    products = (torch.from_numpy(images) @ torch.from_numpy(distinct).T).numpy()
    return np.asarray(products[:, place.reshape(-1)])


def rank_classes(scores: Float32[np.ndarray, "n c"]) -> Int64[np.ndarray, "n c"]:
    """Return for each image the places of the classes, highest first; ties to the lowest place.

    >>> rank_classes(np.array([[0, 1, 0], [1, 0, 1]], np.float32)).tolist()
    [[1, 0, 2], [0, 2, 1]]
    """
    return np.argsort(-scores, axis=1, kind="stable")


def _prediction_rows(
    batch: PictureBatch,
    scores: Float32[np.ndarray, "n c"],
    labels: Int32[np.ndarray, " c"],
    right: Int32[np.ndarray, " n"],
) -> pa.Table:
    ranked = labels[rank_classes(scores)]  # (n, c)
    rank = (ranked == right[:, None]).argmax(axis=1)
    similarity = scores[np.arange(len(right)), np.searchsorted(labels, right)]
    columns = {
        "shard": np.full(len(right), batch.shard, np.int32),
        "row": np.array(batch.rows, np.int32),
        "label": right,
        "top": pa.array(ranked[:, :TOP].tolist(), PREDICTIONS.field("top").type),
        "right_similarity": similarity,
        "right_rank": rank.astype(np.int32),
    }
    return pa.table(columns, schema=PREDICTIONS)
