"""Wait for objects on a shared disk, where another machine's files may appear late."""

import os
import time
from contextlib import suppress
from pathlib import Path

from clipaudit.errors import StoreError
from clipaudit.store.store import Pointer, Store

PATIENCE_SECONDS = 5.0  # Snakemake's default --latency-wait for outputs
_LOOKS_A_SECOND = 5


def awaited_path(store: Store, pointer: Pointer, *, seconds: float = PATIENCE_SECONDS) -> Path:
    """Return the checked path of an object; wait at most `seconds` for it to appear.

    Snakemake waits for the pointer of a job on another machine, not for the object that it names.
    Raise StoreError as `Store.checked_path` does: immediately for an altered object, after the wait
    for a missing one.
    """
    end = time.monotonic() + seconds
    while True:
        try:
            return store.checked_path(pointer)
        except StoreError:
            if time.monotonic() >= end:
                raise
        if store.has(pointer.digest):
            return store.checked_path(pointer)  # it is altered, or just appeared
        time.sleep(1 / _LOOKS_A_SECOND)
        with suppress(OSError):  # listing makes NFS query its server again
            os.listdir(store.path(pointer.digest).parent)
