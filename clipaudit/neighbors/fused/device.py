"""Tests once whether the fused search runs on a device, by a small search that must be right."""

import logging
from dataclasses import astuple
from functools import cache
from subprocess import SubprocessError

import numpy as np

from clipaudit.errors import StepError
from clipaudit.neighbors.interface import Queries
from clipaudit.neighbors.reference import Reference

_log = logging.getLogger(__name__)
_OLDEST = (8, 0)  # Ampere: Triton does not compile float16 products for older ones


@cache
def runs_on(device: str) -> bool:
    """Return whether the fused search runs on the device; if not, log why (once)."""
    obstacle = _obstacle(device)
    if obstacle is not None:
        _log.warning(
            "The fused search is unavailable: %s. Torch replaces it, with the same results.",
            obstacle,
        )
    return obstacle is None


def _obstacle(device: str) -> str | None:
    try:
        import triton
    except ImportError as error:
        return f"triton cannot be imported ({error})"
    import torch

    if not triton.knobs.runtime.interpret:  # by the interpreter it runs anywhere, slowly
        nvidia = torch.version.cuda is not None and torch.cuda.is_available()
        if not nvidia or torch.device(device).type != "cuda":
            return f"it is for NVIDIA GPUs, and {device} is not one"
        capability = torch.cuda.get_device_capability(device)
        if capability < _OLDEST:
            return f"the compute capability of {device} is {capability}, below {_OLDEST}"
    try:
        right = _is_right(device)
    except (OSError, RuntimeError, SubprocessError, StepError, triton.TritonError) as error:
        return f"its kernel does not run on {device} ({error})"
    return None if right else f"on {device} its results differ from the reference"


def _is_right(device: str) -> bool:
    """Compare a search of several tiles, many of whose similarities are equal."""
    from clipaudit.neighbors.fused.search import Fused

    rng = np.random.default_rng(0)
    vectors = rng.choice([-0.0625, 0.0625], size=(500, 256)).astype(np.float16)  # of norm 1
    queries = Queries(vectors[:200], (0, 50, 200), np.arange(200), np.full(200, 0.1))
    addresses, rows = np.arange(300), vectors[200:]
    fused = Fused(queries, 3, device=device, block_rows=512, block_queries=512, threads=None)
    reference = Reference(queries, 3, block_rows=512, block_queries=512)
    found = (*astuple(fused.rows(addresses, rows)), *astuple(fused.top()))
    expected = (*astuple(reference.rows(addresses, rows)), *astuple(reference.top()))
    return all(np.array_equal(left, right) for left, right in zip(found, expected, strict=True))
