"""Draw images with their spotted text outlined or covered, and captions word by word."""

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw

from clipaudit.parrot.spans import Polygon
from clipaudit.reports.drawing import PALETTE, SERIES_COLOURS
from clipaudit.reports.flowing import Word
from clipaudit.reports.paper import Paper, Picture, shown_text

MARGIN, GAP = 0.05, 0.08
CO_COLOUR = SERIES_COLOURS[1]  # a reddish orange: text that the caption repeats
TEXT_COLOUR = SERIES_COLOURS[0]  # blue: other text

FARTHEST = 1 << 20  # pixels: far outside any image, and still drawn by Pillow
COVER = 0.55  # opacity of the colour that covers text

Outlines = Sequence[tuple[Sequence[Polygon], str]]  # polygons in pixels, and their colour


def put_outlined(
    paper: Paper, picture: Picture, x: float, y: float, side: float, outlines: Outlines = ()
) -> None:
    """Put a framed image into a square with its upper left at (x, y), and outline polygons.

    Parts outside the image are not shown; without an image nothing is outlined.
    """
    spot = paper.picture(picture, x, y, side)
    if spot is None:
        return
    frame = paper.frame(spot)
    for polygons, colour in outlines:
        for polygon in polygons:
            corners = spot.on_paper(_corners(polygon))
            paper.outline(corners, colour, lines=(1.3, 0.7), within=frame)


def put_covered(
    paper: Paper, picture: Picture, x: float, y: float, side: float, outlines: Outlines
) -> None:
    """Put a framed image into a square, with polygons covered by their colours.

    The last polygon covers earlier ones. Without an image nothing is covered.
    """
    covered = _covered(picture, outlines) if isinstance(picture, Image.Image) else picture
    put_outlined(paper, covered, x, y, side)


def caption_words(caption: str, parroted: Sequence[bool]) -> list[Word]:
    """Return a caption's words, split at white space, with parroted ones bold and orange.

    `parroted` marks these words, in order.
    """
    return [
        Word(shown_text(word), CO_COLOUR if co else PALETTE["text"], bold=co)
        for word, co in zip(caption.split(), parroted, strict=True)
    ]


def _covered(image: Image.Image, outlines: Outlines) -> Image.Image:
    """Return an image with polygons covered by their colours."""
    cover = image.copy()
    draw = ImageDraw.Draw(cover)
    for polygons, colour in outlines:
        for polygon in polygons:
            corners = _corners(polygon).clip(-FARTHEST, FARTHEST).ravel().tolist()
            draw.polygon(corners, fill=colour)
    return Image.blend(image, cover, COVER)


def _corners(polygon: Polygon) -> np.ndarray:
    return np.asarray(polygon, np.float64).reshape(-1, 2)
