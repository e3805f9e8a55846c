"""Objects of a store on a shared disk, waited for: what another machine wrote may be seen late."""

import os
import time
from contextlib import suppress
from pathlib import Path

from clipaudit.errors import StoreError
from clipaudit.store.store import Pointer, Store

PATIENCE_SECONDS = 5.0  # as long as Snakemake waits for outputs unless its --latency-wait says more
_LOOKS_A_SECOND = 5


def awaited_path(store: Store, pointer: Pointer, *, seconds: float = PATIENCE_SECONDS) -> Path:
    """Return the checked path of an object, once it is there or `seconds` have passed.

    Snakemake waits for the pointer of a job on another machine, not for the object that it names.
    StoreError as by `Store.checked_path`: at once for an altered object, at last for a missing one.
    """
    end = time.monotonic() + seconds
    while True:
        try:
            return store.checked_path(pointer)
        except StoreError:
            if time.monotonic() >= end:
                raise
        if store.has(pointer.digest):
            return store.checked_path(pointer)  # altered; or it came just now
        time.sleep(1 / _LOOKS_A_SECOND)
        with suppress(OSError):  # listing makes NFS ask its server again
            os.listdir(store.path(pointer.digest).parent)
