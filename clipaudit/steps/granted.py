"""Find the cores and the memory that this process may use.

A container, or a job of a cluster, often sees the whole machine but is granted a part: its control
group may limit the CPU time and the memory of all its processes (cgroups(7)). A process above such
a memory limit is killed; threads above a CPU limit wait for one another.
"""

import math
import os
from collections.abc import Iterator
from pathlib import Path

GROUPS = Path("/proc/self/cgroup")
MOUNTS = Path("/sys/fs/cgroup")


def granted_cores(groups: Path = GROUPS, mounts: Path = MOUNTS) -> int:
    """Return how many cores this process may use: a limit of 2.5 cores' time is 3 cores.

    `groups` is the kernel's list of the control groups of this process, `mounts` where their files
    are. Systems without control groups have no such limits.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    shares = [
        int(quota) / int(period)
        for folder in _folders("cpu", groups, mounts)
        for quota, period in [_cpu_limit(folder)]
        if quota.isdecimal() and int(period) > 0
    ]
    return max(1, min([cores or 1, *map(math.ceil, shares)]))


def granted_memory(groups: Path = GROUPS, mounts: Path = MOUNTS) -> int:
    """Return how many bytes of memory this process and its children may use; see the cores."""
    limits = [
        int(limit)
        for folder in _folders("memory", groups, mounts)
        for name in ("memory.max", "memory.limit_in_bytes")
        for limit in _words(folder / name)
        if limit.isdecimal()
    ]
    return min([os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), *limits])


def _cpu_limit(folder: Path) -> tuple[str, str]:
    """Return a group's CPU time per period, and the period, in microseconds; `max` or -1: any."""
    words = _words(folder / "cpu.max")  # of version 2; the other files are of version 1
    if not words:
        words = _words(folder / "cpu.cfs_quota_us") + _words(folder / "cpu.cfs_period_us")
    return (words[0], words[1]) if len(words) == 2 else ("max", "0")


def _folders(controller: str, groups: Path, mounts: Path) -> Iterator[Path]:
    """Yield the folders of this process's group and of those above it, for one controller.

    A limit holds for all groups below. In a container the list may name groups as the machine
    outside sees them: then only the top folder is there, and it is the container's.
    """
    for line in _lines(groups):
        _, controllers, path = line.split(":", maxsplit=2)
        if controllers and controller not in controllers.split(","):
            continue
        top = mounts / controller if controllers else mounts
        group = Path(path.lstrip("/"))
        yield from (top / each for each in (group, *group.parents))


def _words(file: Path) -> list[str]:
    return [word for line in _lines(file) for word in line.split()]


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except OSError:  # not there: no such group, another version, or another system
        return []
