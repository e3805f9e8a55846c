"""Loads the model of a job: the one in the settings, with the weights that the workflow passes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from clipaudit.config.training import Architecture, Encoder
from clipaudit.models.embedder import Embedder
from clipaudit.models.plugged import PluggedEncoder
from clipaudit.steps.plugins import Plugin

if TYPE_CHECKING:
    from clipaudit.models.clip import Clip


@dataclass(frozen=True)
class ModelSettings:
    """An encoder of the settings, or a model trained here, which has only an architecture."""

    encoder: Encoder | None
    architecture: Architecture | None
    plugin: Plugin | None = None

    def embedder(self, weights: Sequence[Path], *, device: torch.device) -> Embedder:
        """Return the embedder of images: the model, or the plug-in's encoder, on `device`."""
        if self.plugin is not None and self.encoder is not None:
            return PluggedEncoder(self.plugin, self.encoder.options, str(device))
        from clipaudit.models.clip_features import ClipEmbedder  # open_clip takes 4 s to import

        return ClipEmbedder(self.load(weights), device)

    def source(self, weights: Sequence[Path]) -> str:
        """Return where the model's weights come from, for a message."""
        encoder = self.encoder
        given = encoder and (encoder.directory or encoder.pretrained or encoder.plugin)
        return given or ", ".join(map(str, weights))

    def load(self, weights: Sequence[Path]) -> "Clip":
        """Return the model; `weights` of one trained here are one safetensors file."""
        clip = self._loaded(weights)
        return clip if self.encoder is None else replace(clip, precision=self.encoder.precision)

    def _loaded(self, weights: Sequence[Path]) -> "Clip":
        from clipaudit.models.clip import from_checkpoint, from_directory, from_pretrained

        if self.encoder is not None and self.encoder.directory is not None:
            return from_directory(Path(self.encoder.directory))
        assert self.architecture is not None, "any other model has an architecture"
        if self.encoder is not None and self.encoder.pretrained is not None:
            return from_pretrained(self.architecture, self.encoder.pretrained)
        return from_checkpoint(self.architecture, weights[0])
