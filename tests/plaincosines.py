"""Cosines of float16 vectors by the definition: the reference for the searches."""

import numpy as np


def plain_cosines(left, right):
    """Return dot / sqrt(|x|^2 |y|^2) for each pair of rows; 0 where a vector is zero."""
    left, right = left.astype(np.float64), right.astype(np.float64)
    lengths = np.sqrt((left**2).sum(axis=1)[:, None] * (right**2).sum(axis=1))
    dots = left @ right.T
    return np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0) + 0.0
