"""Measure what a job used: memory, CPU time, libraries."""

import importlib.metadata
import os
import platform
import resource
import sys
from contextlib import suppress
from pathlib import Path

_RUSAGE_BYTES = 1 if sys.platform == "darwin" else 1024  # the unit of its memory


def peak_memory_mb() -> int:
    """Return the peak memory of this process or of one of its finished children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * _RUSAGE_BYTES
    return max(_own_peak_bytes(), children) // 2**20


def _own_peak_bytes() -> int:
    """Return the peak memory of this process; on Linux, rusage would include its parent's."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RUSAGE_BYTES


def cpu_seconds() -> float:
    """Return the CPU time of this process and its finished children."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def versions_of_loaded_libraries() -> dict[str, str]:
    """Return the versions of the libraries that this step imported, and of Python."""
    known = {
        "torch": "torch", "torchvision": "torchvision", "open_clip": "open_clip_torch",
        "numpy": "numpy", "pyarrow": "pyarrow", "duckdb": "duckdb", "PIL": "pillow",
        "timm": "timm", "matplotlib": "matplotlib", "rapidocr": "rapidocr",
    }  # fmt: skip
    loaded = [name for module, name in known.items() if module in sys.modules]
    versions = {name: importlib.metadata.version(name) for name in loaded}
    return {"python": platform.python_version(), **versions}
