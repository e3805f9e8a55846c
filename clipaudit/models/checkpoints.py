"""Finds and loads checkpoints of transformers and timm, and checks what loading reports."""

import logging
import pickle
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from clipaudit.errors import InputError
from clipaudit.plaindata import Json

# errors of transformers for files that are missing, damaged or of another kind
UNREADABLE = (OSError, ValueError, KeyError, RuntimeError, pickle.UnpicklingError, SafetensorError)


def checkpoint_folder(checkpoint: str) -> Path:
    """Return the folder with the files of a checkpoint: itself, or its place in the hub cache.

    `checkpoint` is a path or a hub name. Nothing is downloaded; raises InputError for one that is
    neither a folder nor in the cache.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

    if Path(checkpoint).is_dir():
        return Path(checkpoint)
    try:
        return Path(snapshot_download(checkpoint, local_files_only=True))
    except (OSError, HFValidationError) as error:
        raise InputError(
            f"{checkpoint}: neither a folder nor in the hub cache. Download it on a machine with a "
            f"network (hf download {checkpoint}) and set HF_HOME to that cache, or give the folder."
        ) from error


def load_with_processor(auto: Any, checkpoint: str, *, kind: str) -> tuple[Any, Any, Json]:  # noqa: ANN401
    """Return a model of transformers, its image processor, and which weights were missing.

    `auto` is the class of transformers that loads the model, `checkpoint` a folder or a name in the
    hub cache. Weights are read in float32, from safetensors if there are any, else by
    torch.load(weights_only=True); no code of the checkpoint runs. Raise InputError for one that is
    missing, damaged, or of another kind.
    """
    import torch
    from transformers import AutoImageProcessor

    folder = checkpoint_folder(checkpoint)
    with quiet():
        try:
            processor = AutoImageProcessor.from_pretrained(  # type: ignore[no-untyped-call]
                folder, trust_remote_code=False
            )
            model, report = auto.from_pretrained(
                folder,
                trust_remote_code=False,
                weights_only=True,
                dtype=torch.float32,
                output_loading_info=True,
            )
        except UNREADABLE as error:
            raise InputError(
                f"{checkpoint}: not a readable {kind} checkpoint ({error}). It needs config.json, "
                f"preprocessor_config.json and weights of one of transformers' {kind} models."
            ) from error
    return model, processor, report


def refuse_gaps(checkpoint: str, report: Json, *, kind: str, unused: str = "") -> None:
    """Raise InputError if weights would be left random; transformers only warns of it.

    Weights whose names begin with `unused` may be missing.
    """
    gaps = sorted({*map(str, report["missing_keys"]), *map(str, report["mismatched_keys"])})
    if unused:
        gaps = [name for name in gaps if not name.startswith(unused)]
    if gaps:
        raise InputError(
            f"{checkpoint}: {len(gaps)} weights of the model are not in the file or of another "
            f"shape, first {gaps[0]}. Give a checkpoint {kind}."
        )


@contextmanager
def quiet() -> Iterator[None]:
    """Silence transformers' bars, logs and warnings; the important ones are checked here."""
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
