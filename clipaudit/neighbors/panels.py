"""Holds the operands of a screened search on their device: panels of queries, blocks of rows."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float16, Float64, Int64
from torch import Tensor

from clipaudit.neighbors.cosines import LEAST
from clipaudit.neighbors.interface import Queries
from clipaudit.neighbors.screening import STRIP_ROWS, Precision, error_bound, rounded
from clipaudit.neighbors.tiles import LANES, ROW_MULTIPLE


@dataclass(frozen=True)
class Stored:
    """Vectors as stored, and their exact squared lengths."""

    vectors: Float16[Tensor, "n d"]
    squares: Float64[Tensor, " n"]

    def __getitem__(self, which: slice | Int64[Tensor, " m"]) -> "Stored":
        """Return some of them."""
        return Stored(self.vectors[which], self.squares[which])


@dataclass(frozen=True)
class Panel:
    """Neighbouring queries of one set, `start` to `stop`, filled up with copies of the last."""

    start: int
    stop: int
    low: Float[Tensor, "v d"]  # in screening precision
    gaps: Float64[Tensor, " v"] | None  # None if there is no gap to test


@dataclass(frozen=True)
class Group:
    """One test set: its panels, and its lowest query with gap -inf, which every sample exceeds."""

    panels: list[Panel]
    free: int | None


@dataclass(frozen=True)
class Block:
    """Train rows, filled up with copies of the last of the n real ones."""

    stored: Stored
    low: Float[Tensor, "b d"]  # in screening precision
    addresses: Int64[Tensor, " n"]
    bound: float  # how far a screened similarity can be from the exact one

    @property
    def n(self) -> int:
        """Return the number of real rows."""
        return len(self.addresses)

    def norms(self) -> Float64[np.ndarray, " n"]:
        """Return the lengths of the real rows; inf or NaN if an element is not finite."""
        norms: np.ndarray = self.stored.squares[: self.n].sqrt().cpu().numpy()
        return norms


class Operands:
    """All queries on the device, exactly and in screening precision, cut into panels."""

    def __init__(
        self, queries: Queries, precision: Precision, device: str, block_queries: int
    ) -> None:
        """Copy the queries to the device."""
        self.stored = stored(load(queries.vectors, device))
        self.gaps = None if queries.gaps is None else torch.from_numpy(queries.gaps).to(device)
        self._rounded = rounded(self.stored.vectors, self.stored.squares, precision)
        self._precision = precision
        self.groups = [self._group(start, stop, block_queries) for start, stop in queries.sets()]

    def block(
        self,
        addresses: Int64[np.ndarray, " n"],
        vectors: Float16[np.ndarray, "n d"],
    ) -> Block:
        """Return one or more train rows, ready to be multiplied."""
        device = self.stored.vectors.device
        exact = stored(load(vectors, str(device), ROW_MULTIPLE))
        low = rounded(exact.vectors, exact.squares, self._precision)
        on_device = torch.from_numpy(addresses.copy()).to(device)
        return Block(
            exact, low.vectors, on_device, error_bound(low, self._rounded, self._precision)
        )

    @property
    def low(self) -> Float[Tensor, "q d"]:
        """Return all queries in screening precision."""
        return self._rounded.vectors

    def _group(self, start: int, stop: int, block_queries: int) -> Group:
        free = None
        if self.gaps is not None and bool(torch.isneginf(self.gaps[start:stop]).any()):
            free = start + int(torch.isneginf(self.gaps[start:stop]).nonzero()[0, 0])
        tested = self.gaps if free is None else None
        panels = [
            self._panel(first, min(first + block_queries, stop), tested)
            for first in range(start, stop, block_queries)
        ]
        return Group(panels, free)

    def _panel(self, start: int, stop: int, gaps: Float64[Tensor, " q"] | None) -> Panel:
        width = -(-(stop - start) // LANES) * LANES
        index = torch.arange(start, start + width, device=self.low.device).clamp_(max=stop - 1)
        return Panel(start, stop, self.low[index], None if gaps is None else gaps[index])


def load(
    vectors: Float16[np.ndarray, "n d"], device: str, multiple: int = 1
) -> Float16[Tensor, "b d"]:
    """Copy vectors to the device, repeating the last until their number is a multiple."""
    n, d = vectors.shape
    pinned = torch.device(device).type == "cuda"  # GPUs read pinned memory faster
    shape = -(-n // multiple) * multiple, d
    loaded = torch.empty(shape, dtype=torch.float16, pin_memory=pinned)
    array = loaded.numpy()  # NumPy reads Arrow's read-only memory, torch warns at it
    array[:n] = vectors
    array[n:] = vectors[-1:]
    return loaded.to(device, non_blocking=pinned)


def stored(vectors: Float16[Tensor, "n d"]) -> Stored:
    """Return vectors with their squared lengths."""
    squares = torch.empty(len(vectors), dtype=torch.float64, device=vectors.device)
    for start in range(0, len(vectors), STRIP_ROWS):
        part = slice(start, start + STRIP_ROWS)
        squares[part] = vectors[part].float().square().double().sum(1)
    return Stored(vectors, squares)


def cosines(left: Stored, right: Stored) -> Float64[Tensor, "n m"]:
    """Return the similarities of all pairs."""
    product = left.vectors.double() @ right.vectors.double().T
    return _over_lengths(product, left.squares[:, None], right.squares)


def pair_cosines(
    left: Stored, right: Stored, rows: Int64[Tensor, " m"], columns: Int64[Tensor, " m"]
) -> Float64[Tensor, " m"]:
    """Return the similarities of pairs; products fit float32, and their sums float64."""
    device, dimension = left.vectors.device, left.vectors.shape[1]
    at_once = 64 if device.type == "cpu" else 65_536  # 64 pairs stay in the cache
    ones = torch.ones(dimension, dtype=torch.float64, device=device)
    out = torch.empty(len(rows), dtype=torch.float64, device=device)
    for start in range(0, len(rows), at_once):
        part = slice(start, start + at_once)
        product = left.vectors.index_select(0, rows[part]).float()
        product *= right.vectors.index_select(0, columns[part]).float()
        torch.mv(product.double(), ones, out=out[part])
    return _over_lengths(out, left.squares[rows], right.squares[columns])


def _over_lengths(
    products: Float64[Tensor, "*shape"],
    left: Float64[Tensor, "*#shape"],
    right: Float64[Tensor, "*#shape"],
) -> Float64[Tensor, "*shape"]:
    """Divide exact products by the lengths, in place, given their squares."""
    lengths = _roots(left * right).clamp_(min=LEAST)
    return products.div_(lengths).add_(0.0)  # -0.0 becomes 0.0


def _roots(squares: Float64[Tensor, "*shape"]) -> Float64[Tensor, "*shape"]:
    """Take square roots in place, rounded as in IEEE 754, unlike MKL's (torch's on CPUs)."""
    if squares.device.type == "cpu":
        np.sqrt(squares.numpy(), out=squares.numpy())
        return squares
    return squares.sqrt_()
