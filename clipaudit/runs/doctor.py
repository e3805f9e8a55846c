"""Examine the installation, this machine and the current folder, to find a fault."""

import importlib.metadata
import logging
import os
import platform
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.config.shipped import PACKAGE, workflow_folder
from clipaudit.errors import ClipauditError, InputError, StoreError
from clipaudit.lineage.keeping.reachability import pointer_files, read_pointer
from clipaudit.neighbors.native.library import kernels
from clipaudit.runs.status_text import run_status, status_lines
from clipaudit.steps.gpus import VISIBLE
from clipaudit.steps.granted import granted_cores, granted_memory
from clipaudit.steps.machine import is_built_for_gpus
from clipaudit.store.disks import free_bytes
from clipaudit.store.store import Store

Found = dict[str, Any]

POINTERS_CHECKED = 2_000  # at most, evenly spaced: takes seconds even with a million
_MODELS = ("cpu", "gpu", "models")  # extras whose libraries are listed beside the required ones
_SHOWN_VARIABLES = ("CLIPAUDIT_STORE", "SNAKEMAKE_PROFILE", VISIBLE, "OMP_NUM_THREADS", "CXX")
_GPUS = ("--query-gpu=index,name,memory.total,driver_version", "--format=csv,noheader")
_PATIENCE_SECONDS = 20  # for a program that may hang, as nvidia-smi does with a broken driver


def examine(results: Path, store: Store, runs: Path = Path("logs/runs")) -> Found:
    """Return what is installed, what the machine has, and what the folders hold, as plain data.

    The folders need not exist. `problems` lists each fault with the next step. Sizes are in bytes.
    `variables` has only variables that clipaudit reads and that are set. In every text, "~" stands
    for the home folder, which may name the user, and "$PWD" for the current one.
    """
    problems: list[str] = []
    found = {
        "versions": _versions(problems),
        "machine": _machine(problems),
        "neighbors": _neighbors(),
        "workflow": _workflow(),
        "results": _results(results, store, problems),
        "store": _store(store, problems),
        "settings": _settings(problems),
        "last_run": _last_run(runs),
        "variables": {name: os.environ[name] for name in _SHOWN_VARIABLES if name in os.environ},
        "problems": problems,
    }
    return {name: _without_own_folders(each) for name, each in found.items()}


def _without_own_folders(found: object) -> object:
    """Return plain data in which no text has the path of the home folder or the current one."""
    if isinstance(found, dict):
        return {name: _without_own_folders(each) for name, each in found.items()}
    if isinstance(found, list):
        return [_without_own_folders(each) for each in found]
    if isinstance(found, str):
        home = os.path.expanduser("~")  # "~" if the user has none
        for folder, short in sorted([(os.getcwd(), "$PWD"), (home, "~")], reverse=True):
            if folder != os.sep:
                found = re.sub(rf"{re.escape(folder)}(?![\w-])", short, found)
    return found


# --- what is installed ---------------------------------------------------------------------------


def _versions(problems: list[str]) -> Found:
    """Return the versions of Python, clipaudit and its libraries; None for one not installed."""
    libraries: dict[str, str | None] = {}
    outside: dict[str, str] = {}
    for text in importlib.metadata.requires("clipaudit") or ():
        asked = Requirement(text)
        extras = [each for each in ("", *_MODELS) if _is_for(asked, each)]
        name = canonicalize_name(asked.name)
        if not extras or name == "clipaudit":
            continue
        found = libraries[name] = _version(name)
        fits = found is not None and asked.specifier.contains(found, prereleases=True)
        if found is not None and not fits:
            outside[name] = str(asked.specifier)
        if extras[0] == "" and not fits:
            problems.append(
                f"{name}: clipaudit needs {asked.specifier}, found {found or 'none'}. "
                f"Install it: pip install '{name}{asked.specifier}'"
            )
    return {
        "clipaudit": importlib.metadata.version("clipaudit"),
        "python": platform.python_version(),
        "libraries": dict(sorted(libraries.items())),
        "outside_of": outside,
    }


def _workflow() -> str:
    """Describe where the workflow is, without a path, which would name the user."""
    folder = workflow_folder()
    if folder == Path():
        return "of this folder"
    return "of the installed package" if folder.parent == PACKAGE else "of a clone"


def _is_for(asked: Requirement, extra: str) -> bool:
    return asked.marker.evaluate({"extra": extra}) if asked.marker else not extra


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


# --- the machine ---------------------------------------------------------------------------------


def _machine(problems: list[str]) -> Found:
    pages = {"memory_in_all": "SC_PHYS_PAGES", "memory_free": "SC_AVPHYS_PAGES"}
    known = {name: each for name, each in pages.items() if each in os.sysconf_names}
    return {
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cores": granted_cores(),
        "cores_in_all": os.cpu_count(),
        "memory": granted_memory(),
        **{name: os.sysconf("SC_PAGE_SIZE") * os.sysconf(each) for name, each in known.items()},
        "gpus": _gpus(problems),
        "gpus_used": is_built_for_gpus(),
        "compiler": _first_line([*_compiler(), "--version"]),
    }


def _gpus(problems: list[str]) -> list[str]:
    listed = _output(["nvidia-smi", *_GPUS])
    if listed is None and shutil.which("nvidia-smi"):
        problems.append("nvidia-smi fails, so no GPU can be used. Run nvidia-smi to see why.")
    return [] if listed is None else listed.splitlines()


def _compiler() -> list[str]:
    """Return the C++ compiler that `neighbors/native/build.py` uses.

    A function there would change the code of `nearest`, and every search would run again.
    """
    return shlex.split(os.environ.get("CXX", "")) or ["g++" if shutil.which("g++") else "c++"]


def _first_line(command: Sequence[str]) -> str | None:
    said = _output(command)
    return said.partition("\n")[0] if said else None


def _output(command: Sequence[str]) -> str | None:
    """Return what a program prints; None if it is missing, fails or hangs."""
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run(command, text=True, capture_output=True, timeout=_PATIENCE_SECONDS)
    except (subprocess.TimeoutExpired, OSError):
        return None
    return done.stdout if done.returncode == 0 else None


def _neighbors() -> Found:
    """Return the CPU search in use, its kernels (the one in use first), and the reason."""
    with _warnings_of("clipaudit.neighbors.native.library") as said:
        found = list(kernels())
    return {"backend": "native" if found else "torch", "kernels": found, "why": said}


class _Messages(logging.Handler):
    """A handler that keeps messages."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


@contextmanager
def _warnings_of(logger: str) -> Iterator[list[str]]:
    """Collect the warnings of a logger instead of printing them."""
    handler = _Messages(logging.WARNING)
    log = logging.getLogger(logger)
    before, log.propagate = log.propagate, False
    log.addHandler(handler)
    try:
        yield handler.said
    finally:
        log.removeHandler(handler)
        log.propagate = before


# --- the current folder --------------------------------------------------------------------------


def _folder(path: Path, problems: list[str]) -> Found:
    there = next(each for each in (path, *path.absolute().parents) if each.exists())
    if not os.access(there, os.W_OK):
        problems.append(f"{there}: cannot be written. Give this user write permission.")
    return {"folder": str(path), "there": path.is_dir(), "free": free_bytes(path)}


def _results(results: Path, store: Store, problems: list[str]) -> Found:
    """Return the numbers of pointers, of checked ones, and of those without a whole object.

    An object counts as whole if it has the size that its pointer gives; nothing is hashed.
    """
    files = pointer_files(results) if results.is_dir() else []
    chosen = files[:: max(1, -(-len(files) // POINTERS_CHECKED))]
    wrong = [fault for path in chosen if (fault := _fault(results, path, store))]
    if wrong:
        problems.append(
            f"{len(wrong)} of {len(chosen)} checked pointers lead to no whole object, the first: "
            f"{wrong[0]}. `clipaudit verify` finds all of them, `clipaudit verify --repair "
            "--configfile SETTINGS` remakes them."
        )
    counts = {"pointers": len(files), "checked": len(chosen), "damaged": len(wrong)}
    return {**_folder(results, problems), **counts}


def _fault(results: Path, path: Path, store: Store) -> str | None:
    try:
        pointer = read_pointer(results, path)
        if pointer is None:
            return None
        found = store.path(pointer.digest).stat().st_size
    except StoreError as error:
        return str(error)
    except OSError as error:
        return f"{path}: its object cannot be read ({error.strerror})"
    if found == pointer.bytes:
        return None
    return f"{path}: its object has {found} bytes, expected {pointer.bytes}"


def _store(store: Store, problems: list[str]) -> Found:
    """Return how many files the store's folders hold; `unfinished`: files of unfinished steps."""
    kinds = {"objects": "objects/*", "unfinished": "unfinished", "quarantine": "quarantine"}
    counts = {
        kind: sum(len(os.listdir(each)) for each in store.root.glob(pattern) if each.is_dir())
        for kind, pattern in kinds.items()
    }
    return {**_folder(store.root, problems), **counts}


def _settings(problems: list[str]) -> list[Found]:
    """Return the settings files of the current folder: their sections, or what is wrong."""
    found: list[Found] = []
    for path in sorted(Path().glob("*.y*ml")):
        try:
            content = read_settings(path)
            if not {"corpora", "extends"} & content.keys():
                continue
            parse_settings(content)
        except ClipauditError as error:
            problems.append(f"{path}: {str(error).removeprefix(f'{path}: ')}")
            found.append({"file": str(path), "sections": None})
        else:
            found.append({"file": str(path), "sections": sorted(content)})
    return found


def _last_run(runs: Path) -> str | None:
    """Return one line on the progress of the last run; None if there is none."""
    try:
        return next(status_lines(run_status(runs), time.time()))
    except InputError:
        return None
