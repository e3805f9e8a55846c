"""What a killed training needs to go on: kept in a scratch folder, replaced whole each epoch."""

import hashlib
import json
import os
import pickle
from pathlib import Path
from typing import Any

import torch

from clipaudit.errors import StoreError
from clipaudit.store.outputs import replaced
from clipaudit.training.curves import Curves
from clipaudit.training.optimization import Optimization

FILE_NAME = "training.pt"


def fingerprint(ingredients: object) -> str:
    """Return a digest of what decides a training's result, to know its state from another's."""
    text = json.dumps(ingredients, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def save_state(
    scratch: Path, *, identity: str, epochs_done: int, work: Optimization, curves: Curves
) -> None:
    """Replace the state in `scratch` by this one, wholly or not at all."""
    state = {
        "identity": identity,
        "epochs_done": epochs_done,
        "model": work.model.state_dict(),
        "optimizer": work.optimizer.state_dict(),
        "scaler": work.scaler.state_dict(),
        "curves": curves.state(),
    }
    with replaced(scratch / FILE_NAME) as path, path.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())


def load_state(scratch: Path, *, identity: str, work: Optimization) -> tuple[int, Curves]:
    """Put the saved state into `work`; return the epochs done and the curves so far.

    Without a state, or with one of a training with other ingredients: 0 and no curves.
    """
    path = scratch / FILE_NAME
    if not path.exists():
        return 0, Curves()
    state = _read(path)
    if state["identity"] != identity:
        return 0, Curves()
    work.model.load_state_dict(state["model"])
    work.optimizer.load_state_dict(state["optimizer"])
    work.scaler.load_state_dict(state["scaler"])
    return state["epochs_done"], Curves(state["curves"])


def _read(path: Path) -> dict[str, Any]:
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except (RuntimeError, EOFError, OSError, pickle.UnpicklingError) as error:
        raise StoreError(
            f"{path}: the state of a training is damaged ({error}). Delete it: the training then "
            "starts over."
        ) from error
    return state
