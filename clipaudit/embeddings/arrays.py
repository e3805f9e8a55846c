"""NumPy's files of arrays, `.npy` and `.npz`, opened without trust: no pickles, our own errors."""

import contextlib
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from clipaudit.errors import InputError
from clipaudit.plaintext import plain

form: Any = np.lib.format  # it has no types


def array_header(path: Path, array: str | None) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and type of an array without reading it; raises InputError."""
    with _reading(path), contextlib.ExitStack() as opened:
        if array is None:
            file: IO[bytes] = opened.enter_context(path.open("rb"))
        else:
            held = opened.enter_context(zipfile.ZipFile(path))
            if f"{array}.npy" not in held.namelist():
                names = ", ".join(name.removesuffix(".npy") for name in held.namelist())
                raise InputError(
                    f"{path}: no array {array!r}, but {plain(names)}. Name one of them."
                )
            file = opened.enter_context(held.open(f"{array}.npy"))
        newer = form.read_magic(file) > (1, 0)
        read = form.read_array_header_2_0 if newer else form.read_array_header_1_0
        shape, _, dtype = read(file)
    return shape, dtype


def read_array(path: Path, array: str | None) -> np.ndarray:
    """Return an array: mapped from its file, or one of a `.npz`, which is read whole."""
    with _reading(path):
        if array is None:
            return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
        with np.load(path, allow_pickle=False) as held:
            return np.asarray(held[array])


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        what = str(error).rstrip(".")
        raise InputError(f"{path}: cannot be read as an array: {what}. Fetch it again.") from error
