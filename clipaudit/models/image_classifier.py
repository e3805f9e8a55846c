"""Defines a classifier of images, whatever its source."""

from dataclasses import dataclass

import torch

from clipaudit.models.preparation import Preparation


@dataclass(frozen=True)
class ImageClassifier:
    """A model that gives one logit per class, and its preparation of images for evaluation."""

    model: torch.nn.Module
    preparation: Preparation
    classes: int
