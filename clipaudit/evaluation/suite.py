"""Runs one task of the DataComp benchmark, the zero-shot suite, by clip_benchmark's own metrics.

Gadre et al., NeurIPS 2023 (https://arxiv.org/abs/2304.14108); a task is a local folder in the form
of CLIP_benchmark's webdatasets, and nothing is downloaded. clip_benchmark 1.6.2 computes prompts,
logits, accuracies and recalls. Differences: our reader provides the images, so that an unusable one
is refused and batches do not depend on the number of workers; and everything is float32, while
DataComp embeds the prompts, and its retrieval sets, in half precision. The metrics of WILDS, Dollar
Street, GeoDE and WinoGAViL are ours, by DataComp's definitions.
"""

import contextlib
import io
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from clip_benchmark.metrics import zeroshot_classification, zeroshot_retrieval
from sklearn.metrics import balanced_accuracy_score

from clipaudit.errors import TooSmall
from clipaudit.evaluation.evaluation import all_usable, unit_rows
from clipaudit.evaluation.suite_associations import MANY, association_scores, jaccard_scores
from clipaudit.evaluation.suite_folders import (
    TaskSamples,
    read_captions,
    read_groups,
    read_labels,
    read_names,
    read_templates,
    require_kind,
)
from clipaudit.evaluation.suite_metrics import macro_f1, worst_group
from clipaudit.evaluation.suite_tasks import (
    ACCURACY,
    JACCARD,
    MACRO_F1,
    RECALL,
    RETRIEVAL,
    WORST_GROUP_TOP5,
    SuiteTask,
)
from clipaudit.models.clip import Clip
from clipaudit.models.pictures import Running, decoded
from clipaudit.models.preparation import Preparation
from clipaudit.models.transforms import evaluation_preparation

# One row for each metric of a task, in the order of the constants below.
METRICS = pa.schema(
    [
        pa.field("task", pa.string(), nullable=False),  # DataComp's name
        pa.field("metric", pa.string(), nullable=False),  # clip_benchmark's name
        # from 0 to 1; null: acc5 of fewer than five classes, or no associations of that size
        pa.field("value", pa.float64()),
        pa.field("main", pa.bool_(), nullable=False),  # the one that DataComp averages
    ]
)
RECALLS_AT = (1, 5, 10)  # DataComp's
TOP = (1, 5)  # likeliest classes; with fewer classes, only the first
CLASSIFICATION_METRICS = (ACCURACY, "acc5", RECALL)
RETRIEVAL_METRICS = (
    *(f"{side}_retrieval_recall@{k}" for k in RECALLS_AT for side in ("image", "text")),
    RETRIEVAL,
)

_log = logging.getLogger(__name__)


def run_task(clip: Clip, task: SuiteTask, folder: Path, running: Running) -> pa.Table:
    """Return the METRICS of a model on a task that `available_tasks` found in `folder`.

    The values depend only on the model, the folder, the batch size and the device. A repeated class
    counts as two classes, and torch's argmax and topk decide ties. Raises StepError for a diverged
    model; InputError for a folder that lacks a file or a shard, for a sample that lacks an image, a
    label or captions; TooSmall for a retrieval set of fewer than ten images, and for associations
    none of which has ten candidates.
    """
    assert not task.missing, f"{task.name} is skipped: {task.missing}"
    if task.kind != "associations":
        require_kind(task, folder)
    device = running.device
    clip.model.to(device).eval()
    run = {"classification": _classify, "retrieval": _retrieve, "associations": _associate}[
        task.kind
    ]
    # clip_benchmark passes this name to torch.autocast, which does not accept "cuda:1"
    with torch.cuda.device(device) if device.type == "cuda" else contextlib.nullcontext():
        values = run(clip, task, folder, running)
    columns = {
        "task": [task.name] * len(values),
        "metric": list(values),
        "value": [None if np.isnan(value) else float(value) for value in values.values()],
        "main": [metric == task.main for metric in values],
    }
    return pa.table(columns, schema=METRICS)


def _classify(clip: Clip, task: SuiteTask, folder: Path, running: Running) -> Mapping[str, float]:
    classes, templates = read_names(folder), read_templates(folder)
    samples = read_labels(folder, classes)
    groups = read_groups(folder) if task.in_groups else None
    preparation = evaluation_preparation(clip.preprocessing)
    batches = _Batches(task.name, preparation, samples, torch.tensor, running)
    model, device = _Checked(clip.model, task.name), running.device.type
    with _logged():
        classifier = zeroshot_classification.zero_shot_classifier(
            model, clip.tokenizer, classes, templates, device, amp=False
        )
        logits, labels = zeroshot_classification.run_classification(
            model, classifier, batches, device, amp=False
        )
        return _accuracies(task, logits, labels, groups)


def _accuracies(
    task: SuiteTask, logits: torch.Tensor, labels: torch.Tensor, groups: np.ndarray | None
) -> Mapping[str, float]:
    """Return CLASSIFICATION_METRICS as clip_benchmark computes them, and the task's own."""
    top = (1, 5) if logits.shape[1] >= max(TOP) else (1,)
    accuracies = zeroshot_classification.accuracy(logits, labels, topk=top)
    predicted, right = logits.argmax(dim=1).numpy(), labels.numpy()
    values = {
        ACCURACY: accuracies[0],
        "acc5": accuracies[1] if len(top) > 1 else np.nan,
        RECALL: balanced_accuracy_score(right, predicted),
    }
    if task.main == MACRO_F1:
        values[MACRO_F1] = macro_f1(predicted, right)
    if groups is not None:
        assert task.main is not None, "a task in groups has a metric of the worst group"
        ranks = min(max(TOP), logits.shape[1]) if task.main == WORST_GROUP_TOP5 else 1
        likeliest = logits.topk(ranks, dim=1).indices
        values[task.main] = worst_group((likeliest == labels[:, None]).any(dim=1).numpy(), groups)
    return values


def _associate(clip: Clip, task: SuiteTask, folder: Path, running: Running) -> Mapping[str, float]:
    preparation = evaluation_preparation(clip.preprocessing)
    scores = association_scores(folder, _Checked(clip.model, task.name), clip, preparation, running)
    if all(score.candidates < MANY for score in scores):
        raise TooSmall(
            f"{task.title}: {len(scores)} instances, none with {MANY} candidates or more, but "
            f"{JACCARD} needs one. Fetch the whole set."
        )
    return jaccard_scores(scores)


def _retrieve(clip: Clip, task: SuiteTask, folder: Path, running: Running) -> Mapping[str, float]:
    samples, preparation = read_captions(folder), evaluation_preparation(clip.preprocessing)
    if len(samples.targets) < max(RECALLS_AT):
        raise TooSmall(
            f"{task.title}: {len(samples.targets)} images, but recall@{max(RECALLS_AT)} needs "
            f"{max(RECALLS_AT)} or more. Fetch the whole set."
        )
    batches = _Batches(task.name, preparation, samples, list, running)
    model, device, at = _Checked(clip.model, task.name), running.device.type, list(RECALLS_AT)
    with _logged():
        values = zeroshot_retrieval.evaluate(
            model, batches, clip.tokenizer, device, amp=False, recall_k_list=at
        )
    both = [values[f"{side}_retrieval_recall@1"] for side in ("image", "text")]
    values = {**values, RETRIEVAL: sum(both) / 2}
    return {metric: values[metric] for metric in RETRIEVAL_METRICS}


# --- inputs of clip_benchmark ---------------------------------------------------------------------


@dataclass
class _Batches:
    """A data loader for clip_benchmark: pairs of images and their targets."""

    name: str
    preparation: Preparation
    samples: TaskSamples
    collate: Callable[[list[Any]], Any]
    running: Running

    def __iter__(self) -> Iterator[tuple[torch.Tensor, Any]]:
        samples, what = self.samples, f"evaluating on {self.name}"
        batches = decoded(
            samples.shards, samples.addresses, self.preparation, self.running, task=what
        )
        for own, batch in all_usable(batches, self.name):
            images = self.preparation.tensor(batch.pixels, self.running.device)
            yield images[: len(batch.rows)], self.collate(samples.targets[own])


@dataclass
class _Checked:
    """A model whose embeddings are checked: clip_benchmark would rank those of a diverged one."""

    model: Any
    place: str

    def encode_image(self, images: torch.Tensor) -> torch.Tensor:
        return self._usable(self.model.encode_image(images))

    def encode_text(self, tokens: torch.Tensor) -> torch.Tensor:
        return self._usable(self.model.encode_text(tokens))

    def _usable(self, features: torch.Tensor) -> torch.Tensor:
        unit_rows(features.float().cpu().numpy(), self.place)
        return features


class _LogLines(io.TextIOBase):
    """A stream whose lines go to the log, and only the last state of a progress bar."""

    def __init__(self) -> None:
        self._line = ""

    def write(self, text: str) -> int:
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            _log.debug("clip_benchmark: %s", line.rpartition("\r")[2])
        return len(text)


@contextlib.contextmanager
def _logged() -> Iterator[None]:
    """Send clip_benchmark's output, including its progress bars, to the log."""
    lines = _LogLines()
    with (
        contextlib.redirect_stdout(lines),
        contextlib.redirect_stderr(lines),
        warnings.catch_warnings(),
    ):
        # a class without images that was predicted: it has no recall, and is ignored
        warnings.filterwarnings("ignore", message="y_pred contains classes not in y_true")
        # of its accuracy(): why numpy is pinned below 2.4
        warnings.filterwarnings("ignore", message="Conversion of an array with ndim > 0")
        yield
