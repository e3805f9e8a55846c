"""Detectors: object-detection checkpoints of transformers, loaded without running their code."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import torch

from clipaudit.errors import InputError
from clipaudit.memorization.objects import vocabulary_table
from clipaudit.models.checkpoints import load_with_processor, refuse_gaps


@dataclass(frozen=True)
class Detector:
    """A detector and its image processor, both of transformers; `names` has its labels."""

    model: torch.nn.Module
    processor: Any
    names: Mapping[int, str]

    @property
    def takes_padding(self) -> bool:
        """Whether images keep their aspect ratio, padded, with a mask that marks their pixels.

        They do not if the processor's size is a height and a width, as LW-DETR's: its windows
        divide only such images.
        """
        told = "pixel_mask" in inspect.signature(self.model.forward).parameters
        return bool(told and getattr(self.processor, "do_pad", False) and self.own_side is None)

    @property
    def own_side(self) -> int | None:
        """The height to which the processor would stretch images, None if it keeps their aspect."""
        size = getattr(self.processor, "size", None) or {}
        return size.get("height")

    def vocabulary(self) -> pa.Table:
        """Return the VOCABULARY: every label that the detector can give."""
        return vocabulary_table(self.names)


def load_detector(checkpoint: str, *, device: torch.device) -> Detector:
    """Return the detector of a folder or of a name in the hub cache (HF_HOME), on `device`.

    Weights are read in float32, from safetensors where there are any, else by
    torch.load(weights_only=True); no code of the checkpoint runs. Raises InputError for a
    checkpoint that is missing or damaged, that detects no objects, or that lacks weights.
    """
    from transformers import AutoModelForObjectDetection

    model, processor, report = load_with_processor(
        AutoModelForObjectDetection, checkpoint, kind="object-detection"
    )
    refuse_gaps(checkpoint, report, kind="that was trained to detect objects")
    _refuse_processor(checkpoint, processor)
    names = {int(label): str(name) for label, name in model.config.id2label.items()}
    return Detector(model.to(device).eval(), processor, names)


def _refuse_processor(checkpoint: str, processor: Any) -> None:  # noqa: ANN401
    if not hasattr(processor, "post_process_object_detection"):
        raise InputError(
            f"{checkpoint}: {type(processor).__name__} cannot convert the model's output to boxes. "
            "Give a checkpoint with an object-detection image processor."
        )
    rescales = getattr(processor, "do_rescale", True)
    factor = getattr(processor, "rescale_factor", 1 / 255) if rescales else 1
    if abs(factor * 255 - 1) > 1e-6:
        raise InputError(
            f"{checkpoint}: its pixels are scaled by {factor}, not by 1/255. "
            "Give a checkpoint whose preprocessor_config.json rescales to 0 to 1."
        )
