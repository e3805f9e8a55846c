"""Finds and opens the compiled library, and lists its kernels for this processor."""

import ctypes
import logging
from functools import cache
from pathlib import Path

from clipaudit.neighbors.native.build import LIBRARY, sources_digest

_log = logging.getLogger(__name__)
_POINTER, _INT64 = ctypes.c_void_p, ctypes.c_int64
_SIGNATURES = {  # of library.cpp: arguments and result of a function
    "neighbors_kernels": ([], ctypes.c_char_p),
    "neighbors_open": (
        [ctypes.c_char_p, _POINTER, _INT64, ctypes.c_int, _POINTER, _INT64, _POINTER, _INT64],
        _POINTER,
    ),
    "neighbors_rows": (
        [_POINTER, ctypes.c_int, _POINTER, _POINTER, _INT64, ctypes.c_float] + [_POINTER] * 4,
        ctypes.c_int,
    ),
    "neighbors_earlier": (
        [_POINTER, ctypes.c_int, ctypes.c_float] + [_POINTER] * 4,
        ctypes.c_int,
    ),
    "neighbors_worst": ([_POINTER], ctypes.c_double),
    "neighbors_bound": ([_POINTER], ctypes.c_double),
    "neighbors_top": ([_POINTER] * 3, None),
    "neighbors_close": ([_POINTER], None),
}


def kernels() -> tuple[str, ...]:
    """Return the names of the kernels that run here, the fastest first; none without a library."""
    library = find_library(LIBRARY)
    return () if library is None else tuple(library.neighbors_kernels().decode().split())


@cache
def find_library(path: Path) -> ctypes.CDLL | None:
    """Open the library at `path`; if it cannot be used, log why (once) and return None."""
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        _say(f"{path.name} cannot be opened ({error})" if path.exists() else "it was not compiled")
        return None
    if not _is_of_these_sources(library):  # first: a library of others may lack functions
        _say(f"{path.name} was compiled from other sources")
        return None
    for name, (takes, gives) in _SIGNATURES.items():
        function = getattr(library, name)
        function.argtypes, function.restype = takes, gives
    if not library.neighbors_kernels():
        _say("this processor has no AVX2, or ONEDNN_MAX_CPU_ISA forbids it")
        return None
    return library


def _is_of_these_sources(library: ctypes.CDLL) -> bool:
    try:
        function = library.neighbors_sources
    except AttributeError:
        return False
    function.restype = ctypes.c_char_p
    return bool(function().decode() == sources_digest())


def _say(why: str) -> None:
    _log.warning(
        "The native search is unavailable: %s. Torch replaces it, with the same results, some ten "
        "times slower. With g++ installed, install clipaudit again.",
        why,
    )
