"""GPUs of this machine that jobs of one run hold, each its own."""

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

VISIBLE = "CUDA_VISIBLE_DEVICES"
_SECONDS_BETWEEN_TRIES = 0.2


def visible_gpus() -> list[str]:
    """Return the GPUs that CUDA_VISIBLE_DEVICES names."""
    return [each for each in os.environ.get(VISIBLE, "").split(",") if each]


@contextmanager
def held_gpus(count: int) -> Iterator[None]:
    """Hold `count` of the GPUs that CUDA_VISIBLE_DEVICES names, which then names these alone.

    Waits until so many are free of other jobs of this user on this machine. Where it names no more
    than that, or nothing, as on a cluster, all are the job's own.
    """
    there = visible_gpus()
    if not count or len(there) <= count:
        yield
        return
    with ExitStack() as held:
        while len(taken := _free(held, there, count)) < count:
            held.close()  # two jobs that each hold half would wait for ever
            time.sleep(_SECONDS_BETWEEN_TRIES)
        os.environ[VISIBLE] = ",".join(taken)
        yield


def _free(held: ExitStack, there: list[str], count: int) -> list[str]:
    """Lock up to `count` GPUs that nobody holds, until `held` is closed."""
    taken: list[str] = []
    for each in there:
        if len(taken) < count and _lock(held, each):
            taken.append(each)
    return taken


def _lock(held: ExitStack, gpu: str) -> bool:
    path = Path(tempfile.gettempdir()) / f"clipaudit-gpu-{os.getuid()}-{gpu}.lock"
    file = os.fdopen(os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600))
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return False
    held.callback(file.close)
    return True
