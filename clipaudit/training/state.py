"""Saves the state that a killed training run resumes from, replaced as a whole each time."""

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
FORMAT = 2  # of the file; 1 counted epochs


def fingerprint(ingredients: object) -> str:
    """Return a digest of everything that decides a training run's result, to identify its state."""
    text = json.dumps([FORMAT, ingredients], sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def save_state(scratch: Path, *, identity: str, work: Optimization, curves: Curves) -> None:
    """Replace the state in `scratch` by this one, whole or not at all."""
    state = {
        "identity": identity,
        "model": work.model.state_dict(),
        "optimizer": work.optimizer.state_dict(),
        "scaler": work.scaler.state_dict(),
        "curves": curves.state(),
    }
    with replaced(scratch / FILE_NAME) as path, path.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())


def load_state(scratch: Path, *, identity: str, work: Optimization) -> Curves:
    """Load the saved state into `work`; return the curves so far, whose steps are those done.

    Without a state, or with one of another training run, there are no steps.
    """
    path = scratch / FILE_NAME
    if not path.exists():
        return Curves()
    state = _read(path)
    if state["identity"] != identity:
        return Curves()
    work.model.load_state_dict(state["model"])
    work.optimizer.load_state_dict(state["optimizer"])
    work.scaler.load_state_dict(state["scaler"])
    return Curves(state["curves"])


def _read(path: Path) -> dict[str, Any]:
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except (RuntimeError, EOFError, OSError, pickle.UnpicklingError) as error:
        raise StoreError(
            f"{path}: the state of a training is damaged ({error}). Delete it: the training then "
            "starts over."
        ) from error
    return state
