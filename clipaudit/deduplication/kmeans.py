"""Runs spherical k-means: resumable, with the same bytes on every machine.

Lloyd's iterations follow faiss: they start with the samples that faiss draws, centroids have unit
length, and an empty cluster takes half of a large one. Differences: centroids are float16, the
exact search (clipaudit.neighbors) finds a sample's most similar one, the pairing of empty and large
clusters is drawn differently, and k-means ends when no centroid moves.

All of it is exact. A float16 number is a multiple of 2^-24, so float64 holds every partial sum of
MOST_ROWS numbers up to NORM_LIMIT, in any order; the rest is done number by number.
"""

import hashlib
import json
import logging
import os
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Unpack

import numpy as np
from jaxtyping import Float16, Float64, Int64

from clipaudit.errors import StoreError
from clipaudit.neighbors.backends import BLOCK_ROWS, quicker_backend, search
from clipaudit.neighbors.interface import Queries, Resources
from clipaudit.progress import Progress
from clipaudit.store.outputs import replaced

FILE_NAME = "kmeans.npz"
MOST_ROWS = 2**27  # times NORM_LIMIT, in steps of 2^-24: the 53 bits of float64
STRIP_ROWS = 4_096  # rows that a thread widens to float64 at once: memory, never results
SPLIT = 1 / 1024  # how far the halves of a cluster are pulled apart (origin: faiss)

logger = logging.getLogger(__name__)


def spherical_kmeans(
    vectors: Float16[np.ndarray, "n d"],
    clusters: int,
    *,
    iterations: int,
    seed: int,
    scratch: Path,
    backend: str | None = None,
    **resources: Unpack[Resources],
) -> Float16[np.ndarray, "k d"]:
    """Return the centroids, unit rows, after `iterations`, or fewer if they stop moving.

    `vectors`, at least as many as clusters and at most MOST_ROWS, are no longer than NORM_LIMIT.
    The first of equally similar centroids gets the sample. A centroid whose samples cancel each
    other out is zero. Each iteration is saved in the folder `scratch`: the same call with the same
    folder resumes after the last one; raises StoreError if that file is damaged. `backend` and
    `resources` are those of `neighbors.backends.search`, and do not affect the result.
    """
    centroids = _unit(vectors[_start(len(vectors), clusters, seed)].astype(np.float64))
    backend = backend or quicker_backend(
        len(vectors), *centroids.shape, device=resources.get("device", "cpu")
    )
    path = scratch / FILE_NAME
    identity = _identity(vectors, [clusters, iterations, seed])
    done, centroids = _load(path, identity) or (0, centroids)
    if done:
        logger.info("k-means: resumes after %d of %d iterations", done, iterations)
    n = len(vectors)
    progress = Progress(logger, "k-means", total=iterations * n, unit="samples", before=done * n)
    for iteration in range(done, iterations):
        detail = f"iteration {iteration + 1} of {iterations}"
        cluster = np.empty(n, dtype=np.int64)
        for rows, nearest in _nearest(vectors, centroids, backend, resources):
            cluster[rows] = nearest
            progress.note(iteration * n + rows.stop, detail)
        sums = _sums(vectors, cluster, clusters, resources.get("threads"))
        size = np.bincount(cluster, minlength=clusters)
        is_full = size.all()
        _fill_empty(sums, size, np.random.RandomState([seed, iteration]))
        moved = _unit(sums)
        if is_full and np.array_equal(moved, centroids):
            logger.info("k-means: no centroid moves after %d iterations", iteration)
            break
        centroids = moved
        _save(path, identity, iteration + 1, centroids)
    return centroids


def _start(n: int, clusters: int, seed: int) -> Int64[np.ndarray, " k"]:
    """Return the rows that faiss starts with: the head of its random order of n."""
    # NumPy promises that this stream never changes, unlike a Generator's.
    draws = np.random.RandomState(seed + 1).randint(0, 2**32, clusters, dtype=np.uint32)
    order = np.arange(n)
    for place, draw in enumerate(draws.tolist()):
        other = place + draw % (n - place)
        order[[place, other]] = order[[other, place]]
    return order[:clusters]


def _nearest(
    vectors: Float16[np.ndarray, "n d"],
    centroids: Float16[np.ndarray, "k d"],
    backend: str,
    resources: Resources,
) -> Iterator[tuple[slice, Int64[np.ndarray, " m"]]]:
    """Yield the rows of a block and the number of each one's most similar centroid."""
    k = len(centroids)
    engine = search(Queries(centroids, (0, k), np.arange(k)), k=1, backend=backend, **resources)
    block = resources.get("block_rows", BLOCK_ROWS)
    for start in range(0, len(vectors), block):
        rows = slice(start, min(start + block, len(vectors)))
        best = engine.rows(np.arange(rows.start, rows.stop), vectors[rows])
        yield rows, best.query[:, 0]


def _fill_empty(
    sums: Float64[np.ndarray, "k d"], size: Int64[np.ndarray, " k"], random: np.random.RandomState
) -> None:
    """Give each empty cluster half of another one, which is drawn by its size."""
    apart = 1 + SPLIT * np.where(np.arange(sums.shape[1]) % 2, -1, 1)
    for empty in np.flatnonzero(size == 0):
        spare = np.cumsum(np.maximum(size - 1, 0))  # never 0: there are as many rows as clusters
        large = np.searchsorted(spare, random.randint(spare[-1], dtype=np.int64), side="right")
        sums[empty] = sums[large] * apart
        sums[large] *= 2 - apart
        size[empty] = size[large] // 2
        size[large] -= size[empty]


def _sums(
    vectors: Float16[np.ndarray, "n d"],
    cluster: Int64[np.ndarray, " n"],
    clusters: int,
    threads: int | None,
) -> Float64[np.ndarray, "k d"]:
    order = np.argsort(cluster, kind="stable")

    def strip(start: int) -> tuple[np.ndarray, np.ndarray]:
        rows = order[start : start + STRIP_ROWS]
        present, first = np.unique(cluster[rows], return_index=True)
        return present, np.add.reduceat(vectors[rows].astype(np.float64), first)

    sums = np.zeros((clusters, vectors.shape[1]))
    with ThreadPoolExecutor(threads) as pool:
        for present, partial in pool.map(strip, range(0, len(order), STRIP_ROWS)):
            sums[present] += partial
    return sums


def _unit(sums: Float64[np.ndarray, "k d"]) -> Float16[np.ndarray, "k d"]:
    """Return the rows at unit length; rows of zeros are unchanged."""
    squares = np.cumsum(np.square(sums), axis=1)[:, -1:]  # unlike a sum, in the order of columns
    halves: np.ndarray = (sums / np.sqrt(np.where(squares > 0, squares, 1))).astype("<f2")
    return halves


# --- state to resume from ------------------------------------------------------------------------


def _identity(vectors: Float16[np.ndarray, "n d"], settings: list[int]) -> str:
    digest = hashlib.sha256(json.dumps([*settings, *vectors.shape]).encode())
    digest.update(np.ascontiguousarray(vectors).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _save(path: Path, identity: str, done: int, centroids: Float16[np.ndarray, "k d"]) -> None:
    with replaced(path) as part, part.open("wb") as file:
        np.savez(file, identity=identity, done=done, centroids=centroids)
        file.flush()
        os.fsync(file.fileno())


def _load(path: Path, identity: str) -> tuple[int, Float16[np.ndarray, "k d"]] | None:
    """Return the iterations done and their centroids, or None without a state of this k-means."""
    if not path.exists():
        return None
    try:
        with np.load(path) as state:
            if str(state["identity"]) != identity:
                return None
            return int(state["done"]), state["centroids"]
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise StoreError(
            f"{path}: the state of a k-means is damaged ({error}). Delete it: the k-means then "
            "starts over."
        ) from error
