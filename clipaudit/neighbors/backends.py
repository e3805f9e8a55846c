"""Registers the search backends, which give the same bytes and differ only in speed."""

from typing import Unpack

from clipaudit.errors import ConfigError
from clipaudit.neighbors.interface import Queries, Resources, Search

BLOCK_ROWS = 32_768  # train rows multiplied at once; with BLOCK_QUERIES, 64 MB of float16 scores
BLOCK_QUERIES = 1_024
BLOCK_QUERIES_ON_GPU = 8_192  # a product of 1,024 is too small to keep a GPU busy
_USUAL: Resources = {"device": "cpu", "block_rows": BLOCK_ROWS, "threads": None}
# Products that NumPy computes before the others have started: threads, importing torch.
SMALL_FOR_NATIVE = 10**7
SMALL_FOR_TORCH = 10**9
# On a GPU the fused search is then at most as fast as torch, and has to be compiled once.
SMALL_FOR_FUSED = 10**11


def search(
    queries: Queries,
    *,
    k: int,
    backend: str = "torch",
    **resources: Unpack[Resources],
) -> Search:
    """Start one pass over train samples against `queries`, keeping each query's k nearest.

    Only `queries` and `k` affect the output. `backend` is "numpy" (the plain float64 reference),
    "torch" (screened in low precision on `device`, decided in float64), "native" (the same in
    C++, for x86 processors) or "triton" (the same by one kernel, for NVIDIA GPUs). If one of the
    last two does not run, torch replaces it and the log says why. Memory grows with
    block_rows * block_queries, and with queries * k; that of "native" only with the latter. A block
    larger than `block_rows` is cut; for "triton", `block_queries` only bounds memory, since it
    takes a whole test set in one launch. `threads` limits the CPU threads (None: the process's
    setting); NumPy's BLAS follows its own environment variables.
    """
    if backend not in _BACKENDS:
        raise ConfigError(f"backend {backend!r} is not one of {', '.join(sorted(_BACKENDS))}")
    on_cpu = resources.get("device", "cpu") == "cpu"
    queries_at_once = BLOCK_QUERIES if on_cpu else BLOCK_QUERIES_ON_GPU
    given: Resources = {**_USUAL, "block_queries": queries_at_once, **resources}
    sizes = given["block_rows"], given["block_queries"]
    if min(sizes) < 1:
        raise ConfigError(f"block sizes {sizes[0]} and {sizes[1]}: both must be 1 or more")
    return _BACKENDS[backend](queries, k, **given)


def quicker_backend(rows: int, queries: int, dimension: int, *, device: str = "cpu") -> str:
    """Return the name of the faster backend for `rows` train samples.

    >>> quicker_backend(10, queries=2, dimension=4)
    'numpy'
    >>> quicker_backend(1_000_000, queries=50_000, dimension=512, device="cuda")
    'triton'
    """
    products = rows * queries * dimension
    if device != "cpu":
        return "torch" if products <= SMALL_FOR_FUSED else "triton"
    native = runs_natively(device)
    if products <= (SMALL_FOR_NATIVE if native else SMALL_FOR_TORCH):
        return "numpy"
    return "native" if native else "torch"


def runs_natively(device: str) -> bool:
    """Return whether the native search is available for this device."""
    from clipaudit.neighbors.native.library import kernels

    return device == "cpu" and bool(kernels())


def _numpy(queries: Queries, k: int, **resources: Unpack[Resources]) -> Search:
    from clipaudit.neighbors.reference import Reference

    device, columns = resources["device"], resources["block_queries"]
    if device != "cpu":
        raise ConfigError(f"the numpy backend runs on the cpu, not on {device!r}; use torch there")
    cells = 1 << 22  # float64 similarities held at once: 32 MB, and as much again for sorting
    rows = max(1, min(resources["block_rows"], cells // columns))
    return Reference(queries, k, block_rows=rows, block_queries=columns)


def _torch(queries: Queries, k: int, **resources: Unpack[Resources]) -> Search:
    from clipaudit.neighbors.screened import Screened

    return Screened(queries, k, **resources)


def _native(queries: Queries, k: int, **resources: Unpack[Resources]) -> Search:
    if not runs_natively(resources["device"]):
        return _torch(queries, k, **resources)
    from clipaudit.neighbors.native.search import Native

    return Native(queries, k, threads=resources["threads"])


def _triton(queries: Queries, k: int, **resources: Unpack[Resources]) -> Search:
    from clipaudit.neighbors.fused.device import runs_on

    if not runs_on(resources["device"]):
        return _torch(queries, k, **resources)
    from clipaudit.neighbors.fused.search import Fused

    return Fused(queries, k, **resources)


_BACKENDS = {"native": _native, "numpy": _numpy, "torch": _torch, "triton": _triton}
