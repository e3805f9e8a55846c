"""Compares exact two-way nearest neighbours with other libraries, on the same vectors.

    OMP_NUM_THREADS=1 python benchmarks/nearest.py --rows 50000 --queries 5000 --k 1 10 100
    OMP_NUM_THREADS=1 python benchmarks/nearest.py --peers --kernels amx_bf16 avx512 --k 10
    python benchmarks/nearest.py --device cuda --threads 16 --rows 262144 --queries 50000 --kernels

Both sides return the most similar query of every row, and the k most similar rows of every query.
Peers (peers.py) get copies in their own types, made before the clock starts; our clock includes
all conversions from float16. The contenders take turns within one run, and medians are compared, so
that other work on the machine disturbs both equally. A sample of each contender's decisions is
compared with float64: every row's best query, every query's k-th row, and their values.

On a GPU the contenders are torch's product (cuBLAS) of the same float16 vectors with both maxima
of the rounded scores, the reference of the ratios; that product alone; the search on torch; and the
fused search, once for each of `--tilings` (rows x queries x warps). The operands of the first two
are on the GPU before their clock starts; the searches start from NumPy's vectors.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from peers import FAISS, Answer, list_peers

from clipaudit.neighbors.backends import BLOCK_QUERIES, BLOCK_QUERIES_ON_GPU, BLOCK_ROWS
from clipaudit.neighbors.cosines import cosines
from clipaudit.neighbors.interface import Queries, Resources, Search
from clipaudit.neighbors.native.library import kernels
from clipaudit.neighbors.native.search import Native
from clipaudit.neighbors.screened import Screened
from clipaudit.neighbors.screening import PRECISIONS


def main() -> None:
    """Measure and print one table."""
    settings = parse()
    torch.set_num_threads(settings.threads)
    rows, queries = make_vectors(settings.rows, settings.queries, settings.dimension, settings.kind)
    contenders = list_contenders(settings, rows, queries)
    answers: dict[tuple[str, int], Answer | None] = {}
    times: dict[tuple[str, int], list[tuple[float, float]]] = {key: [] for key in contenders}
    for _ in range(settings.repeats):
        for key, answer in contenders.items():
            cpu, wall = time.process_time(), time.perf_counter()
            answers[key] = answer()
            times[key].append((time.process_time() - cpu, time.perf_counter() - wall))
    truth = Truth(rows, queries, max(settings.k))
    show(settings, times, {key: truth.wrong(answers[key]) for key in contenders})


def parse() -> argparse.Namespace:
    """Return the settings of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--queries", type=int, default=5_000)
    parser.add_argument("--k", type=int, nargs="+", default=[1, 10, 100])
    parser.add_argument("--dimension", type=int, default=640)
    parser.add_argument("--kind", choices=["iso", "clip"], default="clip")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", nargs="*", choices=PRECISIONS, default=["fastest"])
    parser.add_argument("--kernels", nargs="*", default=kernels()[:1])
    parser.add_argument("--peers", action="store_true", help="ask all of peers.py, not faiss alone")
    parser.add_argument("--tilings", nargs="*", default=["128x128x4", "128x256x8"])
    parser.add_argument("--block-rows", type=int, default=BLOCK_ROWS)
    parser.add_argument("--block-queries", type=int, help="as in the workflow when absent")
    parser.add_argument("--gap", type=float, help="also test every pair against this gap")
    return parser.parse_args()


def make_vectors(n: int, q: int, d: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Return n unit rows and q queries in float16, a fiftieth of the queries with near copies.

    `iso` is isotropic; `clip` is like CLIP embeddings: a common mean, a spectrum that falls like a
    power law, clusters.
    """
    rng = np.random.default_rng(0)
    spectrum = np.arange(1, d + 1, dtype=np.float32) ** -0.5
    centres = rng.standard_normal((2_000, d), dtype=np.float32) * spectrum
    mean = 1.2 * rng.standard_normal(d).astype(np.float32) * spectrum

    def draw(count: int) -> np.ndarray:
        noise = rng.standard_normal((count, d), dtype=np.float32)
        if kind == "iso":
            return noise
        vectors: np.ndarray = (
            mean + centres[rng.integers(0, len(centres), count)] + 0.8 * noise * spectrum
        )
        return vectors

    rows, queries = unit(draw(n)), unit(draw(q))
    copied = rng.integers(0, len(queries), len(queries) // 50)
    near = queries[copied] + 0.3 * unit(rng.standard_normal((len(copied), d)))
    rows[rng.integers(0, len(rows), len(copied))] = unit(near)
    return rows.astype(np.float16), queries.astype(np.float16)


def unit(vectors: np.ndarray) -> np.ndarray:
    """Return the rows scaled to length 1."""
    scaled: np.ndarray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return scaled


def list_contenders(
    settings: argparse.Namespace, rows: np.ndarray, queries: np.ndarray
) -> dict[tuple[str, int], Callable[[], Answer | None]]:
    """Return the contenders, by name and k."""
    gaps = None if settings.gap is None else np.full(len(queries), settings.gap)
    addresses = np.arange(len(rows))
    usual = BLOCK_QUERIES if settings.device == "cpu" else BLOCK_QUERIES_ON_GPU
    resources = Resources(
        device=settings.device,
        block_rows=settings.block_rows,
        block_queries=settings.block_queries or usual,
        threads=settings.threads,
    )

    def by_native(k: int, kernel: str) -> Answer:
        return both(Native(sets(), k, threads=settings.threads, kernel=kernel))

    def by_torch(k: int, precision: str) -> Answer:
        search = Screened(
            sets(),
            k,
            precision=None if precision == "fastest" else precision,
            **resources,
        )
        return both(search)

    def by_fused(k: int, tiling: str) -> Answer:
        from clipaudit.neighbors.fused.launch import Tiling
        from clipaudit.neighbors.fused.search import Fused

        sizes = zip(("rows", "queries", "warps"), map(int, tiling.split("x")), strict=True)
        return both(Fused(sets(), k, tiling=Tiling(**dict(sizes)), **resources))

    def sets() -> Queries:
        return Queries(queries, (0, len(queries)), np.arange(len(queries)), gaps)

    def both(search: Search) -> Answer:
        size = settings.block_rows
        blocks = [slice(start, start + size) for start in range(0, len(rows), size)]
        best = [search.rows(addresses[block], rows[block]).query[:, 0] for block in blocks]
        return np.concatenate(best), search.top().address

    contenders: dict[tuple[str, int], Callable[[], Answer | None]] = {}
    peers = some_peers(settings, rows, queries)
    operands = [torch.from_numpy(vectors).to(settings.device) for vectors in (rows, queries)]
    for k in settings.k:
        if settings.device != "cpu":
            contenders["torch.matmul + max", k] = partial(
                by_product, *operands, settings.block_rows, k
            )
            contenders["torch.matmul alone", k] = partial(multiply, *operands, settings.block_rows)
        for name, answer in peers.items():
            contenders[name, k] = partial(answer, k)
        for name in settings.precision:
            contenders[f"torch, {name}", k] = partial(by_torch, k, name)
        for name in settings.kernels:
            contenders[f"native, {name}", k] = partial(by_native, k, name)
        if settings.device != "cpu":
            for name in settings.tilings:
                contenders[f"fused, {name}", k] = partial(by_fused, k, name)
    return contenders


def some_peers(
    settings: argparse.Namespace, rows: np.ndarray, queries: np.ndarray
) -> dict[str, Callable[[int], Answer]]:
    """Return the peers that were asked for: faiss on a CPU, none on a GPU, or all."""
    if settings.device != "cpu" and not settings.peers:
        return {}
    peers = list_peers(rows, queries, settings.threads)
    return peers if settings.peers else {FAISS: peers[FAISS]}


def by_product(rows: torch.Tensor, queries: torch.Tensor, block_rows: int, k: int) -> Answer:
    """Answer by the scores rounded to float16: not exact."""
    best, q = [], len(queries)
    top, address = queries.new_empty(0, q), torch.empty(0, q, dtype=torch.long, device=rows.device)
    for number, block in enumerate(rows.split(block_rows)):
        scores = block @ queries.T
        best.append(scores.argmax(1))
        highest, row = scores.topk(min(k, len(block)), dim=0)
        top, address = torch.cat([top, highest]), torch.cat([address, row + number * block_rows])
        top, kept = top.topk(min(k, len(top)), dim=0)
        address = address.gather(0, kept)
    return torch.cat(best).cpu().numpy(), address.T.cpu().numpy()


def multiply(rows: torch.Tensor, queries: torch.Tensor, block_rows: int) -> None:
    """Compute all scores, and read none."""
    scores = rows.new_empty(min(block_rows, len(rows)), len(queries))
    for block in rows.split(block_rows):
        torch.mm(block, queries.T, out=scores[: len(block)])
    torch.cuda.synchronize()


class Truth:
    """The decisions for a sample of rows and of queries, by exact arithmetic."""

    def __init__(self, rows: np.ndarray, queries: np.ndarray, k: int) -> None:
        """Draw the sample, and decide."""
        rng = np.random.default_rng(1)
        self._rows = rng.choice(len(rows), min(len(rows), 2_000), replace=False)
        self._queries = rng.choice(len(queries), min(len(queries), 200), replace=False)
        self._best = cosines(rows[self._rows], queries).argmax(axis=1)
        similarity = cosines(queries[self._queries], rows)
        self._top = np.argsort(-similarity, axis=1, kind="stable")[:, :k]

    def wrong(self, answer: Answer | None) -> str:
        """Return how many of the decisions differ, and of how many."""
        if answer is None:
            return "makes none"
        best, top = answer
        expected = self._top[:, : top.shape[1]]
        found = top[self._queries][:, : expected.shape[1]]
        differing = int((self._best != best[self._rows]).sum() + (expected != found).sum())
        return f"{differing} / {self._best.size + expected.size}"


def show(
    settings: argparse.Namespace,
    times: dict[tuple[str, int], list[tuple[float, float]]],
    decisions: dict[tuple[str, int], str],
) -> None:
    """Print the medians and their ratios to the first contender with the same k."""
    print(
        f"{settings.rows} rows x {settings.queries} queries x {settings.dimension}, "
        f"{settings.kind}, {settings.threads} thread(s), {settings.repeats} repeats"
    )
    print(f"{'':34}{'k':>5}{'CPU s':>9}{'wall s':>9}{'CPU x':>8}{'wall x':>8}   wrong decisions")
    first: dict[int, tuple[float, float]] = {}
    for (name, k), spans in times.items():
        cpu, wall = (statistics.median(column) for column in zip(*spans, strict=True))
        peer_cpu, peer_wall = first.setdefault(k, (cpu, wall))
        ratios = f"{peer_cpu / cpu:8.1f}{peer_wall / wall:8.2f}"
        print(f"{name:34}{k:5}{cpu:9.3f}{wall:9.3f}{ratios}   {decisions[name, k]}")


if __name__ == "__main__":
    main()
