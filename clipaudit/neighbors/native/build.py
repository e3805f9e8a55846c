"""Compiles the native search into a library beside its sources, if there is a compiler.

Hatchling runs it when the package is installed (hatch_build.py), before clipaudit can be imported,
so this module imports only the standard library. Jobs never compile.
"""

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
LIBRARY = HERE / "neighbors.so"
READS = (
    "amx.cpp",
    "avx2.cpp",
    "avx512.cpp",
    "best_queries.h",
    "columns.cpp",
    "columns.h",
    "kernel.h",
    "lanes.h",
    "lanes512.h",
    "library.cpp",
    "memory.h",
    "panels.h",
    "search.cpp",
    "search.h",
    "threads.h",
)  # all sources, part of the code digest too
_AVX2 = ("-mavx2", "-mfma", "-mf16c")
_AVX512 = (*_AVX2, "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl")
_AVX512_BF16 = (*_AVX512, "-mavx512bf16")
_AMX = (*_AVX512_BF16, "-mamx-tile", "-mamx-bf16")
# Each file with its instructions: one library runs on all x86, and picks a kernel when it runs.
_UNITS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("library.cpp", ()),
    ("search.cpp", ()),
    ("columns.cpp", ()),
    ("avx2.cpp", _AVX2),
    ("avx512.cpp", _AVX512),
    ("avx512.cpp", _AVX512_BF16),
    ("amx.cpp", _AMX),
)
_FLAGS = ("-std=c++17", "-O3", "-fPIC", "-fvisibility=hidden", "-pthread")


class NotBuilt(Exception):
    """There is no library; the message says why."""


def sources_digest() -> str:
    """Return the SHA-256 of all sources of the library."""
    content = b"".join((HERE / name).read_bytes() for name in READS)
    return hashlib.sha256(repr((_UNITS, _FLAGS)).encode() + content).hexdigest()


def build(target: Path = LIBRARY) -> None:
    """Compile the library to `target`, whole or not at all. Raise NotBuilt if that fails."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise NotBuilt(f"it is for Linux on x86-64, not for {sys.platform} on {platform.machine()}")
    compiler = shlex.split(os.environ.get("CXX", "")) or ["g++" if shutil.which("g++") else "c++"]
    if not shutil.which(compiler[0]):
        raise NotBuilt(f"there is no C++ compiler {compiler[0]}; install g++ or set CXX")
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".build.") as folder:
        objects = [f"{folder}/{number}.o" for number in range(len(_UNITS))]
        digest = f'-DSOURCES="{sources_digest()}"'
        for (source, instructions), output in zip(_UNITS, objects, strict=True):
            unit = [*_FLAGS, *instructions, digest, "-c", str(HERE / source), "-o", output]
            _run([*compiler, *unit])
        _run([*compiler, "-shared", "-pthread", "-o", f"{folder}/library", *objects])
        os.replace(f"{folder}/library", target)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotBuilt(f"{shlex.join(command)} failed:\n{done.stderr.strip()}")
