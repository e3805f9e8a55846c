"""What a classifier learns of a picture: its label, as the corpus states it."""

from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Int64, UInt8

from clipaudit.corpora.sealed import Sealed
from clipaudit.errors import ConfigError
from clipaudit.models.preparation import Preparation
from clipaudit.training.data import BatchMaker, Crops, Sample, Target


class LabelledBatch(NamedTuple):
    """What a step of a classifier takes: uint8 pixels, and labels."""

    pixels: UInt8[torch.Tensor, "n height width 3"]
    labels: Int64[torch.Tensor, " n"]


class LabelMaker(BatchMaker[LabelledBatch]):
    """Makes pixels and the label of a sample, the same for the same (seed, epoch, shard, row)."""

    learns: ClassVar[Target] = "label"

    def __init__(self, preparation: Preparation, seed: int) -> None:
        """Crop as `preparation` says."""
        self.crops = Crops(preparation, seed)

    def target(self, sample: Sample, epoch: int) -> Int64[torch.Tensor, ""]:
        """Return the label."""
        assert isinstance(sample.target, int), "labels are read for a classifier"
        return torch.tensor(sample.target)

    def batch(
        self, pixels: UInt8[torch.Tensor, "n height width 3"], targets: torch.Tensor
    ) -> LabelledBatch:
        """Return pictures and labels."""
        return LabelledBatch(pixels, targets)


def require_labels(sealed: Sealed, *, classes: int) -> None:
    """Raise ConfigError unless all corpora of a manifest have labels, of one set of `classes`."""
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
                f"corpus {corpus.name} has labels of {len(names)} classes, but the classifier is "
                f"to have {classes}: train it on corpora of one label set"
            )
        if names != first.captioning.classes:
            raise ConfigError(
                f"corpora {first.name} and {corpus.name} have labels of different classes: train a "
                "classifier on corpora of one label set"
            )
