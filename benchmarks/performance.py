"""Measures the search beside other libraries, for the tables of docs/performance.md.

    OMP_NUM_THREADS=2 .venv/bin/python benchmarks/performance.py [--markdown docs/performance.md]

Contenders take turns within one run, on the same vectors, and medians are compared, so that other
work on the machine disturbs all equally. Times are one thread's CPU time, except in the last table.
usearch and ScaNN take part if they are installed. It takes a quarter of an hour.
"""

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from nearest import Truth, make_vectors
from peers import FAISS, Answer, list_peers, product_alone
from scale import write_between_marks

from clipaudit.neighbors.interface import Queries
from clipaudit.neighbors.native.library import kernels
from clipaudit.neighbors.native.search import Native, nearest_earlier

T = TypeVar("T")
DIMENSION = 640
SHAPES = ((196_608, 5_000, 3), (50_000, 50_000, 1))  # rows, queries, and turns
KINDS = {"clip": "CLIP-like", "iso": "isotropic"}
TURNS = 3  # in all other tables
ALL_PEERS = (20_000, 2_000, 10)  # rows, queries and k: some take minutes for more
CLUSTER = 8_192
SCALING = [(n, q) for n in (25_000, 50_000, 100_000, 200_000) for q in (1_000, 5_000)]


def main() -> None:
    """Measure, and print the tables or write them into a page."""
    asked = parse()
    tables = [
        machine(),
        *(search_table(n, q, turns, asked) for n, q, turns in asked.shapes),
        peer_table(asked),
        cluster_table(asked),
        scaling_table(asked),
    ]
    text = "\n\n".join(tables)
    if asked.markdown:
        write_between_marks(asked.markdown, text)
    else:
        print(text)


def parse() -> argparse.Namespace:
    """Return the settings of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--best", nargs="*", default=kernels()[:1], help="asked in all tables")
    parser.add_argument("--kernels", nargs="*", default=kernels(), help="asked in small ones")
    parser.add_argument("--shapes", type=_shape, nargs="*", default=SHAPES, metavar="NxQxTURNS")
    parser.add_argument("--markdown", type=Path, help="page whose measured part is replaced")
    return parser.parse_args()


def machine(names: Sequence[str] = ("faiss-cpu", "torch", "numpy")) -> str:
    """Return the machine of the figures, with the versions of some libraries."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    name = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    libraries = ", ".join(f"{each} {version(each)}" for each in names)
    return f"{name}, {os.cpu_count()} cores; Python {platform.python_version()}, {libraries}."


def search_table(n: int, q: int, turns: int, asked: argparse.Namespace) -> str:
    """Return the table of one shape: both kinds of vectors, k = 1, 10 and 100."""
    lines = [f"{n:,} rows x {q:,} queries x {DIMENSION}, one thread, turns: {turns}", ""]
    lines += head("vectors", "k", FAISS, "product alone", *asked.best, "wrong decisions")
    for kind, label in KINDS.items():
        rows, queries = make_vectors(n, q, DIMENSION, kind)
        peers = list_peers(rows, queries, threads=1)
        truth = Truth(rows, queries, k=100)
        for k in (1, 10, 100):
            contenders: dict[str, Callable[[], object]] = {FAISS: partial(peers[FAISS], k)}
            contenders["product"] = partial(product_alone, rows, queries)
            ours = {name: partial(_ours, rows, queries, k, name) for name in asked.best}
            seconds, _ = take_turns(contenders | ours, turns)
            cells = [label, str(k), f"{seconds[FAISS]:.2f} s", f"{seconds['product']:.2f} s"]
            cells += [_against(seconds, name) for name in ours]
            lines.append(row(*cells, truth.wrong(ours[asked.best[0]]())))
    return "\n".join(lines)


def peer_table(asked: argparse.Namespace) -> str:
    """Return the table of all libraries, and of all our kernels, on one shape."""
    n, q, k = ALL_PEERS
    rows, queries = make_vectors(n, q, DIMENSION, "clip")
    contenders = {name: partial(peer, k) for name, peer in list_peers(rows, queries, 1).items()}
    for name in asked.kernels:
        contenders[f"clipaudit, {name}"] = partial(_ours, rows, queries, k, name)
    seconds, answers = take_turns(contenders, TURNS)
    truth = Truth(rows, queries, k)
    lines = [f"{n:,} rows x {q:,} queries x {DIMENSION}, CLIP-like, k = {k}, one thread:", ""]
    lines += head("", "seconds", "times as fast as faiss", "wrong decisions")
    for name in contenders:
        ratio = f"{seconds[FAISS] / seconds[name]:.1f}"
        lines.append(row(name, f"{seconds[name]:.3f}", ratio, truth.wrong(answers[name])))
    return "\n".join(lines)


def cluster_table(asked: argparse.Namespace) -> str:
    """Return the table of SemDeDup's step within one cluster."""
    vectors, _ = make_vectors(CLUSTER, 64, DIMENSION, "clip")
    wide = torch.from_numpy(vectors).float()

    def published() -> None:
        torch.triu(wide @ wide.T, diagonal=1).max(dim=0)

    contenders: dict[str, Callable[[], object]] = {"published": published}
    for name in asked.kernels:
        contenders[name] = partial(nearest_earlier, vectors, threads=1, kernel=name)
    torch.set_num_threads(1)
    seconds, _ = take_turns(contenders, 3 * TURNS)
    lines = [f"Within a cluster of {CLUSTER:,} vectors, one thread:", ""]
    lines += head("", "ms", "times as fast")
    for name in contenders:
        label = "SemDeDup's code: float32, triu, max" if name == "published" else name
        ratio = f"{seconds['published'] / seconds[name]:.1f}"
        lines.append(row(label, f"{1e3 * seconds[name]:.0f}", ratio))
    return "\n".join(lines)


def scaling_table(asked: argparse.Namespace) -> str:
    """Return how time grows with rows, queries and threads, on the wall clock."""
    kernel, processors = asked.best[0], os.cpu_count() or 1
    lines = [f"{kernel}, k = 10, CLIP-like, wall time; of a product, the share of its rate:", ""]
    lines += head("rows", "queries", "1 thread", "TFLOP/s", "of a product", f"{processors} threads")
    for n, q in SCALING:
        rows, queries = make_vectors(n, q, DIMENSION, "clip")
        torch.set_num_threads(1)
        contenders: dict[str, Callable[[], object]] = {
            "one": partial(_ours, rows, queries, 10, kernel),
            "all": partial(_ours, rows, queries, 10, kernel, processors),
            "product": partial(product_alone, rows, queries),
        }
        seconds, _ = take_turns(contenders, TURNS, clock=time.perf_counter)
        rate = 2 * n * q * DIMENSION / seconds["one"] / 1e12
        share = f"{seconds['product'] / seconds['one']:.2f}"
        gain = f"{seconds['one'] / seconds['all']:.2f}"
        cells = f"{n:,}", f"{q:,}", f"{seconds['one']:.3f} s", f"{rate:.2f}", share, gain
        lines.append(row(*cells))
    return "\n".join(lines)


def take_turns(
    contenders: Mapping[str, Callable[[], T]],
    turns: int,
    clock: Callable[[], float] = time.process_time,
) -> tuple[dict[str, float], dict[str, T]]:
    """Return the median seconds of each, and its last answer."""
    spans: dict[str, list[float]] = {name: [] for name in contenders}
    answers = {}
    for _ in range(turns):
        for name, answer in contenders.items():
            start = clock()
            answers[name] = answer()
            spans[name].append(clock() - start)
    return {name: statistics.median(each) for name, each in spans.items()}, answers


def _ours(rows: np.ndarray, queries: np.ndarray, k: int, kernel: str, threads: int = 1) -> Answer:
    asked = Queries(queries, (0, len(queries)), np.arange(len(queries)))
    search = Native(asked, k, threads=threads, kernel=kernel)
    return search.rows(np.arange(len(rows)), rows).query[:, 0], search.top().address


def _against(seconds: Mapping[str, float], name: str) -> str:
    return f"{seconds[name]:.2f} s, **{seconds[FAISS] / seconds[name]:.1f}x**"


def _shape(text: str) -> tuple[int, int, int]:
    rows, queries, turns = map(int, text.split("x"))
    return rows, queries, turns


def head(*titles: str) -> Iterator[str]:
    """Yield the first lines of a Markdown table; columns with a title have numbers."""
    yield row(*titles)
    yield row(*("---:" if title else "---" for title in titles))


def row(*cells: str) -> str:
    """Return a line of a Markdown table."""
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
