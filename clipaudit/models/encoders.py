"""The model of a job: what the settings name, with the weights that the workflow hands over."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clipaudit.config.training import Architecture, Encoder
from clipaudit.models.clip import Clip, from_checkpoint, load_encoder


def load_from_settings(
    encoder: Mapping[str, Any] | None,
    architecture: Mapping[str, Any] | None,
    weights: Sequence[Path],
) -> Clip:
    """Return the model of an encoder's settings, or of a checkpoint trained here.

    Without `encoder`, `weights` is one safetensors file of `architecture`.
    """
    form = Architecture(**architecture) if architecture else None
    if encoder is None:
        assert form is not None, "a model trained here has an architecture"
        return from_checkpoint(form, weights[0])
    checkpoint = weights[0] if weights else None
    return load_encoder(Encoder(**encoder), architecture=form, checkpoint=checkpoint)
