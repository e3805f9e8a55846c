import io
from dataclasses import replace

import matplotlib.image
import matplotlib.text
import numpy as np
import pyarrow as pa
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from clipaudit.reports.drawing import SMALLEST_POINTS, figure_bytes
from clipaudit.reports.galleries import draw_gallery
from clipaudit.reports.gallery_options import NeighborOptions, ShownSet
from clipaudit.similarity.gallery import GALLERY

TITLES = ("glyph web without copies", "glyph photos")


def picture(colour, size=(8, 8)):
    buffer = io.BytesIO()
    Image.new("RGB", size, colour).save(buffer, "png")
    return buffer.getvalue()


def gallery(*cells):
    """Cells (block, set, place, similarity): test sample = block, neighbour = a row of its own."""
    rows = [
        {
            "block": block, "testset": "sketch", "test_shard": 0, "test_row": block,
            "set_position": position, "set": TITLES[position], "corpus": f"corpus{position}",
            "place": place, "rank": place, "shard": 0, "row": 10 * block + place,
            "similarity": similarity, "omitted_before": 0,
        }
        for block, position, place, similarity in cells
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=GALLERY)


def pictures(table, **replaced):
    rows = table.to_pylist()
    found = {("sketch", row["test_row"]): picture("red", (20, 8)) for row in rows}
    found |= {(row["corpus"], row["row"]): picture("blue") for row in rows}
    return found


def uids(table):
    """Every shown sample with its own uid, for images that may not be shown."""
    return {key: f"{number:08x}" * 4 for number, key in enumerate(sorted(pictures(table)), 1)}


def options(form="rows", columns=3, sets=2):
    return NeighborOptions(
        form,
        testsets=(ShownSet("Glyph-Sketch", "sketch"),),
        sets=tuple(ShownSet(title, f"corpus{n}") for n, title in enumerate(TITLES[:sets])),
        count=2,
        columns=columns,
        near_duplicate_distance=0.0,
    )


def words(figure):
    return [text.get_text() for text in figure.findobj(matplotlib.text.Text) if text.get_text()]


CELLS = [(0, 0, 0, 0.91), (0, 0, 1, 0.905), (0, 1, 0, 0.5), (1, 0, 0, 0.9), (1, 1, 0, 0.4)]


def test_every_similarity_is_printed_apart_from_its_neighbour():
    table = gallery(*CELLS)

    found = words(draw_gallery(table, pictures(table), options()))

    for value in ("0.910", "0.905", "0.500", "0.900", "0.400"):
        assert value in found
    assert found.count("Glyph-Sketch") == 2


def test_each_cell_and_each_query_has_an_image():
    table = gallery(*CELLS)

    figure = draw_gallery(table, pictures(table), options())

    (axes,) = figure.axes
    assert len(axes.images) == len(CELLS) + 2


def test_an_image_that_cannot_be_decoded_is_a_crossed_box():
    table = gallery(*CELLS)
    shown = pictures(table) | {("corpus1", 0): b"no picture"}

    (axes,) = draw_gallery(table, shown, options()).axes

    assert len(axes.images) == len(CELLS) + 1
    assert [line.get_label() for line in axes.lines].count("unreadable") == 3


@pytest.mark.parametrize("form", ["rows", "ladder"])
def test_without_images_there_are_uids_and_the_same_words(form):
    table = gallery((0, 0, 0, 0.5), (1, 0, 0, 0.75))
    asked, known = options(form, columns=1, sets=1), uids(table)

    shown, hidden = (draw_gallery(table, found, asked) for found in (pictures(table), known))

    assert not hidden.findobj(matplotlib.image.AxesImage)
    assert set(words(shown)) <= set(words(hidden))
    text = "".join(words(hidden))
    assert all(uid in text for uid in known.values())


def test_uids_are_truncated_in_small_squares():
    table = gallery(*[(0, 0, place, 1 - place / 20) for place in range(12)])
    known = uids(table)

    text = "".join(words(draw_gallery(table, known, options(columns=12))))

    assert all(f"{uid[:8]}…" in text for uid in known.values())
    assert not any(uid in text for uid in known.values())


def test_titles_are_not_read_as_formulas():
    table = gallery((0, 0, 0, 0.5))
    asked = replace(options(), testsets=(ShownSet("$a$ \x1b[1m", "sketch"),))

    found = draw_gallery(table, pictures(table), asked).findobj(matplotlib.text.Text)

    assert "$a$ \\x1b[1m" in [text.get_text() for text in found]
    assert not any(text.get_parse_math() for text in found if text.get_text())


def test_a_ladder_pairs_each_query_with_its_neighbour():
    table = gallery((0, 0, 0, 0.5), (1, 0, 0, 0.75), (2, 0, 0, 1.0))

    figure = draw_gallery(table, pictures(table), options("ladder", columns=1, sets=1))

    assert {"0.50", "0.75", "1.00"} <= set(words(figure))
    assert len(figure.axes[0].images) == 6


def test_an_empty_gallery_says_so():
    found = words(draw_gallery(gallery(), {}, options()))

    assert " ".join(found) == "No image of Glyph-Sketch has a neighbor."


@pytest.mark.parametrize("columns", [1, 3, 6])
def test_everything_stays_on_the_page_and_titles_touch_no_image(columns):
    table = gallery(*[(0, 0, place, 1 - place / 10) for place in range(columns)])
    figure = draw_gallery(table, pictures(table), options(columns=columns))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()

    texts = figure.findobj(lambda each: isinstance(each, matplotlib.text.Text) and each.get_text())
    boxes = [text.get_window_extent(canvas.get_renderer()) for text in texts]
    images = [image.get_window_extent() for image in figure.axes[0].images]
    assert min(box.x0 for box in boxes) >= 0
    assert max(box.x1 for box in boxes) <= figure.bbox.width
    assert min(text.get_fontsize() for text in texts) >= SMALLEST_POINTS
    titles = [box for box, text in zip(boxes, texts, strict=True) if "glyph" in text.get_text()]
    assert not any(title.overlaps(image) for title in titles for image in images)


def test_the_same_gallery_gives_the_same_bytes():
    table = gallery(*CELLS)

    first, second = (figure_bytes(draw_gallery(table, pictures(table), options())) for _ in "ab")

    assert first == second
    assert np.asarray(Image.open(io.BytesIO(first[1]))).any()
