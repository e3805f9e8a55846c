"""Measures one pass over the disk, in which embeddings are read while a search computes.

    OMP_NUM_THREADS=1 python benchmarks/onepass.py [--rows 786432] [--queries 60 600 6000] [--cold]

Writes a part's embeddings and an array of the same numbers to a temporary folder. Prints medians
over rounds in which all take turns:

- numpy.load of the array, by the second of two calls, since the first may wait for memory
- reading alone, as a step reads and with pyarrow's defaults
- for each number of queries, in six test sets: the search of rows in memory, writing its table, and
  the whole work of the rule `nearest`, compared with the slowest of the three

Then prints the peak memory of processes that do the rule's work on a quarter of the rows and on all
rows. `--cold` takes files out of the page cache before they are read.
"""

import argparse
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clipaudit.ahead import one_ahead
from clipaudit.corpora.vectors import embedding_array
from clipaudit.neighbors.backends import search
from clipaudit.similarity.nearest import SIMILARITIES, PartSearch, QuerySets, query_sets
from clipaudit.store.parquet import BATCH_ROWS, read_batches, write_tables

SETS = 6  # test sets; --queries is their total
DRAWN = 16_384  # rows drawn; the others repeat them with the dimensions in another order

Batches = Iterable[pa.RecordBatch]
Ahead = Callable[[Iterable[Any]], Iterator[Any]]


def main() -> None:
    """Measure and print; see the module."""
    settings = parse()
    with tempfile.TemporaryDirectory(dir=settings.folder) as folder:
        files = Files(Path(folder), settings.rows, settings.dimension)
        show_reading(settings, files)
        for queries in settings.queries:
            show_search(settings, files, queries)
        show_memory(settings, files)


def parse() -> argparse.Namespace:
    """Return the settings of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=786_432, help="1 GB at 640 dimensions")
    parser.add_argument("--queries", type=int, nargs="+", default=[60, 600, 6_000])
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--dimension", type=int, default=640)
    parser.add_argument("--threads", type=int, default=1, help="of the search")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="where the temporary folder is made")
    parser.add_argument("--cold", action="store_true", help="read from the disk, not from memory")
    return parser.parse_args()


class Files:
    """A part's embeddings as they are stored, a quarter of them, and all of them as an array."""

    def __init__(self, folder: Path, rows: int, dimension: int) -> None:
        """Write the files."""
        self.stored, self.quarter = folder / "part.parquet", folder / "quarter.parquet"
        self.array, self.similarities = folder / "part.npy", folder / "similarities.parquet"
        schema = embeddings(np.empty((0, dimension), "<f2"), np.arange(0)).schema
        write_tables(part(rows, dimension), schema, self.stored)
        write_tables(part(rows // 4, dimension), schema, self.quarter)
        vectors = [embedding_array(batch, "part") for batch in read_batches(self.stored)]
        np.save(self.array, np.concatenate(vectors))
        for path in (self.stored, self.array):  # unwritten pages cannot leave the cache
            with path.open("rb") as file:
                os.fsync(file.fileno())

    def leave_cache(self) -> None:
        """Take the files out of the page cache."""
        for path in (self.stored, self.array):
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def part(rows: int, dimension: int) -> Iterator[pa.Table]:
    """Yield the EMBEDDINGS of a part of this many rows."""
    drawn = unit_rows(DRAWN, dimension, seed=0)
    for start in range(0, rows, DRAWN):
        vectors = np.roll(drawn, start // DRAWN, axis=1)[: rows - start]
        yield embeddings(vectors, np.arange(start, start + len(vectors)))


def unit_rows(count: int, dimension: int, *, seed: int) -> np.ndarray:
    """Return rows of unit length in float16."""
    rows = np.random.default_rng(seed).standard_normal((count, dimension), dtype=np.float32)
    halves: np.ndarray = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype("<f2")
    return halves


def embeddings(vectors: np.ndarray, numbers: np.ndarray) -> pa.Table:
    """Return EMBEDDINGS, 10,000 a shard; their own module would import torch."""
    n, d = vectors.shape
    values = pa.Array.from_buffers(pa.binary(2 * d), n, [None, pa.py_buffer(vectors.tobytes())])
    shard, row = (numbers // 10_000).astype(np.int32), (numbers % 10_000).astype(np.int32)
    return pa.table({"shard": shard, "row": row, "embedding": values})


def test_sets(queries: int, dimension: int) -> QuerySets:
    """Return this many queries, in SETS sets."""
    size = queries // SETS
    numbers = np.arange(size)
    return query_sets(
        {
            f"set{n}": embeddings(unit_rows(size, dimension, seed=n + 1), numbers)
            for n in range(SETS)
        }
    )


# --- what is measured --------------------------------------------------------------------------


def read_unasked(path: Path) -> Iterator[pa.RecordBatch]:
    """Yield row groups as pyarrow reads them by default."""
    yield from pq.ParquetFile(path).iter_batches(batch_size=65_536)


def drain(batches: Batches) -> None:
    """Read embeddings, as arrays, and do nothing with them."""
    for batch in batches:
        embedding_array(batch, "part")


def load(path: Path) -> None:
    """Read an array."""
    np.load(path)


def start(settings: argparse.Namespace, sets: QuerySets) -> PartSearch:
    """Return a search that has seen no rows."""
    how = {"backend": "native", "block_rows": BATCH_ROWS, "threads": settings.threads}
    return PartSearch(sets, search(sets.queries, k=settings.k, **how), block_rows=BATCH_ROWS)


def search_rows(search: PartSearch, batches: Batches) -> list[pa.Table]:
    """Search in both directions; return the tables of similarities."""
    tables = list(search.similarities(batches))
    search.neighbors()
    return tables


def do_all(search: PartSearch, path: Path, output: Path, ahead: Ahead = one_ahead) -> None:
    """Do what the rule `nearest` does with a part."""
    tables = search.similarities(ahead(read_batches(path)))
    write_tables(ahead(tables), SIMILARITIES, output)
    search.neighbors()


def peak_megabytes(settings: argparse.Namespace, path: Path, output: Path) -> int:
    """Search a part; return the peak memory of this process."""
    sets = test_sets(settings.queries[-1], settings.dimension)
    do_all(start(settings, sets), path, output)
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) // 1024


# --- the report --------------------------------------------------------------------------------


def show_reading(settings: argparse.Namespace, files: Files) -> None:
    """Print how fast embeddings are read, against numpy.load."""
    took = medians(
        settings,
        files,
        {
            "(first numpy.load)": partial(load, files.array),
            "numpy.load": partial(load, files.array),
            "as pyarrow reads unasked": lambda: drain(read_unasked(files.stored)),
            "batches": lambda: drain(read_batches(files.stored)),
            "batches, one ahead": lambda: drain(one_ahead(read_batches(files.stored))),
        },
    )
    size = files.array.stat().st_size / 1e9
    cache = "the disk" if settings.cold else "the page cache"
    print(f"{settings.rows} rows x {settings.dimension}, {size:.2f} GB, from {cache}")
    print(f"{'':28}{'s':>8}{'GB/s':>8}{'x numpy.load':>14}")
    for name, seconds in list(took.items())[1:]:
        ratio = took["numpy.load"] / seconds
        print(f"{name:28}{seconds:8.3f}{size / seconds:8.2f}{ratio:14.2f}")


def show_search(settings: argparse.Namespace, files: Files, queries: int) -> None:
    """Print the time of each part of the rule's work alone, and of all together."""
    sets = test_sets(queries, settings.dimension)
    held = list(read_batches(files.stored))
    tables = search_rows(start(settings, sets), held)
    paths = files.stored, files.similarities
    alone: dict[str, Callable[[], object]] = {
        "reading": lambda: drain(read_batches(files.stored)),
        "searching": lambda: search_rows(start(settings, sets), held),
        "writing": lambda: write_tables(tables, SIMILARITIES, files.similarities),
    }
    together = {
        "one after another": lambda: do_all(start(settings, sets), *paths, ahead=iter),
        "together": lambda: do_all(start(settings, sets), *paths),
    }
    took = medians(settings, files, {**alone, **together})
    slowest = max(took[name] for name in alone)
    print(f"\n{queries} queries, k = {settings.k}, {settings.threads} thread(s)")
    print(f"{'':28}{'s':>8}{'x the slowest':>14}")
    for name, seconds in took.items():
        print(f"{name:28}{seconds:8.3f}{seconds / slowest:14.2f}")


def show_memory(settings: argparse.Namespace, files: Files) -> None:
    """Print the peak memory of the rule's whole work, each time in a process of its own."""
    spawn = multiprocessing.get_context("spawn")
    print(f"\npeak memory with {settings.queries[-1]} queries, MB")
    for path, rows in ((files.quarter, settings.rows // 4), (files.stored, settings.rows)):
        with ProcessPoolExecutor(1, mp_context=spawn) as process:
            peak = process.submit(peak_megabytes, settings, path, files.similarities).result()
        print(f"{rows:>12} rows {peak:>8}")


def medians(
    settings: argparse.Namespace, files: Files, jobs: dict[str, Callable[[], object]]
) -> dict[str, float]:
    """Return the median seconds of each job; they take turns, so that disturbances hit all."""
    took: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(settings.repeats):
        for name, job in jobs.items():
            if settings.cold:
                files.leave_cache()
            started = time.perf_counter()
            job()
            took[name].append(time.perf_counter() - started)
    return {name: statistics.median(seconds) for name, seconds in took.items()}


if __name__ == "__main__":
    main()
