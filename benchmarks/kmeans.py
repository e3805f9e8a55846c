"""Compares the k-means of deduplication with faiss's, on the same vectors from the same start.

    OMP_NUM_THREADS=1 python benchmarks/kmeans.py --rows 100000 --clusters 4000 --dimension 512

Both make the same number of iterations over the same float16 vectors, in turns; medians of CPU
seconds are compared, which other work on the machine disturbs less; with `--device cuda`, those of
elapsed seconds, after a first run. `--alone` leaves out faiss, which runs on the CPU. A product is
that of one row and one centroid, two operations per dimension. "Similarity" is the mean over at
least 100,000 rows of that to the most similar centroid, which k-means maximizes.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import faiss
import numpy as np
from nearest import make_vectors

from clipaudit.deduplication.kmeans import spherical_kmeans


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--clusters", type=int, default=4_000)
    parser.add_argument("--dimension", type=int, default=512)
    parser.add_argument("--iterations", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--alone", action="store_true", help="without faiss")
    asked = parser.parse_args()
    vectors, _ = make_vectors(asked.rows, asked.rows // 100, asked.dimension, "clip")
    contenders = {"faiss, float32": by_faiss, "clipaudit": by_clipaudit}
    if asked.alone:
        del contenders["faiss, float32"]
    on_gpu = asked.device != "cpu"
    clock = time.perf_counter if on_gpu else time.process_time
    for contender in contenders.values() if on_gpu else ():
        contender(vectors, asked)  # compiles the kernel
    times: dict[str, list[float]] = {name: [] for name in contenders}
    found = {}
    for _ in range(asked.repeats):
        for name, contender in contenders.items():
            started = clock()
            found[name] = contender(vectors, asked)
            times[name].append(clock() - started)
    operations = 2 * asked.rows * asked.clusters * asked.dimension * asked.iterations
    slow = statistics.median(next(iter(times.values())))
    print(f"|  | {'elapsed' if on_gpu else 'CPU'} seconds | GFLOP/s | times as fast | similarity |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, centroids in found.items():
        seconds = statistics.median(times[name])
        rate, ratio = operations / seconds / 1e9, slow / seconds
        raised = similarity(vectors[:: max(1, len(vectors) // 100_000)], centroids)
        print(f"| {name} | {seconds:.2f} | {rate:,.0f} | {ratio:.1f} | {raised:.6f} |")


def by_faiss(vectors: np.ndarray, asked: argparse.Namespace) -> np.ndarray:
    """Return the centroids of faiss, which widens the float16 rows a block at a time."""
    faiss.omp_set_num_threads(asked.threads)
    d = vectors.shape[1]
    settings = faiss.ClusteringParameters()
    settings.niter, settings.seed, settings.spherical = asked.iterations, 1234, True
    settings.min_points_per_centroid, settings.max_points_per_centroid = 1, len(vectors)
    kmeans = faiss.Clustering(d, asked.clusters, settings)
    form = faiss.ScalarQuantizer.QT_fp16
    stored = faiss.IndexScalarQuantizer(d, form, faiss.METRIC_INNER_PRODUCT)
    kmeans.train_encoded(vectors.view(np.uint8), stored, faiss.IndexFlatIP(d))
    found: np.ndarray = faiss.vector_to_array(kmeans.centroids).reshape(asked.clusters, d)
    return found


def by_clipaudit(vectors: np.ndarray, asked: argparse.Namespace) -> np.ndarray:
    """Return our own centroids."""
    with tempfile.TemporaryDirectory() as scratch:
        return spherical_kmeans(
            vectors,
            asked.clusters,
            iterations=asked.iterations,
            seed=1234,
            scratch=Path(scratch),
            device=asked.device,
            threads=asked.threads,
        )


def similarity(vectors: np.ndarray, centroids: np.ndarray) -> float:
    """Return the mean similarity of the rows to their most similar centroids."""
    wide, blocks = centroids.astype(np.float32), range(0, len(vectors), 10_000)
    best = [(vectors[at : at + 10_000].astype(np.float32) @ wide.T).max(axis=1) for at in blocks]
    return float(np.concatenate(best).mean())


if __name__ == "__main__":
    main()
