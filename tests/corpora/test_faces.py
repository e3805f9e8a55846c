import json
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw
from tinyyunet import tiny_yunet

from clipaudit.corpora.faces import Box, face_finder, stated_boxes
from clipaudit.corpora.reasons import Unusable
from clipaudit.errors import InputError

PICTURE = Image.new("RGB", (64, 64))


def stated(listed):
    return stated_boxes({"json": json.dumps({"faces": listed}).encode()}, "faces")


@pytest.mark.parametrize("members", [{}, {"json": b"{}"}, {"json": b'{"faces": null}'}])
def test_a_sample_without_a_list_of_faces_has_none(members):
    assert stated_boxes(members, "faces") == []


def test_boxes_are_numbers_or_objects_as_in_coco():
    assert stated([{"bbox": [1, 2, 3.5, 4], "score": 1}]) == [Box(1, 2, 3.5, 4)]
    assert stated([[9, 9, 2, 2], [1, 2, 3, 4]]) == [Box(1, 2, 3, 4), Box(9, 9, 2, 2)]


def test_the_field_is_the_one_named_in_the_settings():
    find = face_finder(None, field="people")

    assert find(PICTURE, {"json": b'{"faces": [[1, 1, 9, 9]], "people": []}'}) == []


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ({"bbox": []}, "`faces` in the JSON is a dict, not a list of boxes"),
        ([1, 2, 3, 4], r"`faces` in the JSON has 1, not \[left, top, width, height\]"),
        ([[1, 2, 3]], r"has \[1, 2, 3\], not"),
        ([[1, 2, "3", 4]], r"has \[1, 2, '3', 4\], not"),
        ([[1, 2, True, 4]], "has .*True.*, not"),
        ([[1, 2, 1e12, 4]], "not"),
        ([{"box": [1, 2, 3, 4]}], "not"),
        ([[5, 5, -3, 4]], "of negative size"),
        ([[0.1, 0.2, 0.3, 0.4]], "shares of the image"),
    ],
)  # fmt: skip
def test_an_invalid_list_of_boxes_does_not_count_as_no_faces(listed, message):
    with pytest.raises(InputError, match=message):
        stated(listed)


def test_nan_is_not_a_coordinate():
    with pytest.raises(InputError, match="nan"):
        stated_boxes({"json": b'{"faces": [[NaN, 1, 5, 5]]}'}, "faces")


@pytest.mark.parametrize("text", [b"[1]", b"{", b"\xff", b'{"a": "' + b"a" * (1 << 20) + b'"}'])
def test_json_that_the_index_refuses_is_refused(text):
    with pytest.raises(Unusable):
        stated_boxes({"json": text}, "faces")


@pytest.mark.parametrize("name", ["none.xml", "none.onnx"])
def test_a_missing_detector_is_one_clear_error(tmp_path, name):
    with pytest.raises(InputError, match=rf"{name}: no such file"):
        face_finder(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bad.onnx", "not a YuNet that OpenCV can read"),
        ("bad.xml", "not a Haar cascade that OpenCV can read"),
        ("bad.pt", r"but a face detector ends in \.onnx"),
    ],
)
def test_a_file_that_is_not_a_detector_is_one_clear_error(tmp_path, name, message):
    pytest.importorskip("cv2")
    (tmp_path / name).write_bytes(b"no detector")

    with pytest.raises(InputError, match=rf"{name}: .*{message}"):
        face_finder(tmp_path / name)


def drawn_face(side=240):
    """Draw light and dark areas for a cascade: brow and eyes darker than cheeks and nose."""
    picture = Image.new("RGB", (side, side), (90, 110, 130))
    draw = ImageDraw.Draw(picture)
    draw.ellipse((60, 40, 180, 200), fill=(225, 190, 165))
    draw.pieslice((58, 30, 182, 150), 180, 360, fill=(50, 35, 25))
    draw.rectangle((70, 78, 170, 92), fill=(225, 190, 165))
    for left in (78, 132):
        draw.rectangle((left, 90, left + 30, 96), fill=(60, 40, 30))
        draw.ellipse((left + 3, 98, left + 27, 112), fill=(70, 50, 45))
    draw.polygon([(120, 105), (110, 142), (130, 142)], fill=(240, 210, 190))
    draw.rectangle((108, 140, 132, 146), fill=(150, 105, 95))
    draw.ellipse((95, 158, 145, 174), fill=(130, 60, 60))
    return picture


@pytest.fixture(scope="module")
def cascade():
    cv2 = pytest.importorskip("cv2")
    if not hasattr(cv2, "CascadeClassifier"):
        pytest.skip("OpenCV 5 reads no cascades")
    return face_finder(Path(cv2.data.haarcascades) / "haarcascade_frontalface_default.xml")


def test_a_cascade_finds_a_drawn_face(cascade):
    (face,) = cascade(drawn_face(), {})

    assert 30 < face.left < 90
    assert 20 < face.top < 100
    assert 90 < face.width < 180


def test_a_cascade_finds_nothing_in_a_blank_image(cascade):
    assert cascade(PICTURE, {}) == []


@pytest.fixture
def yunet(tmp_path):
    """Return a YuNet finder for images of 320 pixels with faces in the cells (1, 1) and (4, 2)."""
    pytest.importorskip("cv2")
    path = tmp_path / "tiny.onnx"
    path.write_bytes(tiny_yunet(320, {2 * 40 + 4: 0.95, 1 * 40 + 1: 0.8}))
    return lambda **options: face_finder(path, **options)


def test_a_yunet_finds_the_faces_above_the_threshold(yunet):
    picture = Image.new("RGB", (320, 320))

    assert np.allclose(yunet()(picture, {}), [[28, 8, 16, 24]])
    assert np.allclose(yunet(threshold=0.75)(picture, {}), [[4, 0, 16, 24], [28, 8, 16, 24]])
    assert yunet(threshold=0.99)(picture, {}) == []


def test_a_face_in_a_smaller_view_is_located_in_the_full_image(yunet, monkeypatch):
    monkeypatch.setattr("clipaudit.corpora.faces._VIEWS", (320,))

    assert np.allclose(yunet()(Image.new("RGB", (960, 960)), {}), [[84, 24, 48, 72]])


def test_a_detector_without_opencv_is_one_clear_error(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cv2", None)
    (tmp_path / "any.onnx").touch()

    with pytest.raises(InputError, match=r"OpenCV, which cannot be imported .*Install opencv"):
        face_finder(tmp_path / "any.onnx")
