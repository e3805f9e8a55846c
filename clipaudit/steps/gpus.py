"""Assign this machine's GPUs to the jobs of a run, so that no two jobs share one."""

import fcntl
import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import takewhile
from pathlib import Path

VISIBLE = "CUDA_VISIBLE_DEVICES"
_GPU = re.compile(r"\d|GPU-|MIG-")  # the start of a GPU's number or name
_SECONDS_BETWEEN_TRIES = 0.2


def visible_gpus() -> list[str]:
    """Return the GPUs that CUDA_VISIBLE_DEVICES names.

    Like CUDA, stop at the first name that is no GPU's, such as -1 or NoDevFiles.
    """
    names = [each.strip() for each in os.environ.get(VISIBLE, "").split(",")]
    return list(takewhile(_GPU.match, names))


@contextmanager
def held_gpus(count: int) -> Iterator[None]:
    """Hold `count` of the GPUs in CUDA_VISIBLE_DEVICES, which then names only these.

    Wait until that many are free of this user's other jobs on this machine. If the variable names
    no more than `count`, or nothing, as on a cluster, all of them belong to the job.
    """
    there = visible_gpus()
    if not count or len(there) <= count:
        yield
        return
    with ExitStack() as held:
        while len(taken := _free(held, there, count)) < count:
            held.close()  # otherwise two jobs that each hold half would wait forever
            time.sleep(_SECONDS_BETWEEN_TRIES)
        os.environ[VISIBLE] = ",".join(taken)
        yield


def _free(held: ExitStack, there: list[str], count: int) -> list[str]:
    """Lock up to `count` free GPUs until `held` is closed."""
    taken: list[str] = []
    for each in there:
        if len(taken) < count and _lock(held, each):
            taken.append(each)
    return taken


def _lock(held: ExitStack, gpu: str) -> bool:
    name = gpu.replace("/", "_")  # MIG-GPU-<uuid>/1/0
    path = Path(tempfile.gettempdir()) / f"clipaudit-gpu-{os.getuid()}-{name}.lock"
    file = os.fdopen(os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600))
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return False
    held.callback(file.close)
    return True
