"""What a classifier of pictures is to those who use one, wherever it comes from."""

from dataclasses import dataclass

import torch

from clipaudit.models.preparation import Preparation


@dataclass(frozen=True)
class ImageClassifier:
    """A model that gives one logit a class, and how its pictures are prepared for evaluation."""

    model: torch.nn.Module
    preparation: Preparation
    classes: int
