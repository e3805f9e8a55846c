"""Compares the structure of two canvases: how colours vary within a window around each pixel."""

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from jaxtyping import Bool, Float32

WINDOW = 9  # pixels of a canvas
FLAT = 12.0  # levels: a window whose colours vary less has no structure
NOISE = 6.0  # levels: variation that may differ anyway
FAINT = 48.0  # levels: where no window varies more, both limits above shrink in proportion
LEAST_LEVELS = 0.25  # to which share they shrink at most: below lies the noise of JPEG
SIGMAS, BISECTIONS = (0.4, 5.0), 5  # pixels of a canvas: blur that one image may have
SAME_STRUCTURE = 0.75  # of SSIM's structure and contrast, for a window to agree
MEAN = np.full((1, 3), 1 / 3)  # of the channels

Canvas = Float32[np.ndarray, "a b *c"]
Plane = Float32[np.ndarray, "a b"]
Mask = Bool[np.ndarray, "a b"]


class Windows:
    """A canvas, and what is computed once from the window around each pixel."""

    def __init__(self, canvas: Canvas) -> None:
        """Keep the canvas."""
        self.canvas = canvas

    @cached_property
    def means(self) -> Canvas:
        """Return the mean colour of each window."""
        return averaged(self.canvas)

    @cached_property
    def variation(self) -> Plane:
        """Return the variance within each window, its mean over the channels."""
        return covariation(self, self)


@dataclass(frozen=True, eq=False)
class Structure:
    """Two canvases, the windows that have structure in each, and those in which they agree."""

    first: Windows
    second: Windows
    known: Mask  # windows inside both images
    in_first: Mask
    in_second: Mask
    agrees: Mask

    @cached_property
    def in_either(self) -> Mask:
        """Return the windows that have structure in at least one."""
        return np.asarray(self.in_first | self.in_second)

    @property
    def differs(self) -> Mask:
        """Return the windows with structure that do not agree."""
        return np.asarray(self.in_either & ~self.agrees)

    @cached_property
    def agreement(self) -> float:
        """Return the share of the windows with structure that agree; 0 if none has structure."""
        return share(self.agrees, self.in_either)


def share(of: Mask, among: Mask) -> float:
    """Return the share of the pixels of a mask that are in another one; 0 for an empty mask."""
    return float(np.count_nonzero(of & among)) / max(int(np.count_nonzero(among)), 1)


def known_windows(inside: Mask) -> Mask:
    """Return the pixels whose window is inside the mask; beyond the canvas counts as inside."""
    window = np.ones((WINDOW, WINDOW), np.uint8)
    return np.asarray(cv2.erode(inside.astype(np.uint8), window, borderValue=1), bool)


def averaged(canvas: Canvas) -> Canvas:
    """Return the mean colour of the window around each pixel."""
    return np.asarray(cv2.blur(canvas, (WINDOW, WINDOW), borderType=cv2.BORDER_REFLECT))


def compared(first: Windows, second: Windows, known: Mask) -> Structure:
    """Return where two canvases have structure and where it agrees, among the known windows.

    Structure agrees by SSIM's second term, over all channels together: contrast counts, brightness
    does not.
    """
    one, two, both = first.variation, second.variation, covariation(first, second)
    peak = float(np.sqrt(max(one.max(), two.max(), 0.0)))
    levels = min(1.0, max(LEAST_LEVELS, peak / FAINT))
    noise = (NOISE * levels) ** 2
    same = (2 * both + noise) / (one + two + noise)
    flat = (FLAT * levels) ** 2
    return Structure(
        first, second, known, known & (one > flat), known & (two > flat), same > SAME_STRUCTURE
    )


def covariation(one: Windows, two: Windows) -> Plane:
    """Return the covariance within each window, its mean over the channels."""
    product, means = channel_mean(one.canvas * two.canvas), channel_mean(one.means * two.means)
    return np.asarray(averaged(product) - means)


def channel_mean(canvas: Canvas) -> Plane:
    """Return the mean of the channels; a grey canvas itself."""
    return canvas if canvas.ndim == 2 else np.asarray(cv2.transform(canvas, MEAN))


def equally_sharp(first: Windows, second: Windows, inside: Mask) -> tuple[Windows, Windows]:
    """Return both canvases, the sharper one blurred until it is as soft as the other."""
    sharp = sharpness(first.canvas, inside), sharpness(second.canvas, inside)
    if max(sharp) < 1.3 * min(sharp):
        return first, second
    if sharp[0] < sharp[1]:
        return first, Windows(_softened(second.canvas, inside, sharp[0]))
    return Windows(_softened(first.canvas, inside, sharp[1])), second


def _softened(canvas: Canvas, inside: Mask, wanted: float) -> Canvas:
    """Return the canvas blurred so that its sharpness is the wanted one, by bisection."""
    low, high = SIGMAS
    soft = canvas
    for _ in range(BISECTIONS):
        sigma = float(np.sqrt(low * high))
        soft = np.asarray(cv2.GaussianBlur(canvas, (0, 0), sigma))
        low, high = (low, sigma) if sharpness(soft, inside) < wanted else (sigma, high)
    return soft


def sharpness(canvas: Canvas, inside: Mask) -> float:
    """Return the power of the finest details, in squared levels."""
    detail = canvas - cv2.GaussianBlur(canvas, (0, 0), 1.5)
    mask = inside.astype(np.uint8)
    values = cv2.countNonZero(mask) * (detail.size // inside.size)
    return cv2.norm(detail, cv2.NORM_L2SQR, mask) / max(values, 1)
