"""Pause Python's garbage collection, for work whose objects live to its end."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Pause garbage collection within the block, or within the function that this decorates.

    A workflow's graph, and the modules that read it, only grow: walking over them again and again
    takes a third of the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
