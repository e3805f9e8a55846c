"""Find this machine's resources for the jobs of a run: memory, and GPUs to divide among them."""

import importlib.metadata
import logging
import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from clipaudit.errors import ConfigError
from clipaudit.steps.gpus import VISIBLE, visible_gpus
from clipaudit.steps.granted import granted_cores, granted_memory

SPARED = 0.1  # share of the memory for everything else
_BUILT_FOR_GPUS = "faiss-gpu-cu12"  # in clipaudit[gpu], not in clipaudit[cpu]
_LIST = ("--query-gpu=index", "--format=csv,noheader")
_log = logging.getLogger(__name__)


class Machine(NamedTuple):
    """Snakemake's options and variables that give its jobs this machine."""

    options: list[str]
    environment: dict[str, str]  # variables in addition to those of this process


def this_machine(profile: str, cores: str | None, gpus: int | None) -> Machine:
    """Return this machine's resources for a run of a profile; nothing if jobs run elsewhere.

    `profile` is as Snakemake finds it; `cores` a number or `all`, None for the profile's number;
    `gpus` a number, None for all. Each GPU gets its share of the cores, for processes that decode
    images. Raise ConfigError for more GPUs than there are, and for a profile of another form.
    """
    file = Path(profile) / "config.yaml"
    settings: dict[str, Any] = {"executor": "another"}
    if file.is_file():
        settings = _read_profile(file)
    if settings.get("executor", "local") != "local":
        return Machine([], {})
    chosen = _chosen_gpus(gpus)
    megabytes = granted_memory() * (1 - SPARED) / 10**6
    options = ["--resources", f"mem_mb={megabytes:.0f}", f"gpu={len(chosen)}"]
    used = cores or str(settings.get("cores", 1))
    number = int(used) if used.isdecimal() else granted_cores()
    if used == "all":  # Snakemake refuses other texts
        options += ["--cores", str(number)]
    if not chosen:
        return Machine(options, {})
    share = max(1, number // len(chosen))
    rules = settings.get("set-resources") or {}
    if not isinstance(rules, dict) or not all(isinstance(each, dict) for each in rules.values()):
        raise ConfigError(
            f"{file}: set-resources is {rules}, expected the resources of each rule by name. Write "
            "it as `set-resources: {train: {gpu: 1}}`."
        )
    threads = [f"{rule}={share}" for rule, asked in rules.items() if "gpu" in asked]
    options += ["--set-threads", *threads] if threads else []  # it needs a value
    return Machine(options, {VISIBLE: ",".join(chosen)})


def _read_profile(file: Path) -> dict[str, Any]:
    try:
        with file.open() as opened:  # not its text: errors then name the file
            found = yaml.safe_load(opened)
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: cannot be read as YAML: {error}") from error
    if not isinstance(found, dict):
        kind = "is empty" if found is None else f"holds {type(found).__name__}"
        raise ConfigError(
            f"{file}: {kind}, expected a mapping of Snakemake's options, such as `cores: all`."
        )
    return found


def _chosen_gpus(asked: int | None) -> list[str]:
    there = _gpus_here()
    if asked is not None and asked > len(there):
        raise ConfigError(
            f"--gpus {asked}: nvidia-smi or CUDA_VISIBLE_DEVICES names {len(there)}. Ask for no "
            "more."
        )
    if asked is None and there and not is_built_for_gpus():
        many = "a GPU is" if len(there) == 1 else f"{len(there)} GPUs are"
        _log.warning("%s here, not used: install clipaudit[gpu] instead of [cpu]", many)
        return []
    return there[:asked]


def _gpus_here() -> list[str]:
    if VISIBLE in os.environ:
        return visible_gpus()
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    listed = subprocess.run([program, *_LIST], text=True, capture_output=True)
    return listed.stdout.split() if listed.returncode == 0 else []  # a driver without a device


def is_built_for_gpus() -> bool:
    """Return whether the installation can use GPUs: clipaudit[gpu] rather than [cpu]."""
    with suppress(importlib.metadata.PackageNotFoundError):
        return bool(importlib.metadata.version(_BUILT_FOR_GPUS))
    return False
