import copy
import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont
from rapidocr.inference_engine.onnxruntime import ONNXRuntimeError

from clipaudit.corpora.reasons import Unusable
from clipaudit.errors import StepError
from clipaudit.parrot import spotters
from clipaudit.parrot.settings import Spotting
from clipaudit.parrot.spans import spans_of, spans_table
from clipaudit.parrot.spotters import RapidSpotter
from clipaudit.parrot.spotting import SPOTTING_FAILED

FONT = Path(matplotlib.get_data_path()) / "fonts/ttf/DejaVuSans.ttf"


def drawn(*lines, size=22, side=224, colours=("white", "black")):
    """Return an image of lines of text, and the exact box of each: left, top, right, bottom."""
    picture = Image.new("RGB", (side, side), colours[0])
    draw, font = ImageDraw.Draw(picture), ImageFont.truetype(str(FONT), size)
    corners = [(side // 12, side // 12 + 2 * size * at) for at in range(len(lines))]
    for line, corner in zip(lines, corners, strict=True):
        draw.text(corner, line, fill=colours[1], font=font)
    boxes = [draw.textbbox(at, line, font=font) for line, at in zip(lines, corners, strict=True)]
    return np.asarray(picture), boxes


def extent(polygon):
    return [min(polygon[::2]), min(polygon[1::2]), max(polygon[::2]), max(polygon[1::2])]


@pytest.fixture(scope="module")
def spotter():
    return RapidSpotter(Spotting())


@pytest.mark.parametrize("size", [14, 22, 30])
@pytest.mark.parametrize("colours", [("white", "black"), ("navy", "yellow"), ("gray", "white")])
def test_drawn_words_are_read(spotter, size, colours):
    pixels, _ = drawn("zebra", "big SALE", "coffee", size=size, colours=colours)

    spans = spotter.spot(pixels)

    assert [span.text for span in spans] == ["zebra", "big SALE", "coffee"]


def test_spans_are_at_the_text(spotter):
    pixels, boxes = drawn("zebra", "coffee")

    spans = spotter.spot(pixels)

    for span, box in zip(spans, boxes, strict=True):
        beyond = np.array([-1, -1, 1, 1]) * (np.array(extent(span.polygon)) - box)
        assert (beyond >= -2).all(), "the text lies within"
        assert (beyond <= 16).all(), "and little else"


def test_words_of_a_line_are_side_by_side_within_it(spotter):
    pixels, (box,) = drawn("big red SALE")

    (span,) = spotter.spot(pixels)

    assert [word.text for word in span.words] == ["big", "red", "SALE"]
    edges = [extent(word.polygon)[at] for word in span.words for at in (0, 2)]
    assert edges == sorted(edges)
    np.testing.assert_allclose((edges[0], edges[-1]), (box[0], box[2]), atol=8)


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_rotated_text_is_read_with_correct_word_positions(spotter, turns):
    pixels, (box,) = drawn("big red SALE")

    (span,) = spotter.spot(np.ascontiguousarray(np.rot90(pixels, turns)))

    assert [word.text for word in span.words] == ["big", "red", "SALE"]
    middles = np.array([word.polygon for word in span.words]).reshape(3, 4, 2).mean(axis=1)
    for _ in range(turns):  # back, clockwise
        middles = np.stack([224 - middles[:, 1], middles[:, 0]], axis=1)
    assert (np.diff(middles[:, 0]) > 0).all()
    np.testing.assert_allclose(middles[:, 1], (box[1] + box[3]) / 2, atol=8)


def test_upside_down_text_is_not_searched_if_turned_off():
    pixels = np.ascontiguousarray(np.rot90(drawn("coffee")[0], 2))

    spans = RapidSpotter(Spotting(turned_below=0)).spot(pixels)

    assert "coffee" not in [span.text for span in spans]


def test_small_images_are_read_at_their_own_size(spotter):
    pixels, _ = drawn("fox", size=18, side=64)

    assert [span.text for span in spotter.spot(pixels)] == ["fox"]


def test_a_strip_is_read_at_its_own_resolution(spotter):
    pixels, (box,) = drawn("big SALE", size=16)
    strip = np.ascontiguousarray(pixels[box[1] - 6 : box[3] + 6])  # under 30 high: is padded

    (span,) = spotter.spot(strip)

    assert span.text == "big SALE"
    assert extent(span.polygon)[1] >= 0
    assert extent(span.polygon)[3] <= len(strip)


def test_reduced_images_keep_their_original_coordinates(spotter):
    pixels, (box,) = drawn("zebra", size=66, side=672)
    small = RapidSpotter(Spotting(longest_side=224))

    (span,) = small.spot(pixels)

    assert span.text == "zebra"
    np.testing.assert_allclose(extent(span.polygon), box, atol=36)


def test_spans_that_are_read_survive_the_table(spotter):
    spans = spotter.spot(drawn("big SALE")[0])

    assert list(spans_of(spans_table([(0, 0, spans)]))) == [spans]


@pytest.mark.parametrize("shape", [(2, 2), (2, 800), (800, 2), (20, 400), (33, 31), (10, 224)])
def test_spans_are_inside_images_of_any_shape(spotter, rng_pixels, shape):
    spans = spotter.spot(rng_pixels(shape))

    height, width = shape
    for span in spans:
        assert 0 <= min(span.polygon)
        assert max(span.polygon[::2]) <= width
        assert max(span.polygon[1::2]) <= height


@pytest.mark.parametrize("shape", [(60, 400), (400, 60)])
def test_spans_are_inside_long_images(spotter, shape):
    image = Image.new("RGB", shape[::-1], "white")
    ImageDraw.Draw(image).text(
        (3, 20), "SALE", font=ImageFont.truetype(str(FONT), 20), fill="black"
    )

    (span,) = spotter.spot(np.asarray(image))

    assert span.text == "SALE"
    assert 0 <= min(span.polygon)
    assert max(span.polygon[::2]) <= shape[1]
    assert max(span.polygon[1::2]) <= shape[0]


@pytest.fixture
def rng_pixels():
    rng = np.random.default_rng(0)
    return lambda shape: rng.integers(0, 256, (*shape, 3), np.uint8)


def test_an_image_without_text_has_no_spans_and_runs_no_reader(spotter, monkeypatch, capfd):
    ramp = np.broadcast_to(np.arange(224, dtype=np.uint8)[:, None, None], (224, 224, 3))
    monkeypatch.setattr(spotter._engine, "recognize_txt", None)

    assert spotter.spot(ramp) == []
    assert capfd.readouterr() == ("", "")


def test_an_image_of_one_colour_loads_nothing():
    spotter = RapidSpotter(Spotting())

    assert spotter.spot(np.full((50, 60, 3), 7, np.uint8)) == []
    assert "_engine" not in vars(spotter)


LINES = ("fox", "big SALE", "coffee and apple pie", "zebra")


@settings(max_examples=15, deadline=None)
@given(order=st.lists(st.sampled_from(range(len(LINES))), min_size=1, max_size=6))
def test_a_line_gives_the_same_text_next_to_any_other_lines(spotter, order):
    drawings = [drawn(line) for line in LINES]
    crops = [pixels[top:bottom, left:right] for pixels, ((left, top, right, bottom),) in drawings]
    boxes = np.zeros((len(order), 4, 2), np.float32)

    together = spotter._recognized([crops[at] for at in order], boxes)

    alone = [spotter._recognized([crop], boxes[:1])[0] for crop in crops]
    assert [(line.text, line.score) for line in together] == [
        (alone[at].text, alone[at].score) for at in order
    ]


def test_uncertain_lines_are_omitted():
    strict = RapidSpotter(Spotting(text_score=0.9999))

    assert strict.spot(drawn("zebra")[0]) == []


def test_a_line_without_words_does_not_shift_the_words_of_others(spotter, monkeypatch):
    pixels, _ = drawn("zebra", "coffee", "apple")
    whole = spotter.spot(pixels)
    read = spotter._engine.recognize_txt

    def forgetful(crops):
        result = read(crops)
        first, second, third = map(copy.copy, result.word_results)
        second.words, second.word_cols, second.word_types = [], [], []
        result.word_results = (first, second, third)
        return result

    monkeypatch.setattr(spotter._engine, "recognize_txt", forgetful)

    assert spotter.spot(pixels) == [whole[0], whole[1]._replace(words=None), whole[2]]


def test_pieces_are_joined_to_the_words_of_the_line():
    square = np.array([[0, 0], [4, 0], [4, 4], [0, 4]], np.float32)
    pieces = [(piece, square + 4 * at) for at, piece in enumerate(["ab", "c", "d"])]

    joined = dict(spotters._joined(["abc", "d"], pieces))

    assert joined.keys() == {"abc", "d"}
    assert (joined["abc"].min(), joined["abc"].max()) == (0, 8)
    assert spotters._joined(["abc"], pieces) is None
    assert spotters._joined(["a", "bcd"], pieces) is None


def fail(*_):
    raise ONNXRuntimeError("Traceback\n  ...\nout of patience")


def test_an_image_on_which_the_engine_fails_is_unusable(spotter, monkeypatch):
    monkeypatch.setattr(spotter._engine, "recognize_txt", fail)

    with pytest.raises(Unusable, match=f"{SPOTTING_FAILED}: out of patience"):
        spotter.spot(drawn("zebra")[0])


def test_an_engine_that_fails_on_every_image_stops_the_step(spotter, monkeypatch):
    monkeypatch.setattr(spotter._engine, "detect_and_crop", fail)

    with pytest.raises(StepError, match=r"fails on every image \(out of patience\)"):
        spotter.spot(drawn("zebra")[0])


def test_the_recipe_names_settings_versions_and_weights(spotter):
    recipe = spotter.recipe

    assert recipe["version"].startswith("rapidocr 3.")
    assert recipe["version"].count(".onnx ") == 2
    assert recipe["text_score"] == 0.5


@pytest.mark.parametrize("damage", ["missing", "altered"])
def test_models_are_never_downloaded(tmp_path, monkeypatch, damage):
    (tmp_path / "models").mkdir()
    if damage == "altered":
        (tmp_path / "models" / "PP-OCRv6_det_small.onnx").write_bytes(b"else")
    monkeypatch.setattr(spotters.rapidocr, "__file__", str(tmp_path / "__init__.py"))

    with pytest.raises(StepError, match=r"PP-OCRv6_det_small.onnx: the .* Install it again"):
        RapidSpotter(Spotting())


def test_importing_the_spotting_module_loads_no_engine():
    script = (
        "import sys, clipaudit.parrot.spotting\n"
        "assert not {'torch', 'cv2', 'rapidocr', 'onnxruntime'} & sys.modules.keys()\n"
    )

    subprocess.run([sys.executable, "-c", script], check=True)
