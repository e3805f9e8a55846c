"""Pictures with the text that was spotted in them outlined or covered, and captions in words."""

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw

from clipaudit.parrot.spans import Polygon
from clipaudit.reports.drawing import PALETTE, SERIES_COLOURS
from clipaudit.reports.flowing import Word
from clipaudit.reports.paper import Paper, Picture, shown_text

MARGIN, GAP = 0.05, 0.08
CO_COLOUR = SERIES_COLOURS[1]  # a reddish orange: what the caption says too
TEXT_COLOUR = SERIES_COLOURS[0]  # blue: other text

FARTHEST = 1 << 20  # pixels: far outside of any picture, and what Pillow still draws
COVER = 0.55  # opacity of what covers text

Outlines = Sequence[tuple[Sequence[Polygon], str]]  # polygons in pixels, and their colour


def put_outlined(
    paper: Paper, picture: Picture, x: float, y: float, side: float, outlines: Outlines = ()
) -> None:
    """Put a picture in a frame into a square, and outline polygons; (x, y) is its upper left.

    What lies outside of the picture is not shown, and nothing is outlined where no picture is.
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
    """Put a picture in a frame into a square, polygons covered with their colours.

    Where they overlap the last one's is seen. Nothing is covered where no picture is.
    """
    covered = _covered(picture, outlines) if isinstance(picture, Image.Image) else picture
    put_outlined(paper, covered, x, y, side)


def caption_words(caption: str, parroted: Sequence[bool]) -> list[Word]:
    """Return the words between white space of a caption, those that are parroted bold and orange.

    `parroted` says which are, in their order.
    """
    return [
        Word(shown_text(word), CO_COLOUR if co else PALETTE["text"], bold=co)
        for word, co in zip(caption.split(), parroted, strict=True)
    ]


def _covered(image: Image.Image, outlines: Outlines) -> Image.Image:
    """Return a picture with polygons covered by their colours."""
    cover = image.copy()
    draw = ImageDraw.Draw(cover)
    for polygons, colour in outlines:
        for polygon in polygons:
            corners = _corners(polygon).clip(-FARTHEST, FARTHEST).ravel().tolist()
            draw.polygon(corners, fill=colour)
    return Image.blend(image, cover, COVER)


def _corners(polygon: Polygon) -> np.ndarray:
    return np.asarray(polygon, np.float64).reshape(-1, 2)
