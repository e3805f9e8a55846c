"""Maps the colours of one canvas to those of another that shows the same in other colours."""

import itertools

import cv2
import numpy as np
from jaxtyping import Bool, Float32, Float64

from clipaudit.copies.structure import averaged

OTHER_COLOUR = 20.0  # levels, in the channel that differs most: re-encoding stays below
WRONG_COLOUR = 40.0  # levels: not even after mapping the colours
PIXELS = 1000  # from which a map is fitted
ROUNDS = 3  # of weighing pixels anew by how far off they were
OFF = 16.0  # levels at which a pixel's weight halves: overlaid parts should not count
GAINS = 0.4, 2.5  # that brightness and contrast may change by
MOVED = 4.0  # levels by which a change of contrast moves white and black, at least
LUMA = np.array([0.299, 0.587, 0.114])
STIFFNESS = 0.5  # squared levels a pixel: keeps the fit of few colours from exploding

Canvas = Float32[np.ndarray, "a b 3"]
Mask = Bool[np.ndarray, "a b"]
Pixels = Float64[np.ndarray, "3 n"]
ColourMap = Float64[np.ndarray, "3 4"]


def colour_map(source: Canvas, target: Canvas, inside: Mask) -> ColourMap:
    """Return the affine map of colours that brings the source nearest to the target.

    Grey, swapped channels, brightness and contrast are such maps. Pixels that no map explains get
    little weight, so that a part laid over the picture does not spoil it.
    """
    at = np.flatnonzero(inside)
    at = at[:: max(1, len(at) // PIXELS)]
    wanted = np.array(target.reshape(-1, 3)[at].T, np.float64, order="C")
    pixels = np.full((4, len(at)), 255.0)
    pixels[:3] = source.reshape(-1, 3)[at].T
    ridge = np.eye(4) * max(STIFFNESS * len(at), 1.0)
    weights = np.ones(len(at))
    for _ in range(ROUNDS):
        weighted = pixels * weights
        # einsum, not @: no BLAS, so that threads change nothing
        square = np.einsum("in,jn->ij", weighted, pixels)
        fit = np.linalg.solve(square + ridge, np.einsum("in,jn->ij", weighted, wanted))
        off = np.einsum("ij,in->jn", fit, pixels) - wanted
        weights = 1 / (1 + (off**2).mean(axis=0) / OFF**2)
    return np.column_stack([fit[:3].T, fit[3] * 255])


def mapped(canvas: Canvas, colours: ColourMap) -> Canvas:
    """Return the canvas with its colours mapped; they may leave 0 to 255."""
    return np.asarray(cv2.transform(canvas, colours.astype(np.float32)))


def farther_than(first: Canvas, second: Canvas, levels: float) -> Mask:
    """Return the windows whose mean colours differ by more than so many levels in a channel."""
    off = np.asarray(cv2.absdiff(averaged(first), averaged(second)))
    return np.asarray(np.maximum(np.maximum(off[..., 0], off[..., 1]), off[..., 2]) > levels)


def named_residual(first: Canvas, second: Canvas, where: Mask) -> float:
    """Return how far colours differ after the best known way to change them, by their spread.

    The ways: none, grey, exchanged channels, each with a brightness, a contrast, and the negative.
    A contrast moves white and black: without that, a thin grey ring passes for a black one on the
    same white. 0 is equal, 1 says that one tells nothing about the other. Without pixels: 0.
    """
    at = np.flatnonzero(where)
    at = at[:: max(1, len(at) // PIXELS)]
    if not len(at):
        return 0.0
    one, two = (
        np.array(canvas.reshape(-1, 3)[at].T, np.float64, order="C") for canvas in (first, second)
    )
    pairs = [(one[[*order]], two) for order in itertools.permutations(range(3))]
    pairs += [(_greyed(one), two), (one, _greyed(two))]
    brightened = [(_gain(*pair) * pair[0], pair[1]) for pair in pairs]
    others = [(_contrasted(one, two), two), (255 - one, two)]
    return min(_residual(*pair) for pair in [*brightened, *others])


def _greyed(pixels: Pixels) -> Pixels:
    return np.repeat(np.einsum("i,in->n", LUMA, pixels)[None], 3, axis=0)


def _gain(one: Pixels, two: Pixels) -> float:
    gain = float((one * two).sum()) / max(float((one * one).sum()), 1e-6)
    return float(np.clip(gain, *GAINS))


def _contrasted(one: Pixels, two: Pixels) -> Pixels:
    """Return the first with the contrast of the second, if that moves white and black."""
    means = one.mean(), two.mean()
    spread = one - means[0]
    gain = float((spread * (two - means[1])).sum()) / max(float((spread**2).sum()), 1e-6)
    gain = float(np.clip(gain, *GAINS))
    changed = gain * (np.array([0.0, 255.0]) - means[0]) + means[1]
    moves = np.abs(changed - (0.0, 255.0)).min() >= MOVED
    return gain * spread + means[1] if moves else one


def _residual(one: Pixels, two: Pixels) -> float:
    spread = max(float(np.sqrt(pixels.var(axis=1).mean())) for pixels in (one, two))
    return float(np.sqrt(((one - two) ** 2).mean())) / max(spread, 1.0)
