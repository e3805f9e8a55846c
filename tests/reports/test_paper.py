"""Images, uids and text on the paper of galleries."""

import matplotlib.image
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from clipaudit.plaintext import plain
from clipaudit.reports.drawing import style
from clipaudit.reports.paper import Paper, decoded, note, shown_text, uid_lines

UID = "0123456789abcdef" * 2


def paper_with(picture, side=1.0, **options):
    with style():
        paper = Paper(3, 3)
        spot = paper.picture(picture, 0.5, 1.0, side, **options)
    return paper, spot


def test_an_image_is_in_the_middle_of_its_square():
    paper, spot = paper_with(Image.new("RGB", (40, 20)))

    assert (spot.left, spot.top, spot.width, spot.height) == (0.5, 1.25, 1.0, 0.5)
    np.testing.assert_array_equal(spot.on_paper(np.array([[40, 20]])), [[1.5, 1.75]])
    (image,) = paper.figure.axes[0].images
    assert image.get_extent() == [0.5, 1.5, 1.75, 1.25]


@pytest.mark.parametrize(("options", "longest"), [({}, 150), ({"pixels": 10}, 10)])
def test_an_image_is_reduced_without_changing_the_callers_copy(options, longest):
    whole = Image.new("RGB", (400, 200))

    paper, _ = paper_with(whole, **options)

    (image,) = paper.figure.axes[0].images
    assert image.get_array().shape == (longest // 2, longest, 3)
    assert whole.size == (400, 200)


@pytest.mark.parametrize(("picture", "label"), [(UID, "not shown"), (None, "unreadable")])
def test_a_missing_image_is_shown_as_a_box_at_its_position(picture, label):
    paper, spot = paper_with(picture)

    box = paper.figure.axes[0].lines[0]
    assert spot is None
    assert not paper.figure.findobj(matplotlib.image.AxesImage)
    assert box.get_label() == label
    assert (min(box.get_xdata()), max(box.get_xdata())) == (0.5, 1.5)
    assert (min(box.get_ydata()), max(box.get_ydata())) == (1.0, 2.0)


@pytest.mark.parametrize("side", [0.42, 0.46, 0.5, 0.55, 0.62, 1.5])
def test_a_uid_stays_within_its_square(side):
    paper, _ = paper_with("d" * 32, side)
    canvas = FigureCanvasAgg(paper.figure)
    canvas.draw()

    (left, bottom), (right, top) = paper.figure.axes[0].transData.transform(
        [(0.5, 1.0 + side), (0.5 + side, 1.0)]
    )
    boxes = [text.get_window_extent() for text in paper.figure.axes[0].texts]
    assert left < min(box.x0 for box in boxes) < max(box.x1 for box in boxes) < right
    assert bottom < min(box.y0 for box in boxes) < max(box.y1 for box in boxes) < top


@given(
    st.text("0123456789abcdef", min_size=32, max_size=32), st.sampled_from([0.42, 0.5, 0.52, 2.0])
)
def test_a_uid_is_complete_or_its_first_8_digits_and_dots(uid, side):
    found = "".join(uid_lines(uid, side))

    assert found == (uid if side >= 0.52 else f"{uid[:8]}…")


@given(st.text())
def test_shown_text_is_one_line_without_control_characters(text):
    found = shown_text(text)

    assert plain(found) == found
    assert " ".join(found.split()) == found


def test_a_uid_is_not_an_image_file_and_a_damaged_file_gives_no_image():
    assert decoded(UID) == UID
    assert decoded(b"no picture") is None


def test_a_note_is_narrow_and_grows_with_its_text():
    with style():
        short, long = note("no pair"), note("no pair of images " * 10)

    (width, height), (same, more) = (figure.get_size_inches() for figure in (short, long))
    assert width == same < 2.5
    assert height < more
