"""Maps the colours of one canvas to those of another with the same content in other colours."""

import itertools

import cv2
import numpy as np
from jaxtyping import Bool, Float32, Float64

from clipaudit.copies.structure import Windows

OTHER_COLOUR = 20.0  # levels, in the channel that differs most: re-encoding stays below
WRONG_COLOUR = 40.0  # levels: not even after mapping the colours
PIXELS = 1000  # from which a map is fitted
ROUNDS = 3  # of weighing pixels anew by how far off they were
OFF = 16.0  # levels at which a pixel's weight halves: overlaid parts should not count
GAINS = 0.4, 2.5  # that brightness and contrast may change by
MOVED = 4.0  # levels by which a change of contrast moves white and black, at least
LUMA = np.array([0.299, 0.587, 0.114])
LEAST_POWER = 1e-9  # squared levels: keeps the fit of a black image from dividing by nothing
STIFFNESS = 0.5  # squared levels a pixel: keeps the fit of few colours from exploding

Canvas = Float32[np.ndarray, "a b 3"]
Mask = Bool[np.ndarray, "a b"]
Colours = Float64[np.ndarray, "w 3 7"]
Pixels = Float64[np.ndarray, "7 n"]
Moments = Float64[np.ndarray, "7 7"]
ColourMap = Float64[np.ndarray, "3 4"]


def colour_maps(first: Canvas, second: Canvas, inside: Mask) -> tuple[ColourMap, ColourMap]:
    """Return the affine maps of colours that bring the first nearest to the second, and back.

    Grey, swapped channels, brightness and contrast are such maps. Pixels that no map explains get
    little weight, so that a part laid over the image does not spoil the fit.
    """
    at = np.flatnonzero(inside)
    at = at[:: max(1, len(at) // PIXELS)]
    both = np.full((11, len(at)), 255.0)  # the first, white, the second, white, the first
    both[:3] = both[8:] = first.reshape(-1, 3)[at].T
    both[4:7] = second.reshape(-1, 3)[at].T
    return _colour_map(both[:7]), _colour_map(both[4:])


def _colour_map(both: Pixels) -> ColourMap:
    """Return the map of the first three rows and the fourth, white, that gives the others."""
    pixels, wanted = both[:4], both[4:]
    fit = _fitted(pixels, both)
    for _ in range(ROUNDS - 1):
        off = np.einsum("ij,in->jn", fit, pixels) - wanted
        fit = _fitted(pixels * (1 / (1 + (off**2).mean(axis=0) / OFF**2)), both)
    return np.column_stack([fit[:3].T, fit[3] * 255])


def _fitted(weighted: Float64[np.ndarray, "4 n"], both: Pixels) -> Float64[np.ndarray, "4 3"]:
    # einsum, not @: no BLAS, so that threads change nothing
    products = np.einsum("in,jn->ij", weighted, both)
    ridge = np.eye(4) * max(STIFFNESS * both.shape[1], 1.0)
    return np.linalg.solve(products[:, :4] + ridge, products[:, 4:])


def mapped(canvas: Canvas, colours: ColourMap) -> Canvas:
    """Return the canvas with its colours mapped; they may leave 0 to 255."""
    return np.asarray(cv2.transform(canvas, colours.astype(np.float32)))


def farther_than(first: Windows, second: Windows, levels: float) -> Mask:
    """Return the windows whose mean colours differ by more than `levels` in a channel."""
    off = np.asarray(cv2.absdiff(first.means, second.means))
    return np.asarray(np.maximum(np.maximum(off[..., 0], off[..., 1]), off[..., 2]) > levels)


def named_residual(first: Canvas, second: Canvas, where: Mask) -> float:
    """Return how far colours differ after the best known way to change them, by their spread.

    The ways: none, grey, exchanged channels, each with a brightness, a contrast, and the negative.
    A contrast must move white and black: else a thin grey ring passes for a black one on the same
    white. 0 means equal, 1 that one says nothing about the other. Without pixels it is 0.
    """
    at = np.flatnonzero(where)
    at = at[:: max(1, len(at) // PIXELS)]
    if not len(at):
        return 0.0
    one, two = (canvas.reshape(-1, 3)[at].T for canvas in (first, second))
    stacked = np.array([*one, *two, np.ones(len(at))], np.float64)
    # einsum, not @: no BLAS, so that threads change nothing
    moments = np.einsum("in,jn->ij", stacked, stacked) / len(at)
    firsts, seconds = _WAYS
    firsts = _gains(firsts, seconds, moments)[:, None, None] * firsts
    firsts = np.concatenate([firsts, [_contrasted(moments), 255 * _CONSTANT - _ONE]])
    seconds = np.concatenate([seconds, [_TWO, _TWO]])
    off = np.maximum(_products(firsts - seconds, firsts - seconds, moments), 0.0)
    spread = np.maximum(_spreads(firsts, moments), _spreads(seconds, moments))
    return float(np.sqrt(off / np.maximum(spread, 1.0)).min())


# Colours as rows of factors for (three channels of one, three of the other, 1). Everything that
# is computed from such colours follows from the mean products of these seven.
_SEVEN = np.eye(7)
_ONE, _TWO, _CONSTANT = _SEVEN[:3], _SEVEN[3:6], _SEVEN[[6, 6, 6]]


def _greyed(colours: Float64[np.ndarray, "3 7"]) -> Float64[np.ndarray, "3 7"]:
    return np.repeat((LUMA[:, None] * colours).sum(axis=0)[None], 3, axis=0)


_ORDERS = [_ONE[[*order]] for order in itertools.permutations(range(3))]
_WAYS = (  # exchanged channels, and grey of either
    np.array([*_ORDERS, _greyed(_ONE), _ONE]),
    np.array([*[_TWO] * len(_ORDERS), _TWO, _greyed(_TWO)]),
)


def _products(one: Colours, two: Colours, moments: Moments) -> Float64[np.ndarray, " w"]:
    """Return the mean products of colours, over pixels and channels."""
    return np.asarray((np.einsum("wci,ij->wcj", one, moments) * two).sum(axis=(1, 2)) / 3)


def _spreads(colours: Colours, moments: Moments) -> Float64[np.ndarray, " w"]:
    """Return the variances of colours, their mean over the channels."""
    means = (colours * moments[6]).sum(axis=2)
    return np.asarray(_products(colours, colours, moments) - (means**2).mean(axis=1))


def _gains(one: Colours, two: Colours, moments: Moments) -> Float64[np.ndarray, " w"]:
    power = np.maximum(_products(one, one, moments), LEAST_POWER)
    return np.asarray(np.clip(_products(one, two, moments) / power, *GAINS))


def _contrasted(moments: Moments) -> Float64[np.ndarray, "3 7"]:
    """Return the first with the contrast of the second, if that moves white and black."""
    means = moments[6, :3].mean(), moments[6, 3:6].mean()
    spread, other = _ONE - means[0] * _CONSTANT, _TWO - means[1] * _CONSTANT
    gain = float(_gains(spread[None], other[None], moments)[0])
    changed = gain * (np.array([0.0, 255.0]) - means[0]) + means[1]
    moves = np.abs(changed - (0.0, 255.0)).min() >= MOVED
    return gain * spread + means[1] * _CONSTANT if moves else _ONE
