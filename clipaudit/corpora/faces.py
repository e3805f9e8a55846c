"""Finds faces: by an OpenCV detector whose file the user gives, or as the shard states them.

A finder takes an image with the members of its sample and returns the boxes of its faces, in the
image's own pixels, as stored: no EXIF rotation is applied (`corpora.images`).

* YuNet (.onnx): https://github.com/opencv/opencv_zoo, models/face_detection_yunet
* Haar cascades (.xml): come with OpenCV 4 in `cv2.data.haarcascades`; OpenCV 5 reads none
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import UInt8
from PIL import Image

from clipaudit.corpora.captions import json_object
from clipaudit.corpora.reasons import TEXT_TOO_LONG, Unusable
from clipaudit.corpora.samples import MAX_TEXT_BYTES
from clipaudit.errors import InputError

YUNET_THRESHOLD = 0.9  # OpenCV's own default of `score_threshold`
# Longest sides, in pixels, at which YuNet reads an image: its page promises faces of 10 to 300
# pixels, so the small view is for portraits and the large one for crowds.
_VIEWS = (320, 1280)


class Box(NamedTuple):
    """A face in an image, in pixels; fractions and places outside the image may occur."""

    left: float
    top: float
    width: float
    height: float


FaceFinder = Callable[[Image.Image, Mapping[str, bytes]], list[Box]]


def face_finder(
    detector: Path | None, *, field: str = "faces", threshold: float = YUNET_THRESHOLD
) -> FaceFinder:
    """Return the finder in the settings: a detector, or the boxes in a field of the JSON.

    Boxes are in the order of their corners. `threshold` is YuNet's: a face has this score or more.
    Raises InputError for a detector that cannot be read.
    """
    if detector is None:
        return lambda picture, members: stated_boxes(members, field)
    if not detector.is_file():
        raise InputError(f"{detector}: no such file. Give the path of a face detector.")
    if detector.suffix == ".onnx":
        return _yunet(detector, threshold)
    if detector.suffix == ".xml":
        return _cascade(detector)
    raise InputError(
        f"{detector}: the extension is {detector.suffix or 'missing'}, but a face detector ends in "
        ".onnx (YuNet) or .xml (a Haar cascade). Give one of these."
    )


def stated_boxes(members: Mapping[str, bytes], field: str) -> list[Box]:
    """Return the boxes that a field of the sample's JSON lists; none without JSON or field.

    Entries are `[left, top, width, height]` in pixels, or objects with this as `bbox`, as in COCO.
    Raises Unusable if the index refuses the JSON, and InputError for anything other than such a
    list: an unreadable one must not pass for an image without faces.

    >>> stated_boxes({"json": b'{"faces": [[4, 2, 8, 9], {"bbox": [0, 0, 5, 5]}]}'}, "faces")
    [Box(left=0.0, top=0.0, width=5.0, height=5.0), Box(left=4.0, top=2.0, width=8.0, height=9.0)]
    """
    length = len(members.get("json", b""))
    if length > MAX_TEXT_BYTES:
        raise Unusable(TEXT_TOO_LONG, f".json of {length} bytes, the limit is {MAX_TEXT_BYTES}")
    listed = json_object(members).get(field)
    if listed is None:
        return []
    if not isinstance(listed, list):
        raise InputError(
            f"`{field}` in the JSON is a {type(listed).__name__}, not a list of boxes. "
            "Name the right field as `boxes`, or correct it."
        )
    return sorted(_box(entry, field) for entry in listed)


def _box(entry: object, field: str) -> Box:
    stated = entry.get("bbox") if isinstance(entry, dict) else entry
    if not isinstance(stated, list) or len(stated) != 4 or not all(map(_is_length, stated)):
        raise InputError(
            f"`{field}` in the JSON has {_short(entry)}, not [left, top, width, height]. "
            "Correct it, or name the right field as `boxes`."
        )
    box = Box(*map(float, stated))
    if box.width < 0 or box.height < 0:
        raise InputError(
            f"`{field}` in the JSON has {_short(entry)}, of negative size. Correct it."
        )
    if max(box.width, box.height) <= 1:
        raise InputError(
            f"`{field}` in the JSON has {_short(entry)}, a face within one pixel. If these are "
            "shares of the image (as DataComp's `face_bboxes`: left, top, right, bottom), write "
            "left, top, width, height in pixels."
        )
    return box


def _is_length(value: object) -> bool:
    """Return whether it is a number that can place a pixel: not NaN, not beyond any image."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9


def _short(entry: object) -> str:
    return f"{entry!r:.100}"


def _cascade(path: Path) -> FaceFinder:
    """Return the finder of a Haar cascade, with the scale factor and votes OpenCV defaults to."""
    cv2 = _opencv()
    if not hasattr(cv2, "CascadeClassifier"):
        raise InputError(
            f"{path}: OpenCV {cv2.__version__} cannot read Haar cascades. "
            "Install opencv-python-headless below 5, or give a YuNet .onnx file."
        )
    cascade = cv2.CascadeClassifier()  # given the path here, it would raise SystemError
    try:
        read = cascade.load(str(path))
    except cv2.error as error:
        raise _unreadable(path, "Haar cascade") from error
    if not read:
        raise _unreadable(path, "Haar cascade")

    def find(picture: Image.Image, members: Mapping[str, bytes]) -> list[Box]:
        grey = np.asarray(picture.convert("L"))
        return sorted(Box(*map(float, box)) for box in cascade.detectMultiScale(grey))

    return find


def _yunet(path: Path, threshold: float) -> FaceFinder:
    """Return the finder of a YuNet: faces of a small and of a large view of the image."""
    cv2 = _opencv()
    try:
        yunet = cv2.FaceDetectorYN.create(str(path), "", (320, 320), threshold)
    except cv2.error as error:
        raise _unreadable(path, "YuNet") from error

    def find(picture: Image.Image, members: Mapping[str, bytes]) -> list[Box]:
        found = set()
        for pixels, scale in _views(picture):
            yunet.setInputSize((pixels.shape[1], pixels.shape[0]))
            try:
                _, faces = yunet.detect(np.ascontiguousarray(pixels[:, :, ::-1]))  # OpenCV's BGR
            except cv2.error as error:
                raise _unreadable(path, "YuNet") from error
            # None where there are none; a row: left, top, width, height, five landmarks, score
            for row in [] if faces is None else faces:
                found.add(Box(*(float(x) * scale for x in row[:4])))
        return sorted(found)

    return find


def _views(picture: Image.Image) -> list[tuple[UInt8[np.ndarray, "height width 3"], float]]:
    """Return the image at each view's size, never enlarged, and the factor of reduction."""
    longest = max(picture.size)
    views = []
    for side in sorted({min(side, longest) for side in _VIEWS}):
        scale = longest / side
        size = [max(1, round(length / scale)) for length in picture.size]
        views.append((np.asarray(picture.resize((size[0], size[1]))), scale))
    return views


def _opencv() -> Any:  # noqa: ANN401
    """Return OpenCV set to one thread, so that candidates always come in the same order."""
    try:
        import cv2
    except ImportError as error:
        raise InputError(
            f"a face detector needs OpenCV, which cannot be imported ({error}). "
            "Install opencv-python-headless, or let the shards state the boxes."
        ) from error
    cv2.setNumThreads(1)
    return cv2


def _unreadable(path: Path, kind: str) -> InputError:
    return InputError(f"{path}: not a {kind} that OpenCV can read. Download it again.")
