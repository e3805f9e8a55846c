"""Detectors: object-detection checkpoints of transformers, loaded without code of theirs."""

import inspect
import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch

from clipaudit.errors import InputError
from clipaudit.memorization.objects import vocabulary_table
from clipaudit.plaindata import Json


@dataclass(frozen=True)
class Detector:
    """A detector and its image processor, both transformers'; `names` has its labels."""

    model: torch.nn.Module
    processor: Any
    names: Mapping[int, str]

    @property
    def takes_padding(self) -> bool:
        """Whether pictures come with their aspect kept, padded, and a mask that says where."""
        told = "pixel_mask" in inspect.signature(self.model.forward).parameters
        return bool(told and getattr(self.processor, "do_pad", False))

    def vocabulary(self) -> pa.Table:
        """Return the VOCABULARY: every label that the detector can give."""
        return vocabulary_table(self.names)


def checkpoint_folder(checkpoint: str) -> Path:
    """Return the folder with the files of a checkpoint: itself, or its place in the hub cache.

    `checkpoint` is a path or a name of the hub. Nothing is downloaded; raises InputError for one
    that is neither a folder nor in the cache.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

    if Path(checkpoint).is_dir():
        return Path(checkpoint)
    try:
        return Path(snapshot_download(checkpoint, local_files_only=True))
    except (OSError, HFValidationError) as error:
        raise InputError(
            f"{checkpoint}: neither a folder nor in the hub cache. Download it where there is a "
            f"network (hf download {checkpoint}) and set HF_HOME to that cache, or give the folder."
        ) from error


def load_detector(checkpoint: str, *, device: torch.device) -> Detector:
    """Return the detector of a folder or of a name in the hub cache (HF_HOME), on `device`.

    Weights are read in float32, from safetensors where there are any, else by
    torch.load(weights_only=True); no code of the checkpoint runs. Raises InputError for a
    checkpoint that is missing or damaged, that detects no objects, or that lacks weights.
    """
    from transformers import AutoImageProcessor, AutoModelForObjectDetection

    folder = checkpoint_folder(checkpoint)
    with _quiet():
        try:
            processor = AutoImageProcessor.from_pretrained(  # type: ignore[no-untyped-call]
                folder, trust_remote_code=False
            )
            model, report = AutoModelForObjectDetection.from_pretrained(
                folder,
                trust_remote_code=False,
                weights_only=True,
                dtype=torch.float32,
                output_loading_info=True,
            )
        except _unreadable() as error:
            raise InputError(
                f"{checkpoint}: not a readable object-detection checkpoint ({error}). "
                "It needs config.json, preprocessor_config.json and weights of one of "
                "transformers' object-detection models."
            ) from error
    _refuse_gaps(checkpoint, report)
    _refuse_processor(checkpoint, processor)
    names = {int(label): str(name) for label, name in model.config.id2label.items()}
    return Detector(model.to(device).eval(), processor, names)


def _unreadable() -> tuple[type[Exception], ...]:
    """Return what transformers raises for files that are missing, damaged or of another kind."""
    import pickle

    from safetensors import SafetensorError

    return (OSError, ValueError, KeyError, RuntimeError, pickle.UnpicklingError, SafetensorError)


def _refuse_gaps(checkpoint: str, report: Json) -> None:
    """Raise InputError where weights would be left random, which transformers only warns of."""
    gaps = sorted({*map(str, report["missing_keys"]), *map(str, report["mismatched_keys"])})
    if gaps:
        raise InputError(
            f"{checkpoint}: {len(gaps)} weights of the model are not in the file or of another "
            f"shape, first {gaps[0]}. Give a checkpoint that was trained to detect objects."
        )


def _refuse_processor(checkpoint: str, processor: Any) -> None:  # noqa: ANN401
    if not hasattr(processor, "post_process_object_detection"):
        raise InputError(
            f"{checkpoint}: {type(processor).__name__} makes no boxes from the model's output. "
            "Give a checkpoint with an object-detection image processor."
        )
    factor = getattr(processor, "rescale_factor", 1 / 255)
    if not getattr(processor, "do_rescale", True) or abs(factor * 255 - 1) > 1e-6:
        raise InputError(
            f"{checkpoint}: its pixels are scaled by {factor}, not by 1/255. "
            "Give a checkpoint whose preprocessor_config.json rescales to 0 to 1."
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence transformers' bars, logs and warnings: what matters of them is checked here."""
    from transformers.utils import logging as theirs

    verbosity, bars = theirs.get_verbosity(), theirs.is_progress_bar_enabled()
    theirs.set_verbosity(logging.ERROR)
    theirs.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        theirs.set_verbosity(verbosity)
        if bars:
            theirs.enable_progress_bar()  # type: ignore[no-untyped-call]
