"""95 % confidence intervals over both the training seeds and the test images.

Another run would draw other seeds, and other images could be the test set, so both are noise. The
images' part is the interval that `intervals` gives for the mean over seeds, even if all seeds
agree. The seeds' part is the variance of the values by seed; `margin` adds both, and covers 94 % or
more. Resampling two to five seeds together with the images, a hierarchical bootstrap, gives
intervals that are too narrow: if only seeds vary, it covers 60, 75 and 85 % for two, three and five
seeds. If single images change between seeds, that noise is in both parts, so intervals are then
too wide.

With one seed the seeds' part is unknown, and the intervals are those of `intervals`.
"""

from collections.abc import Callable, Sequence
from math import sqrt

import duckdb
import numpy as np
import pyarrow as pa
from jaxtyping import Float64, Int64

from clipaudit.evaluation.student import DECIMALS, NORMAL, margin, student_quantile, unseen_share
from clipaudit.reports.intervals import beta_bounds, change_bounds, register_structs, structs

_BOUNDS = ("low", "high")


def accuracy_over_seeds(
    correct: Int64[np.ndarray, " seeds"], images: int
) -> Float64[np.ndarray, " 2"]:
    """Return the bounds (low, high) of the mean accuracy over seeds, within 0 and 1.

    `correct` counts the right answers under each seed, on the same images; their order does not
    matter. There is at least one seed and one image.

    >>> accuracy_over_seeds(np.array([80, 80]), 100).round(4).tolist()
    [0.7082, 0.8733]
    >>> accuracy_over_seeds(np.array([78, 82]), 100).round(4).tolist()
    [0.5459, 1.0]
    """
    value = float(correct.mean()) / images
    bounds = beta_bounds(np.array([correct.sum() / len(correct)]), np.array([images]))[0]
    return _widened(value, bounds, np.sort(correct) / images, least=0.0, most=1.0)


def change_over_seeds(
    right: Int64[np.ndarray, " seeds"],
    was_right: Int64[np.ndarray, " seeds"],
    kinds: Int64[np.ndarray, "kinds 3"],
    chosen_of: int = 1,
) -> Float64[np.ndarray, " 2"]:
    """Return the bounds (low, high) of the relative change of the mean accuracy over seeds.

    `right` and `was_right` count the right answers of the model and of its baseline under each
    seed, on the same images. `kinds` groups the images: the number of seeds under which the model
    is right, the number under which the baseline is, and the number of such images; each pair at
    most once, in any order. The change was chosen among `chosen_of` changes, such as those of
    several test sets: bounds are then Bonferroni's. They are NaN if a draw of images has no right
    answer of the baseline, as with one seed.

    >>> kinds = np.array([[1, 1, 40], [0, 1, 10], [1, 0, 5], [0, 0, 45]])
    >>> change_over_seeds(np.array([45]), np.array([50]), kinds).round(2).tolist()
    [-0.24, 0.06]
    """
    seeds = len(right)
    grid = np.zeros((seeds + 1, seeds + 1), dtype=np.int64)  # by was_right and right, from above
    grid[seeds - kinds[:, 1], seeds - kinds[:, 0]] = kinds[:, 2]
    of_baseline, of_model = (seeds - each.ravel() for each in np.indices(grid.shape))
    bounds = change_bounds(grid.ravel(), of_model, of_baseline, chosen_of)
    if np.isnan(bounds).any():
        return bounds
    ratio = right.sum() / was_right.sum()
    # the delta method: the deviation of each seed's model from the ratio times its baseline
    off = np.sort(right - ratio * was_right) / was_right.mean()
    return _widened(float(ratio) - 1, bounds, off, least=-1.0, chosen_of=chosen_of)


def difference_over_seeds(
    by_seed: Float64[np.ndarray, " seeds"], variance: float, images: int
) -> Float64[np.ndarray, " 2"]:
    """Return the bounds (low, high) of the mean difference of two accuracies over seeds.

    `variance` is that of the mean over at least `images` images: the variance of single images'
    contributions to the mean over seeds, divided by their number. There is at least one seed.

    >>> difference_over_seeds(np.array([0.1, 0.1]), 0.0004, 300).round(4).tolist()
    [0.0608, 0.1392]
    """
    over_images = max(NORMAL * sqrt(variance), unseen_share(images))
    value = float(by_seed.mean())
    bounds = np.array([value - over_images, value + over_images])
    return _widened(value, bounds, np.sort(by_seed), least=-1.0, most=1.0).clip(-1, 1)


def mean_over_seeds(
    by_seed: Float64[np.ndarray, " seeds"], variance: float, things: int
) -> Float64[np.ndarray, " 2"]:
    """Return the bounds (low, high) of a mean over seeds of values measured on several things.

    As `difference_over_seeds`, for values on any scale, such as cosines: the part of the things is
    Student's interval, so there is no least width. NaN for one thing, whose variance is unknown.

    >>> mean_over_seeds(np.array([0.1]), 0.0004, 30).round(4).tolist()
    [0.0591, 0.1409]
    """
    if things < 2:
        return np.full(2, np.nan)
    value = float(by_seed.mean())
    over_things = student_quantile(things - 1) * sqrt(variance)
    bounds = np.array([value - over_things, value + over_things])
    return _widened(value, bounds, np.sort(by_seed), least=-np.inf)


def _widened(
    value: float,
    bounds: Float64[np.ndarray, " 2"],
    by_seed: Float64[np.ndarray, " seeds"],
    *,
    least: float,
    most: float = np.inf,
    chosen_of: int = 1,
) -> Float64[np.ndarray, " 2"]:
    """Return bounds over images, widened by the variance of the values by seed."""
    seeds = len(by_seed)
    if seeds == 1:
        return bounds
    variance = float(by_seed.var(ddof=1)) / seeds
    below, above = (
        margin(max(each, 0.0), variance, seeds - 1, chosen_of)
        for each in (value - bounds[0], bounds[1] - value)
    )
    return np.array([value - below, value + above]).clip(least, most).round(DECIMALS)


def register_over_seeds(connection: duckdb.DuckDBPyConnection) -> None:
    """Register this module's SQL functions, which return structs (low, high) or null.

    accuracy_over_seeds(correct by seed, images); change_over_seeds(right by seed, right by seed of
    the baseline, three lists of one length, right and baseline's right by kind and images of it,
    and chosen_of); difference_over_seeds(difference by seed, variance over images, images);
    mean_over_seeds(value by seed, variance over things, things).
    """

    def accuracy(correct: pa.ChunkedArray, images: pa.ChunkedArray) -> pa.Array:
        rows = zip(correct.to_pylist(), images.to_pylist(), strict=True)
        return _structs([accuracy_over_seeds(np.array(each), count) for each, count in rows])

    def change(
        right: pa.ChunkedArray,
        was_right: pa.ChunkedArray,
        kind_right: pa.ChunkedArray,
        kind_was_right: pa.ChunkedArray,
        kind_images: pa.ChunkedArray,
        chosen_of: pa.ChunkedArray,
    ) -> pa.Array:
        columns = (right, was_right, kind_right, kind_was_right, kind_images, chosen_of)
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        return _structs(
            [
                change_over_seeds(np.array(right), np.array(was), np.array(kinds).T, count)
                for right, was, *kinds, count in rows
            ]
        )

    def difference(
        by_seed: pa.ChunkedArray, variance: pa.ChunkedArray, images: pa.ChunkedArray
    ) -> pa.Array:
        return _bounded(difference_over_seeds, by_seed, variance, images)

    def mean(
        by_seed: pa.ChunkedArray, variance: pa.ChunkedArray, things: pa.ChunkedArray
    ) -> pa.Array:
        return _bounded(mean_over_seeds, by_seed, variance, things)

    differences = ["double[]", "double", "bigint"]
    register_structs(connection, "difference_over_seeds", difference, differences, _BOUNDS)
    register_structs(connection, "mean_over_seeds", mean, differences, _BOUNDS)
    lists = ["bigint[]"]
    register_structs(connection, "accuracy_over_seeds", accuracy, [*lists, "bigint"], _BOUNDS)
    register_structs(connection, "change_over_seeds", change, [*lists * 5, "bigint"], _BOUNDS)


def _bounded(
    interval: Callable[[Float64[np.ndarray, " seeds"], float, int], Float64[np.ndarray, " 2"]],
    *columns: pa.ChunkedArray,
) -> pa.Array:
    """Return the bounds of each row; null if one of its columns is null."""
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    return _structs(
        [
            np.full(2, np.nan) if None in row else interval(np.array(row[0]), *row[1:])
            for row in rows
        ]
    )


def _structs(bounds: Sequence[Float64[np.ndarray, " 2"]]) -> pa.Array:
    return structs(np.array(bounds, dtype=np.float64).reshape(len(bounds), 2), _BOUNDS)
