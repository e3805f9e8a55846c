"""The images with text of the parrot audit's galleries."""

from pathlib import Path

import matplotlib.image
import matplotlib.text
import numpy as np
import pyarrow as pa
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.demo.png import png_bytes
from clipaudit.parrot.erased_pictures import Reduced
from clipaudit.parrot.erasing import erase, mask_of, scaled, scaled_length
from clipaudit.parrot.example_texts import EXAMPLE_TEXTS
from clipaudit.parrot.examples import SPOTTED_EXAMPLES
from clipaudit.parrot.reports.galleries import parrot_galleries
from clipaudit.parrot.reports.spotted_gallery import draw_spotted
from clipaudit.parrot.reports.spotted_paper import CO_COLOUR
from clipaudit.parrot.reports.spotted_terms import TERMS, term_pictures
from clipaudit.parrot.spans import Span, spans_table
from clipaudit.parrot.spotted_options import TermOptions
from clipaudit.parrot.synthetic import dejavu_sans
from clipaudit.reports.drawing import SMALLEST_POINTS, figure_bytes

LEFT = (4.0, 4.0, 20.0, 4.0, 20.0, 14.0, 4.0, 14.0)
RIGHT = (60.0, 20.0, 90.0, 20.0, 90.0, 40.0, 60.0, 40.0)
WIDTH, HEIGHT = 96, 64  # of all images
GALLERIES = parrot_galleries(
    parse_settings(read_settings(Path(__file__).parents[2] / "config/micro_parrot.yaml"))
)
FORMS = {
    "parrot_fig1_posters_pictures": ["highest"],
    "parrot_fig2": ["repeating"],
    "parrot_fig8": ["distracted", "dependent"],
    "parrot_fig14_posters": ["clustered"],
    "parrot_fig15": ["parroting"],
}


def example(position, what="highest", caption="a Red-hot star for $5_or_$6", **changes):
    """A row of SPOTTED_EXAMPLES, row `position` of shard 0, whose donor is the next row."""
    cluster = position % 3 if what == "clustered" else None
    return {
        "position": position, "what": what, "corpus": "posters", "shard": 0, "row": position,
        "caption": caption, "co_words": "red", "rate": 0.2,
        "raw": 0.3, "all": -0.1, "co": 0.2, "random_all": 0.25, "random_co": None,
        "donor_row": position + 1, "co_donor_row": None,
        "cluster": cluster, "cluster_pictures": 4, "cluster_with_text": 3,
    } | changes  # fmt: skip


def table_of(rows):
    return pa.Table.from_pylist(rows, SPOTTED_EXAMPLES)


def texts(count):
    """EXAMPLE_TEXTS with a word of the caption at the left and another one at the right."""
    spans = [Span("RED", 1.0, LEFT), Span("zzz", 1.0, RIGHT)]
    table = spans_table((0, row, spans) for row in range(count))
    columns = {
        "corpus": ["posters"] * count,
        "width": pa.array([WIDTH] * count, pa.int32()),
        "height": pa.array([HEIGHT] * count, pa.int32()),
    } | {name: table[name] for name in table.column_names}
    return pa.table([columns[name] for name in EXAMPLE_TEXTS.names], schema=EXAMPLE_TEXTS)


def pixels():
    return np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)


def draw(name, rows, shown=None):
    pictures = {("posters", row): png_bytes(pixels()) for row in range(len(rows))} | (shown or {})
    known = texts(len(rows) + 1)
    return draw_spotted(table_of(rows), known, pictures, dejavu_sans(), GALLERIES[name].options)


def rows_for(name, count):
    """`count` rows of each list of a gallery, by cluster if it has clusters."""
    kinds = [what for what in FORMS[name] for _ in range(count)]
    rows = [example(position, what) for position, what in enumerate(kinds)]
    return sorted(rows, key=lambda row: row["cluster"] or 0)


def words(figure):
    texts = figure.findobj(lambda each: isinstance(each, matplotlib.text.Text))
    return " ".join(text.get_text() for text in texts if text.get_text())


def images(figure):
    return figure.axes[0].images


def test_co_embedded_words_are_bold_and_orange_and_symbols_are_unchanged():
    figure = draw("parrot_fig1_posters_pictures", [example(0)])

    found = figure.findobj(lambda each: isinstance(each, matplotlib.text.Text))
    marked = {text.get_text() for text in found if text.get_color() == CO_COLOUR}
    assert marked == {"Red-hot"}
    assert "$5_or_$6" in words(figure)


def test_spans_are_outlined_and_those_of_co_embedded_words_are_orange():
    figure = draw("parrot_fig15", [example(0, "parroting")])

    colours = [matplotlib.colors.to_hex(each.get_edgecolor()) for each in figure.axes[0].patches]
    assert colours.count(CO_COLOUR.lower()) == 1
    assert len(colours) == 1 + 2 * 3  # the frame; each outline on white: two spans, one again


def test_text_is_covered_with_colour_if_images_are_distinguished_by_it():
    (image,) = images(draw("parrot_fig8", [example(0, "distracted")]))

    shown, stored = np.asarray(image.get_array()), pixels()
    changed = (shown != stored).any(axis=2)
    assert changed[5:14, 5:20].all()
    assert changed[21:40, 61:90].all()
    assert not changed[42:].any()


def test_scores_before_and_after_are_stated():
    text = words(draw("parrot_fig8", [example(0, "dependent")]))

    assert "S(·) 0.300" in text
    assert "S(\N{MULTIPLICATION SIGN}) \N{MINUS SIGN}0.100" in text
    assert "No image of posters has a higher score without its text." in text


def test_images_of_table_14_are_numbered_from_1():
    text = words(draw("parrot_fig15", rows_for("parrot_fig15", 2)))

    assert "1 0.300 2 0.300" in text


def test_a_column_states_its_cluster_and_its_share_of_text():
    figure = draw("parrot_fig14_posters", rows_for("parrot_fig14_posters", 6))

    assert "0 75% text 0.300 0.300 1 75% text" in words(figure)
    assert len(images(figure)) == 6


def test_terms_are_shown_and_named():
    figure = draw("parrot_fig2", [example(0, "repeating")])

    assert len(images(figure)) == len(TERMS)
    assert all(title in words(figure) for title in TERMS.values())


def test_without_a_donor_the_terms_say_so():
    lone = example(0, "repeating", donor_row=None, random_all=None)

    figure = draw("parrot_fig2", [lone])

    assert len(images(figure)) == len(TERMS) - 1
    assert "no other image of the shard has text" in words(figure)


@pytest.mark.parametrize("largest", [40, 256])
def test_terms_show_what_is_erased_from_reduced_images(largest):
    erasing = {"radius": 7.0, "dilation": 4.0, "shorter_side": largest}
    how = TermOptions(**erasing, side=64, type_size=9)
    image = Image.fromarray(pixels())

    found = term_pictures(image, example(0, "repeating"), texts(2), dejavu_sans(), how, "words")

    stored = np.asarray(Reduced(largest)(image))
    size = stored.shape[:2]
    grown, radius = (scaled_length(erasing[name], *size) for name in ("dilation", "radius"))
    for term, polygons in (("all", [LEFT, RIGHT]), ("co", [LEFT])):
        mask = mask_of(scaled(polygons, (HEIGHT, WIDTH), size), *size, dilation=grown)
        np.testing.assert_array_equal(np.asarray(found[f"{term}_mask"])[..., 0], 255 * mask)
        np.testing.assert_array_equal(found[term], erase(stored, mask, radius=radius))
    np.testing.assert_array_equal(found["random_all"], found["all"])  # the donor's spans are equal


@pytest.mark.parametrize("name", FORMS)
def test_an_image_that_cannot_be_decoded_is_a_crossed_box(name):
    rows = rows_for(name, 1)

    figure = draw(name, rows, {("posters", row): b"no picture" for row in range(len(rows))})

    assert len(images(figure)) == 0
    assert "unreadable" in {line.get_label() for line in figure.axes[0].lines}


@pytest.mark.parametrize("name", FORMS)
def test_without_images_there_are_uids_and_the_same_words(name):
    rows = rows_for(name, 2)
    uids = {("posters", row): f"{row + 1:08x}" * 4 for row in range(len(rows))}

    shown, hidden = draw(name, rows), draw(name, rows, uids)

    assert not hidden.findobj(matplotlib.image.AxesImage)
    assert not hidden.axes[0].patches
    assert set(words(shown).split()) <= set(words(hidden).split())
    text = words(hidden).replace(" ", "")
    assert all(uid in text for uid in uids.values())


def test_without_images_and_a_donor_the_terms_say_so():
    lone = example(0, "repeating", donor_row=None, random_all=None)

    text = words(draw("parrot_fig2", [lone], {("posters", 0): "0123456789abcdef" * 2}))

    assert text.count("01234567 89abcdef 01234567 89abcdef") == len(TERMS) - 1
    assert "no other image of the shard has text" in text


@pytest.mark.parametrize("name", FORMS)
def test_an_empty_gallery_says_so(name):
    text = words(draw(name, []))

    for asked in GALLERIES[name].options.lists:
        assert asked.empty in text


@pytest.mark.parametrize("count", [1, 9])
@pytest.mark.parametrize("name", FORMS)
def test_everything_stays_on_the_page_and_every_letter_is_legible(name, count):
    long = {"caption": "and a red star, or so, " * 100}
    figure = draw(name, [row | long for row in rows_for(name, count)])
    canvas = FigureCanvasAgg(figure)
    canvas.draw()

    texts = figure.findobj(lambda each: isinstance(each, matplotlib.text.Text) and each.get_text())
    boxes = [text.get_window_extent(canvas.get_renderer()) for text in texts]
    assert min(box.x0 for box in boxes) >= 0
    assert max(box.x1 for box in boxes) <= figure.bbox.width
    assert min(box.y0 for box in boxes) >= 0
    assert max(box.y1 for box in boxes) <= figure.bbox.height
    assert min(text.get_fontsize() for text in texts) >= SMALLEST_POINTS
    extents = [image.get_window_extent() for image in images(figure)]
    assert not any(box.overlaps(extent) for box in boxes for extent in extents)


@pytest.mark.parametrize("name", FORMS)
def test_the_same_examples_give_the_same_bytes(name):
    first, second = (figure_bytes(draw(name, rows_for(name, 2))) for _ in "ab")

    assert first == second
