"""Trains a classifier on the labels of any manifest: on a CPU or on one GPU, in one process.

Mayilvahanan et al. (https://arxiv.org/abs/2310.09562, App. B.3) train ResNet-18s on pruned
ImageNets "using standard PyTorch hyperparameter settings": those of pytorch/examples' imagenet,
which are the recipe's defaults. All else is as in CLIP training (`training.run`). Differences from
pytorch/examples: the rest of an epoch after its last full batch is not used, and the weights start
as timm's do.
"""

import os
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import timm
import torch
from jaxtyping import Int64
from open_clip_train.precision import get_autocast

from clipaudit.config.supervised import SupervisedRecipe
from clipaudit.corpora.sealed import Sealed
from clipaudit.errors import ConfigError
from clipaudit.models.classifiers import build, training_preparation
from clipaudit.training.data import Crops, Maker, Sample, Target
from clipaudit.training.optimization import Losses, Optimization, gradient_scaler, memory_layout
from clipaudit.training.processes import Processes
from clipaudit.training.run import CHECKPOINT_STEPS, SaveEpoch, TrainingRun, locate_all


def train_classifier(
    sealed_path: Path,
    locate: Callable[[str], Path],
    recipe: SupervisedRecipe,
    *,
    classes: int,
    scratch: Path,
    device: str,
    threads: int,
    save_epoch: SaveEpoch,
    processes: int = 1,
    checkpoint_steps: int = CHECKPOINT_STEPS,
) -> pa.Table:
    """Train on the labels of a sealed manifest's kept samples; return the CURVES, one row per step.

    `classes` is the size of the label set, which all corpora of the manifest must share. Logits
    have no scale, so `logit_scale` of the curves is 1. All else is as in `training.run.train`:
    `locate`, `save_epoch`, resuming from `scratch`, and the errors before the first step. Also
    raises ConfigError for a corpus without labels and for more than one process.
    """
    count = max(processes, int(os.environ.get("WORLD_SIZE", "1")))
    if count > 1:
        raise ConfigError(
            f"{count} processes for a classifier, which trains in one process: give the rule one "
            "process, with more threads or a GPU"
        )
    sealed = Sealed(sealed_path)
    sealed.require_samples()
    require_labels(sealed, classes=classes)
    paths = locate_all(sealed, locate)
    with torch.random.fork_rng():
        run = TrainingRun(sealed, paths, recipe, Processes(), device, threads, checkpoint_steps)
        maker = LabelMaker(Crops(training_preparation(recipe), recipe.seed))
        model = build(recipe, classes=classes).model
        work = _prepare(model, recipe, steps=run.steps, device=run.device)
        identity = {"classes": classes, "timm": timm.__version__}
        return run.all_epochs(work, maker, identity, scratch, save_epoch)


def _prepare(
    model: torch.nn.Module, recipe: SupervisedRecipe, *, steps: Sequence[int], device: torch.device
) -> Optimization:
    """Return the optimization of a classifier, moving the classifier to `device`."""
    layout = memory_layout(model, device)
    model.to(device, memory_format=layout).train()  # type: ignore[call-overload]
    optimizer = torch.optim.SGD(
        model.parameters(),
        lr=recipe.learning_rate,
        momentum=recipe.momentum,
        weight_decay=recipe.weight_decay,
    )
    return Optimization(
        model=model,
        optimizer=optimizer,
        schedule=_rate_of_epochs(optimizer, recipe, steps),
        scaler=gradient_scaler(recipe.precision, device),
        losses=_cross_entropy(model, recipe, device),
        layout=layout,
    )


def _rate_of_epochs(
    optimizer: torch.optim.Optimizer, recipe: SupervisedRecipe, steps: Sequence[int]
) -> Callable[[int], float]:
    """Return the schedule of the learning rate: torch's StepLR, as a function of the step alone."""
    ends = list(accumulate(steps))

    def schedule(number: int) -> float:
        falls = bisect_right(ends, number) // recipe.learning_rate_epochs
        rate = recipe.learning_rate * recipe.learning_rate_factor**falls
        for group in optimizer.param_groups:
            group["lr"] = rate
        return rate

    return schedule


def _cross_entropy(
    model: torch.nn.Module, recipe: SupervisedRecipe, device: torch.device
) -> Losses:
    autocast = get_autocast(recipe.precision, device_type=device.type)
    scale = torch.ones((), device=device)

    def losses(
        images: torch.Tensor, labels: torch.Tensor
    ) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        with autocast():
            loss = torch.nn.functional.cross_entropy(model(images), labels)
        yield loss, scale

    return losses


# --- labels ---------------------------------------------------------------------------------------


class LabelMaker(Maker):
    """Makes pixels and the label of a sample, the same for the same (seed, epoch, shard, row)."""

    learns: ClassVar[Target] = "label"

    def target(self, sample: Sample, epoch: int) -> Int64[torch.Tensor, ""]:
        """Return the label."""
        assert isinstance(sample.target, int), "labels are read for a classifier"
        return torch.tensor(sample.target)


def require_labels(sealed: Sealed, *, classes: int) -> None:
    """Raise ConfigError unless all corpora of a manifest have labels of one set of `classes`."""
    first = sealed.corpora[0]
    for corpus in sealed.corpora:
        names = corpus.captioning.classes
        if not names:
            raise ConfigError(
                f"corpus {corpus.name} has no labels, but a classifier learns labels: name its "
                "label set as its `labels`, or leave the corpus out of the manifest"
            )
        if len(names) != classes:
            raise ConfigError(
                f"corpus {corpus.name} has labels of {len(names)} classes, but the classifier has "
                f"{classes}: train it on corpora of one label set"
            )
        if names != first.captioning.classes:
            raise ConfigError(
                f"corpora {first.name} and {corpus.name} have labels of different classes: train a "
                "classifier on corpora of one label set"
            )
