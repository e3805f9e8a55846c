"""Defines the inputs and outputs of a search, the same for every backend.

The similarity of two stored float16 vectors x and y is their cosine, x.y / sqrt(|x|^2 |y|^2): a
stored vector has length 1 except for its rounding to float16, which would show in the fourth
decimal. A product of two float16 numbers is a multiple of 2^-48, so while ||x|| ||y|| < 32 float64
holds every partial sum exactly, in any order. A product, a root and a quotient follow, each rounded
as in IEEE 754. So the similarity is one well-defined number for every machine, block size, thread
count and backend, it is 1 for equal vectors, and pairs with equal sums are ties. `Queries` and
`check_norms` refuse vectors for which this does not hold.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, TypedDict, runtime_checkable

import numpy as np
from jaxtyping import Float, Float16, Float64, Int64

from clipaudit.corpora.addresses import shard_row
from clipaudit.errors import InputError

NORM_LIMIT = 4.0  # 4 * 4 < 32, see above; stored embeddings have norm 1
_MOST = 1 + 2.0**-51  # a similarity, see `cosines`
_STRIP_ROWS = 4_096  # rows widened at once


class Resources(TypedDict, total=False):
    """How a search runs, which does not affect its results: see `backends.search`."""

    device: str
    block_rows: int
    block_queries: int
    threads: int | None


@dataclass(frozen=True, eq=False)
class Queries:
    """The test samples of g test sets side by side: set i is `starts[i]` to `starts[i + 1]`.

    `starts` has g + 1 entries, rising from 0 to q; a set may be empty. `addresses` rise strictly
    within a set, so that the lowest query of a set is the one with the lowest address. `gaps[t]`
    is the similarity above which a sample crosses query t's gap; every sample crosses -inf.
    """

    vectors: Float16[np.ndarray, "q d"]
    starts: tuple[int, ...]
    addresses: Int64[np.ndarray, " q"]
    gaps: Float64[np.ndarray, " q"] | None = None

    def __post_init__(self) -> None:
        """Raise InputError for values that would make a result wrong or depend on the backend."""
        check_vectors(self.vectors, "queries")
        q = len(self.vectors)
        if not self.starts or self.starts[0] != 0 or self.starts[-1] != q:
            raise InputError(
                f"queries: the sets' boundaries {self.starts} do not run from 0 to the number of "
                f"vectors, {q}; give one more boundary than there are sets"
            )
        assert len(self.addresses) == q
        assert self.gaps is None or len(self.gaps) == q
        for start, stop in self.sets():
            if start > stop or np.any(np.diff(self.addresses[start:stop]) <= 0):
                raise InputError(
                    f"queries {start} to {stop}: the addresses of a set must rise strictly; "
                    "sort them by (shard, row)"
                )
        if self.gaps is not None:
            _check_gaps(self.gaps)
        check_norms(vector_norms(self.vectors), self.addresses, "test")

    @property
    def dimension(self) -> int:
        """Return the length d of every vector."""
        return int(self.vectors.shape[1])

    def sets(self) -> Iterator[tuple[int, int]]:
        """Yield each set's first query and the one after its last."""
        yield from zip(self.starts, self.starts[1:], strict=False)


@dataclass(frozen=True, eq=False)
class RowBest:
    """The row direction for a block of n train samples and g test sets.

    `query` is the most similar query of the set, the lowest in a tie (-1, and similarity -inf, if
    the set is empty). `excess_query` is the query t with the largest similarity - gap_t among those
    with a similarity strictly above their gap, the lowest in a tie, and `excess_similarity` the
    similarity to it (-1 and -inf if there is none or there are no gaps).
    """

    similarity: Float64[np.ndarray, "n g"]
    query: Int64[np.ndarray, "n g"]
    excess_similarity: Float64[np.ndarray, "n g"]
    excess_query: Int64[np.ndarray, "n g"]


@dataclass(frozen=True, eq=False)
class TopK:
    """The k most similar train samples of each query, by falling similarity, then rising address.

    With fewer than k train samples the rest is similarity -inf and address -1.
    """

    similarity: Float64[np.ndarray, "q k"]
    address: Int64[np.ndarray, "q k"]


@runtime_checkable
class Search(Protocol):
    """One pass over train samples, in blocks of any size and order; see `backends.search`."""

    def rows(
        self, addresses: Int64[np.ndarray, " n"], block: Float16[np.ndarray, "n d"]
    ) -> RowBest:
        """Return the block's nearest queries, and remember the block for `top`.

        A refused block is not remembered.
        """

    def top(self) -> TopK:
        """Return each query's nearest train samples among all blocks so far."""


def check_vectors(vectors: np.ndarray, place: str, dimension: int | None = None) -> None:
    """Raise InputError unless this is a float16 matrix of this dimension (None: any)."""
    if vectors.ndim != 2 or vectors.dtype != np.float16:
        raise InputError(
            f"{place}: embeddings of type {vectors.dtype} and shape {vectors.shape}; "
            "stored embeddings are a float16 matrix, one sample per row"
        )
    if dimension is not None and vectors.shape[1] != dimension:
        raise InputError(
            f"{place}: embeddings of dimension {vectors.shape[1]} against queries of dimension "
            f"{dimension}; embed both with the same encoder"
        )


def _check_gaps(gaps: Float64[np.ndarray, " q"]) -> None:
    """Raise InputError for gaps that are not similarities; -inf means a query without a gap."""
    wrong = ~((np.abs(gaps) <= _MOST) | (gaps == -np.inf))
    if wrong.any():
        query = int(wrong.argmax())
        raise InputError(
            f"query {query}: its gap {gaps[query]} is not a similarity, which is at most 1 in "
            "magnitude; a query without a gap has -inf"
        )


def vector_norms(vectors: Float16[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
    """Return each row's Euclidean length; inf or NaN if an element is not finite."""
    norms = np.empty(len(vectors), dtype=np.float32)
    for start in range(0, len(vectors), _STRIP_ROWS):
        part = slice(start, start + _STRIP_ROWS)
        norms[part] = np.linalg.norm(vectors[part].astype(np.float32), axis=1)
    return norms


def check_norms(
    norms: Float[np.ndarray, " n"], addresses: Int64[np.ndarray, " n"], kind: str
) -> None:
    """Raise InputError for vectors that are too long for exact sums, or not finite."""
    if len(norms) and not norms.max() <= NORM_LIMIT:  # also catches NaN
        index = int(np.argmax(~(norms <= NORM_LIMIT)))
        shard, row = shard_row(int(addresses[index]))
        raise InputError(
            f"{kind} sample (shard {shard}, row {row}): its embedding has norm {norms[index]:.4g}; "
            f"similarities are exact only for finite vectors of norm at most {NORM_LIMIT:g}, "
            "so normalise the embeddings or drop this sample"
        )
