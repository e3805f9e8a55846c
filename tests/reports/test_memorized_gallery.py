"""The gallery of the most memorized samples."""

import matplotlib.image
import matplotlib.text
import numpy as np
import pyarrow as pa
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from clipaudit.demo.png import png_bytes
from clipaudit.memorization.examples import EXAMPLE_BOXES, EXAMPLE_NEIGHBORS, EXAMPLES
from clipaudit.memorization.reports.memorized_gallery import (
    COLUMNS,
    draw_memorized,
    shown_addresses,
)
from clipaudit.reports.drawing import SMALLEST_POINTS, figure_bytes
from clipaudit.reports.gallery_options import ShownSet

PUBLIC = ShownSet("glyph photos", "photos")
NAMES = ("anchor", "star", "comet")


def labels(rank=0, caption="a photo of a star", unseen=0.07, **neighbors):
    """What both models find: by model how many neighbours hold each of three labels.

    The first two are those of the sample's own image. `unseen`: the share of the hold-out.
    """
    same = {"rank": rank, "source": "scenes", "shard": 0, "row": rank, "uid": f"{rank:032x}"}
    found = neighbors or {"target": (3, 2, 1), "reference": (0, 1, 4)}
    return [
        same
        | {"caption": caption, "model": model, "k": 10, "label": label, "name": NAMES[label]}
        | {"share_of_members": 0.0891, "share_of_holdout": unseen}
        | {"neighbors": held, "is_true": label < 2}
        for model in ("target", "reference")
        for label, held in enumerate(found[model])
        if held or label < 2
    ]


def neighbors(rank=0, count=7):
    return [
        {"rank": rank, "model": model, "place": place, "similarity": 0.9 - place / 100}
        | {"public_shard": 0, "public_row": place, "true_labels": [0], "false_labels": [2]}
        for model in ("target", "reference")
        for place in range(count)
    ]


def boxes(rank=0):
    same = {"rank": rank, "score": 1.0, "left": 4.0, "top": 4.0, "width": 20.0, "height": 12.0}
    return [same | {"label": label} for label in range(2)]


def tables(examples=1, **changes):
    ranks = range(examples)
    return (
        pa.Table.from_pylist([row for n in ranks for row in labels(n, **changes)], EXAMPLES),
        pa.Table.from_pylist([row for n in ranks for row in neighbors(n)], EXAMPLE_NEIGHBORS),
        pa.Table.from_pylist([row for n in ranks for row in boxes(n)], EXAMPLE_BOXES),
    )


def pictures(drawn):
    pixels = np.full((32, 48, 3), 128, np.uint8)
    wanted = shown_addresses(drawn[0], drawn[1], PUBLIC)
    return {
        (corpus, address): png_bytes(pixels)
        for corpus, addresses in wanted.items()
        for address in addresses
    }


def draw(*drawn, shown=None):
    return draw_memorized(*drawn, pictures(drawn) if shown is None else shown, PUBLIC)


def words(figure):
    texts = figure.findobj(lambda each: isinstance(each, matplotlib.text.Text))
    return " ".join(text.get_text() for text in texts if text.get_text())


def test_the_records_own_image_and_the_nearest_of_both_models_are_shown():
    drawn = tables()

    figure = draw(*drawn)

    assert sum(len(axes.images) for axes in figure.axes) == 1 + 2 * COLUMNS
    assert shown_addresses(drawn[0], drawn[1], PUBLIC) == {
        "scenes": {0},
        "photos": set(range(COLUMNS)),
    }


def test_caption_objects_and_findings_are_stated_in_words():
    text = words(draw(*tables()))

    assert "a photo of a star" in text
    assert "Trained on it: finds 2 of 2" in text
    assert "Not trained on it: finds 1 of 2" in text
    assert "✓ anchor 3" in text
    assert "✗ comet 4" in text
    assert "· anchor" in text  # missed by the reference model


def test_each_example_states_how_many_records_have_as_large_a_gap():
    assert "So much more: 8.9 % of A, 7.0 % of the hold-out" in words(draw(*tables()))


def test_without_a_hold_out_set_only_the_share_of_a_is_stated():
    text = words(draw(*tables(unseen=None)))

    assert "So much more: 8.9 % of A" in text
    assert "hold-out" not in text


def test_a_long_caption_ends_in_dots_and_symbols_are_unchanged():
    caption = "it costs $5_or_$6 " + "and so on " * 100

    text = words(draw(*tables(caption=caption)))

    assert "$5_or_$6" in text
    assert text.count("and so on") < 100
    assert "…" in text


def test_an_image_that_cannot_be_decoded_is_a_crossed_box():
    drawn = tables()
    shown = pictures(drawn) | {("photos", 0): b"no picture"}

    figure = draw(*drawn, shown=shown)

    assert sum(len(axes.images) for axes in figure.axes) == 1 + 2 * (COLUMNS - 1)


def test_without_images_there_are_uids_but_no_boxes_and_no_text_about_them():
    drawn = tables()
    uids = {key: f"{number:08x}" * 4 for number, key in enumerate(sorted(pictures(drawn)), 1)}

    figure = draw_memorized(*drawn, uids, PUBLIC)

    assert not figure.findobj(matplotlib.image.AxesImage)
    assert not figure.axes[0].patches
    text = words(figure).replace(" ", "")
    assert all(uid in text or f"{uid[:8]}…" in text for uid in uids.values())
    assert "aphotoofastar" in text
    assert "Boxes" not in text


def test_a_caption_does_not_change_the_page_layout():
    text = words(draw(*tables(caption="a \x1b[31mred\u202e star")))

    assert "a \\x1b[31mred\\u202e star" in text


def test_without_examples_the_figure_says_so():
    empty = EXAMPLES.empty_table(), EXAMPLE_NEIGHBORS.empty_table(), EXAMPLE_BOXES.empty_table()

    assert "No record" in words(draw(*empty))


@pytest.mark.parametrize("examples", [1, 3])
def test_everything_stays_on_the_page_and_every_letter_is_legible(examples):
    figure = draw(*tables(examples))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()

    texts = figure.findobj(lambda each: isinstance(each, matplotlib.text.Text) and each.get_text())
    extents = [text.get_window_extent(canvas.get_renderer()) for text in texts]
    assert min(box.x0 for box in extents) >= 0
    assert max(box.x1 for box in extents) <= figure.bbox.width
    assert min(text.get_fontsize() for text in texts) >= SMALLEST_POINTS


def test_the_same_examples_give_the_same_bytes():
    first, second = (figure_bytes(draw(*tables(2))) for _ in "ab")

    assert first == second
