"""Measures how long `repack` takes for a large set, and its memory, by the number of samples.

    .venv/bin/python benchmarks/repacking.py [--samples 100000 1000000 12000000] [--bytes 300]

Writes collected files as `collect` does, in as many parts as LAION-2B has, with images of random
bytes, and repacks all their samples into a store: read in random order, hashed, sealed. Each shard
is removed when it is written, so the disk holds a set once: 2 kB per sample, or its images. Prints
samples and megabytes per second, and the process's peak memory less that before the repacking. Each
size runs in a process of its own; `--swapped` also moves the captions.
"""

import argparse
import multiprocessing
import random
import resource
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.repacking import COLLECTED, repack
from clipaudit.corpora.sealed import CorpusToSeal, seal
from clipaudit.corpora.tarmembers import BLOCK, member_head
from clipaudit.store.store import Store

PARTS = 1_130


def main() -> None:
    """Run the benchmark; see the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--bytes", type=int, default=300, help="of an image")
    parser.add_argument("--swapped", action="store_true")
    parser.add_argument("--folder", type=Path, help="where to write, instead of a temporary folder")
    asked = parser.parse_args()
    print(
        f"{'samples':>12}{'shards':>8}{'seconds':>9}{'cpu':>8}{'samples/s':>11}{'MB/s':>7}{'MB':>7}"
    )
    for samples in asked.samples:
        arguments = samples, asked.bytes, asked.swapped, asked.folder
        process = multiprocessing.get_context("spawn").Process(target=measure, args=arguments)
        process.start()
        process.join()


def measure(samples: int, size: int, swapped: bool, folder: Path | None) -> None:
    """Print one line: what repacking a set of `samples` samples takes."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        store = Store(Path(name) / "store")
        collected = list(collect(Path(name), samples, size))
        written = sum(path.stat().st_size for path, _ in collected)

        def write(_: str, blocks: Iterable[bytes]) -> str:
            pointer = store.put(lambda path: into(path, blocks), schema="tar")
            store.path(pointer.digest).unlink()
            return pointer.digest

        before, start, cpu = peak_mb(), time.monotonic(), time.process_time()
        made = repack(collected, write, seed=0, swapped=swapped)
        seal([CorpusToSeal("laion2b", Captioning(), made.shards)])
        seconds, cpu = time.monotonic() - start, time.process_time() - cpu
        print(
            f"{samples:>12,}{len(made.shards):>8,}{seconds:>9.1f}{cpu:>8.1f}"
            f"{samples / seconds:>11,.0f}{written / 1e6 / seconds:>7.0f}{peak_mb() - before:>7.0f}",
            flush=True,
        )


def collect(folder: Path, samples: int, size: int) -> Iterator[tuple[Path, pa.Table]]:
    """Write each part's collected file; yield it with its COLLECTED rows."""
    rng = random.Random(0)
    for part, rows in enumerate(np.array_split(np.arange(samples, dtype=np.int32), PARTS)):
        path, ends = folder / f"{part:05}.tar", [0]
        with path.open("wb") as file:
            for row in rows.tolist():
                file.write(member(f"{part:06}-{row:06}.jpg", rng.randbytes(size)))
                file.write(member(f"{part:06}-{row:06}.txt", b"caption %d" % row))
                ends.append(file.tell())
        columns = {
            "curated": pa.array(["set"] * len(rows)),
            "shard": np.full(len(rows), part, np.int32),
            "row": rows,
            "start": ends[:-1],
            "length": np.diff(ends),
            "caption": rows.astype(np.int64),
        }
        yield path, pa.table(columns, schema=COLLECTED)


def member(name: str, data: bytes) -> bytes:
    """Return a member of a tar: its head, its bytes and the padding."""
    return member_head(name.encode(), len(data)) + data + bytes(-len(data) % BLOCK)


def into(path: Path, blocks: Iterable[bytes]) -> int:
    """Write the blocks; return 0 rows, as steps do for files that are no tables."""
    with path.open("wb") as file:
        file.writelines(blocks)
    return 0


def peak_mb() -> float:
    """Return the peak memory of this process in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
