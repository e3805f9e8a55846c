"""Runs alternatives to our search: other libraries, in both directions.

Every peer returns the most similar query of each row and the k most similar rows of each query,
from float32 or float16 copies that are made before its clock starts. faiss and torch are our
dependencies; usearch and ScaNN run if they are installed.
"""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec

import numpy as np
import torch
from jaxtyping import Float16

Answer = tuple[np.ndarray, np.ndarray]  # best query of each row, best k rows of each query
Peer = Callable[[int], Answer]

FAISS = "faiss.knn, float32"
PRODUCT = "torch bfloat16 product and maxima"
PRODUCT_ROWS = 8_192  # multiplied at once


def list_peers(
    rows: Float16[np.ndarray, "n d"], queries: Float16[np.ndarray, "q d"], threads: int
) -> dict[str, Peer]:
    """Return the peers by name, the reference of ratios first."""
    import faiss  # here, since a machine with a GPU may lack it

    wide_rows, wide_queries = rows.astype(np.float32), queries.astype(np.float32)
    faiss.omp_set_num_threads(threads)
    torch.set_num_threads(threads)
    peers: dict[str, Peer] = {
        FAISS: partial(_by_faiss, wide_rows, wide_queries),
        PRODUCT: partial(_by_product, _bfloat16(rows), _bfloat16(queries)),
    }
    if find_spec("usearch"):
        peers["usearch, exact, float16"] = partial(_by_usearch, rows, queries, threads)
    if find_spec("scann"):
        peers["scann, brute force, float32"] = _by_scann(wide_rows, wide_queries)
    return peers


def product_alone(rows: Float16[np.ndarray, "n d"], queries: Float16[np.ndarray, "q d"]) -> None:
    """Multiply by torch in bfloat16, and read no score."""
    left, right = _bfloat16(rows), _bfloat16(queries)
    scores = torch.empty(PRODUCT_ROWS, len(right), dtype=torch.bfloat16)
    for some in torch.split(left, PRODUCT_ROWS):
        torch.mm(some, right.T, out=scores[: len(some)])


def _by_faiss(rows: np.ndarray, queries: np.ndarray, k: int) -> Answer:
    import faiss

    product = faiss.METRIC_INNER_PRODUCT
    _, best = faiss.knn(rows, queries, 1, metric=product)
    _, top = faiss.knn(queries, rows, k, metric=product)
    return best[:, 0], top


def _by_product(rows: torch.Tensor, queries: torch.Tensor, k: int) -> Answer:
    """Search both directions by one product in bfloat16 and torch's topk: not exact."""
    best = torch.empty(len(rows), dtype=torch.int64)
    values = torch.full((k, len(queries)), -torch.inf, dtype=torch.bfloat16)
    top = torch.full((k, len(queries)), -1)
    for start in range(0, len(rows), PRODUCT_ROWS):
        scores = rows[start : start + PRODUCT_ROWS] @ queries.T
        best[start : start + len(scores)] = scores.argmax(dim=1)
        highest, place = (
            scores.max(dim=0, keepdim=True) if k == 1 else scores.topk(min(k, len(scores)), dim=0)
        )
        values, kept = torch.cat([values, highest]).topk(k, dim=0)
        top = torch.cat([top, place + start]).gather(0, kept)
    return best.numpy(), top.T.numpy()


def _by_usearch(rows: np.ndarray, queries: np.ndarray, threads: int, k: int) -> Answer:
    from usearch.index import MetricKind, search

    options = {"metric": MetricKind.IP, "exact": True, "threads": threads}
    best = search(queries, rows, 1, **options).keys
    return best.reshape(-1).astype(np.int64), search(rows, queries, k, **options).keys


def _by_scann(rows: np.ndarray, queries: np.ndarray) -> Peer:
    import scann

    def over(vectors: np.ndarray, k: int) -> object:
        builder = scann.scann_ops_pybind.builder(vectors, k, "dot_product")
        return builder.score_brute_force().build()

    def answer(k: int) -> Answer:
        best, _ = over(queries, 1).search_batched(rows)
        top, _ = over(rows, k).search_batched(queries)
        return best[:, 0].astype(np.int64), top.astype(np.int64)

    return answer


def _bfloat16(vectors: Float16[np.ndarray, "n d"]) -> torch.Tensor:
    return torch.from_numpy(vectors).bfloat16()
