"""The gallery of copies."""

import io

import pyarrow as pa
from PIL import Image

from clipaudit.copies.pair_options import PairOptions
from clipaudit.copies.reports.pairs_gallery import draw_pairs

OPTIONS = PairOptions("copies", "val", "Val", "web", "Web", 1)
PLACES = ("other_shard", "other_row", "shard", "row")
NUMBERS = ("distance", "similarity", "agreement")


def test_a_transparent_image_is_shown_on_white():
    drawn = Image.new("RGBA", (8, 8))
    drawn.paste("red", (0, 0, 4, 4))
    drawn.save(written := io.BytesIO(), "PNG")
    row = dict.fromkeys(PLACES, 0) | dict.fromkeys(NUMBERS) | {"kind": "edited", "edits": ""}
    pictures = {(corpus, 0): written.getvalue() for corpus in ("val", "web")}

    (axes,) = draw_pairs(pa.Table.from_pylist([row]), pictures, OPTIONS).axes

    corners = [[list(image.get_array()[at, at]) for at in (0, -1)] for image in axes.images]
    assert corners == [[[255, 0, 0], [255, 255, 255]]] * 2
