"""Measures the cost of a map of vectors, for one number of points in its own process.

    OMP_NUM_THREADS=1 python benchmarks/vectormap.py --points 5000 --dimension 512

Vectors are around a hundred directions, with as much noise. Prints CPU seconds without imports, and
the peak memory of the process, libraries included.
"""

import argparse
import resource
import time

import numpy as np
import pyarrow as pa
import sklearn.manifold  # noqa: F401  its import is not measured

from clipaudit.corpora.vectors import binary_rows
from clipaudit.embeddings.vector_map import map_vectors


def main() -> None:
    """Measure and print one line of a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=5_000)
    parser.add_argument("--dimension", type=int, default=512)
    asked = parser.parse_args()
    rng = np.random.default_rng(0)
    groups = rng.normal(size=(100, asked.dimension))[rng.integers(0, 100, asked.points)]
    vectors = (groups + rng.normal(size=groups.shape)).astype(np.float16)
    rows = np.arange(asked.points, dtype=np.int32)
    columns = [np.zeros_like(rows), rows, binary_rows(vectors)]
    table = pa.table(columns, names=["shard", "row", "embedding"])
    started = time.process_time()
    map_vectors([table], {}, samples=asked.points, test_samples=0, seed=0)
    seconds = time.process_time() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"| {asked.points:,} | {seconds:.0f} s | {memory:.0f} MiB |")


if __name__ == "__main__":
    main()
