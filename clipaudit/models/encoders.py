"""The model of a job: what the settings name, with the weights that the workflow hands over."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clipaudit.config.training import Architecture, Encoder
from clipaudit.models.clip import Clip, from_checkpoint, load_encoder


@dataclass(frozen=True)
class ModelSettings:
    """An encoder of the settings, or a model trained here, which has an architecture alone."""

    encoder: Encoder | None
    architecture: Architecture | None

    def load(self, weights: Sequence[Path]) -> Clip:
        """Return the model; `weights` of one trained here are one safetensors file."""
        if self.encoder is None:
            assert self.architecture is not None, "a model trained here has an architecture"
            return from_checkpoint(self.architecture, weights[0])
        checkpoint = weights[0] if weights else None
        return load_encoder(self.encoder, architecture=self.architecture, checkpoint=checkpoint)
