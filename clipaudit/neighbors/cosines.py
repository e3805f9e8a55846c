"""Computes the similarity of stored vectors: the cosine, by exact sums and three roundings."""

import numpy as np
from jaxtyping import Float16, Float64

LEAST = 2.0**-60  # below the length of every float16 vector except zeros
_STRIP_ROWS = 4_096  # rows widened at once


def squared_norms(vectors: Float16[np.ndarray, "n d"]) -> Float64[np.ndarray, " n"]:
    """Return each row's exact squared length."""
    squares = np.empty(len(vectors))
    for start in range(0, len(vectors), _STRIP_ROWS):
        wide = vectors[start : start + _STRIP_ROWS].astype(np.float64)
        squares[start : start + _STRIP_ROWS] = np.einsum("nd,nd->n", wide, wide)
    return squares


def cosines(
    rows: Float16[np.ndarray, "n d"], columns: Float16[np.ndarray, "m d"]
) -> Float64[np.ndarray, "n m"]:
    """Return the similarity of each row and column: x.y / sqrt(|x|^2 |y|^2).

    It is 1 for equal vectors and at most 1 + 2^-51 for any; 0 for one of zeros. The sums are
    exact; the product below the root, the root and the quotient are rounded as in IEEE 754.

    >>> cosines(np.array([[3, 4], [0, 0]], "f2"), np.array([[3, 4], [4, -3]], "f2")).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    product: np.ndarray = rows.astype(np.float64) @ columns.astype(np.float64).T
    lengths = np.sqrt(np.multiply.outer(squared_norms(rows), squared_norms(columns)))
    product /= np.maximum(lengths, LEAST)
    product += 0.0  # -0.0 becomes 0.0
    return product


def paired_cosines(
    rows: Float16[np.ndarray, "n d"], others: Float16[np.ndarray, "n d"]
) -> Float64[np.ndarray, " n"]:
    """Return the similarity of each row and the other array's same row, as `cosines` does.

    >>> paired_cosines(np.array([[3, 4], [0, 0]], "f2"), np.array([[4, -3], [4, 3]], "f2")).tolist()
    [0.0, 0.0]
    """
    similarity = np.empty(len(rows))
    for start in range(0, len(rows), _STRIP_ROWS):
        strip = slice(start, start + _STRIP_ROWS)
        wide = rows[strip].astype(np.float64)
        similarity[strip] = np.einsum("nd,nd->n", wide, others[strip].astype(np.float64))
    lengths = np.sqrt(squared_norms(rows) * squared_norms(others))
    similarity /= np.maximum(lengths, LEAST)
    similarity += 0.0  # -0.0 becomes 0.0
    return similarity
