"""Describe a numeric step's environment: what may change its bytes besides inputs and code."""

import importlib.metadata
import platform
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Literal

from clipaudit.errors import ConfigError

Device = Literal["cpu", "cuda"]


def device_of(resources: Any) -> Device:  # noqa: ANN401
    """Return the kind of device that a job with these resources computes on."""
    return "cuda" if resources.get("gpu", 0) else "cpu"


def nodes_of(resources: Any) -> int:  # noqa: ANN401
    """Return how many nodes of a cluster a job with these resources trains on."""
    return int(resources.get("nodes", 1))


def gpus_of(resources: Any) -> int:  # noqa: ANN401
    """Return how many GPUs a job with these resources holds, on all its nodes.

    The resource `gpu` counts them all, since SLURM's plugin passes it on as `sbatch --gpus`.
    """
    return int(resources.get("gpu", 0))


def processes_of(resources: Any) -> int:  # noqa: ANN401
    """Return how many processes a job with these resources trains in, on all its nodes.

    That is one for each GPU, or the resource `processes` for each node.
    """
    nodes = nodes_of(resources)
    on_a_node = resources.get("processes")
    return max(nodes, gpus_of(resources)) if on_a_node is None else nodes * int(on_a_node)


def at_once_of(resources: Any) -> int | None:  # noqa: ANN401
    """Return how many samples pass through the model at a time in training; None: all of a step."""
    given = resources.get("at_once")
    return None if given is None else int(given)


def environment_of(
    libraries: Sequence[str],
    resources: Any,  # noqa: ANN401
    threads: int,
) -> dict[str, str]:
    """Return what may change a numeric step's bytes; nothing for an exact step (no libraries).

    That is its device, its threads on a CPU, how many processes share the work, how many samples
    they process at a time, and the libraries' versions. Raise ConfigError for a library that is not
    installed.
    """
    if not libraries:
        return {}
    versions = {name: _version(name) for name in libraries}
    processes = processes_of(resources)
    if processes > 1:
        versions["processes"] = str(processes)
    at_once = at_once_of(resources)
    if at_once is not None:
        versions["at_once"] = str(at_once)
    if device_of(resources) == "cpu":
        return {"device": f"cpu {_cpu_class()}", "threads": str(threads), **versions}
    return {"device": "cuda", **versions}


@cache
def _version(library: str) -> str:
    """Return the version of a library; some have a distribution name for each device."""
    by_device = {"faiss": ("faiss-cpu", "faiss-gpu-cu12")}
    for name in by_device.get(library, (library,)):
        with suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(name)
    raise ConfigError(f"{library} is not installed. Set up the environment with `make` or envs/")


@cache
def _cpu_class() -> str:
    """Return the widest instruction set that libraries dispatch on: it may change last bits."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.machine()
    flags = set(text.partition("flags")[2].partition("\n")[0].split())
    ladder = ("amx_fp16", "amx_bf16", "avx512_bf16", "avx512f", "avx2")
    return next((flag for flag in ladder if flag in flags), platform.machine())
