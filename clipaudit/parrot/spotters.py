"""The spotter rapidocr: one model from its wheel finds lines of text, another reads them.

Images are read at their own size, small ones at about twice that: scaling them up to 736 pixels,
as rapidocr does by default, costs ten times as much. Each line is read alone, at its own width, so
its reading depends on no other line, and no time goes to padding.
"""

from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

import cv2
import numpy as np
import onnxruntime
import rapidocr
from jaxtyping import Float32, UInt8
from rapidocr.ch_ppocr_det.utils import ResizeImgError
from rapidocr.ch_ppocr_rec import TextRecOutput
from rapidocr.inference_engine.base import FileInfo
from rapidocr.inference_engine.onnxruntime import ONNXRuntimeError, OrtInferSession
from rapidocr.main import DEFAULT_CFG_PATH, RapidOCRError
from rapidocr.utils.parse_parameters import ParseParams

from clipaudit.corpora.reasons import Unusable
from clipaudit.errors import StepError
from clipaudit.parrot.denormal_weights import without_denormals
from clipaudit.parrot.settings import Spotting
from clipaudit.parrot.spans import Polygon, Span, Word
from clipaudit.parrot.spotting import SPOTTING_FAILED
from clipaudit.store.store import file_sha256

_OUTSIDE = 2  # pixels by which a word, rounded by rapidocr, may stick out of its line
_BLANK = np.full((32, 32, 3), 255, np.uint8)  # any image works

# What rapidocr raises for an image: its engine's errors, OpenCV's, and those of odd polygons
_STUMBLES = (ONNXRuntimeError, ResizeImgError, cv2.error, ValueError, ArithmeticError, IndexError)

# What rapidocr's numbers may depend on besides the settings; the first two are its defaults.
_DET_THRESHOLD = 0.3  # of a pixel to be text
_UNCLIP_RATIO = 1.6  # how far a box grows beyond its core
# pixels to which a line of 48 px height is padded at least: 412 of 430 words in images of the demo
# are read, 410 with 96 pixels; rapidocr's 320 takes more than twice the time for most lines
LINE_WIDTH = 48
HEIGHT = 48  # pixels of a line that is read
_ASKED = ("text_score", "box_threshold", "longest_side", "shorter_side", "turned_below", "batch")

Corners = Float32[np.ndarray, "_ 2"]


class RapidSpotter:
    """rapidocr's line finder and line reader, loaded for the first image that needs them."""

    device = "cpu"  # that the networks run on

    def __init__(self, asked: Spotting) -> None:
        """Check that the models exist; raises StepError."""
        self._asked = asked
        self._models = {task: _model_file(task) for task in ("Det", "Rec")}

    @property
    def version(self) -> str:
        """The libraries and the weights, as one line."""
        weights = [f"{path.name} {_digest(path)[:12]}" for path in self._models.values()]
        engine = f"onnxruntime {onnxruntime.__version__}"
        return ", ".join([f"rapidocr {version('rapidocr')}", engine, *weights])

    @property
    def recipe(self) -> Mapping[str, object]:
        """The settings and the version."""
        return {
            "spotter": "rapidocr",
            "version": self.version,
            "det_threshold": _DET_THRESHOLD,
            "unclip_ratio": _UNCLIP_RATIO,
            "line_width": LINE_WIDTH,
            "device": self.device,
            **self._asked.model_dump(include=set(_ASKED)),
        }

    def spot(self, pixels: UInt8[np.ndarray, "h w 3"]) -> list[Span]:
        """Return the lines of text from top to bottom, those of similar height left to right.

        Lines without a letter or digit do not count as text. An image of a single colour is not
        read. Images are scaled for reading; polygons are in pixels of the given image. Raises
        Unusable for an image on which the engine fails, StepError if it fails on every image.
        """
        if (pixels == pixels[0, 0]).all():
            return []
        try:
            return self._lines(pixels)
        except _STUMBLES as error:
            self._refuse_broken_engine()
            raise Unusable(SPOTTING_FAILED, _last_line(error)) from error

    @cached_property
    def _engine(self) -> Any:  # noqa: ANN401  # its attributes are set one by one, and untyped
        return self._make_engine()

    def _make_engine(self) -> Any:  # noqa: ANN401
        with TemporaryDirectory(prefix="clipaudit-") as folder:
            line_finder = Path(folder) / self._models["Det"].name
            line_finder.write_bytes(without_denormals(self._models["Det"].read_bytes()))
            engine = self._started(line_finder)
            _detect(engine, _BLANK)  # loads the line finder
        return engine

    def _started(self, line_finder: Path) -> Any:  # noqa: ANN401
        """Return rapidocr's engine, which loads each model on first use."""
        runtime = "EngineConfig.onnxruntime"
        return rapidocr.RapidOCR(
            params={
                "Global.log_level": "critical",
                "Global.return_word_box": True,
                "Det.model_path": str(line_finder),
                "Rec.model_path": str(self._models["Rec"]),
                "Det.limit_type": "max",  # an image's own size, rounded to 32, up to the limit
                "Det.limit_side_len": self._asked.longest_side,
                "Det.thresh": _DET_THRESHOLD,
                "Det.box_thresh": self._asked.box_threshold,
                "Det.unclip_ratio": _UNCLIP_RATIO,
                "Rec.rec_img_shape": [3, HEIGHT, LINE_WIDTH],
                "Rec.rec_batch_num": self._asked.batch,
                f"{runtime}.intra_op_num_threads": 1,  # fastest per core (tried)
                f"{runtime}.inter_op_num_threads": 1,
            }
        )

    def _refuse_broken_engine(self) -> None:
        """Raise StepError if it also fails on a blank image, which means a fault of the machine."""
        try:
            _detect(self._engine, _BLANK)
        except _STUMBLES as error:
            raise StepError(
                f"rapidocr fails on every image ({_last_line(error)}). Check the machine's memory "
                f"and the device {self.device!r}, then run this again."
            ) from error

    def _lines(self, pixels: UInt8[np.ndarray, "h w 3"]) -> list[Span]:
        shown = _fitted(pixels, self._asked.shorter_side, self._asked.longest_side)
        crops, boxes, top = _detect(self._engine, shown[:, :, ::-1])  # it takes BGR
        if not crops:
            return []
        lines = self._read(crops, boxes)
        sizes = [np.array(each.shape[1::-1], np.float32) for each in (pixels, shown)]
        place = _Place(top, sizes[0] / sizes[1], sizes[0])
        spans = []
        for crop, box, text, score, info in lines:
            corners = place(box)
            if score < self._asked.text_score or _is_flat(corners):
                continue
            if not any(map(str.isalnum, text)):  # rapidocr also reads stars and arrows
                continue
            words = self._words(crop, box, text, info, place)
            spans.append(Span(text, float(np.float32(score)), _polygon(corners), words))
        return spans

    def _read(
        self, crops: Sequence[np.ndarray], boxes: Float32[np.ndarray, "n 4 2"]
    ) -> list["Line"]:
        """Return the reading of each line, upside down if that scores higher."""
        lines = self._recognized(crops, boxes)
        weak = [at for at, line in enumerate(lines) if line.score < self._asked.turned_below]
        if weak:
            turned = [cv2.rotate(crops[at], cv2.ROTATE_180) for at in weak]
            # the box begins where the line does
            again = self._recognized(turned, np.roll(boxes[weak], 2, axis=1))
            for at, line in zip(weak, again, strict=True):
                lines[at] = max(lines[at], line, key=lambda each: each.score)
        return lines

    def _recognized(
        self, crops: Sequence[np.ndarray], boxes: Float32[np.ndarray, "n 4 2"]
    ) -> list["Line"]:
        read = self._engine.recognize_txt(list(crops))
        found = zip(crops, boxes, read.txts, read.scores, read.word_results, strict=True)
        return [Line(*each) for each in found]

    def _words(
        self,
        crop: UInt8[np.ndarray, "h w 3"],
        box: Corners,
        text: str,
        info: object,
        place: "_Place",
    ) -> tuple[Word, ...] | None:
        """Return the words of one line, or None if rapidocr's do not spell it or exceed its box.

        rapidocr gets lines one by one, since its own loop loses count when one has no words.
        """
        line = TextRecOutput(txts=(text,), word_results=(info,))  # type: ignore[arg-type]
        placed = self._engine.cal_rec_boxes([crop], box[None], line, False).word_results
        if not placed:
            return None
        pieces = [(piece, np.array(corners, np.float32)) for piece, _, corners in placed[0]]
        low, high = box.min(axis=0) - _OUTSIDE, box.max(axis=0) + _OUTSIDE
        if any((corners < low).any() or (corners > high).any() for _, corners in pieces):
            return None
        words = _joined(text.split(), pieces)
        if words is None:
            return None
        return tuple(Word(word, _polygon(place(corners))) for word, corners in words)


class Line(NamedTuple):
    """A cropped line, its box from the line's first corner, and its reading."""

    crop: np.ndarray
    box: Corners
    text: str
    score: float
    words: object  # rapidocr's own, for `_words`


class _Place(NamedTuple):
    """The mapping of corners from the image that was read, padded by `top`, to the stored one."""

    top: int
    scale: Float32[np.ndarray, " 2"]  # of x and y
    size: Float32[np.ndarray, " 2"]  # width and height

    def __call__(self, corners: Corners) -> Corners:
        placed = (corners - np.array([0, self.top], np.float32)) * self.scale
        inside: np.ndarray = np.clip(placed, np.float32(0), self.size)
        return inside


def _detect(
    engine: Any,  # noqa: ANN401
    bgr: UInt8[np.ndarray, "h w 3"],
) -> tuple[list[np.ndarray], Float32[np.ndarray, "n 4 2"], int]:
    """Return the cropped lines, their boxes, and the padding above flat images."""
    record: dict[str, dict[str, int]] = {}
    try:
        crops, found = engine.detect_and_crop(np.ascontiguousarray(bgr), record)
    except RapidOCRError:  # raised for an image without text
        return [], np.zeros((0, 4, 2), np.float32), 0
    return crops, found.boxes.astype(np.float32), record["padding_1"]["top"]


def _fitted(
    pixels: UInt8[np.ndarray, "h w 3"], shorter: int, longest: int
) -> UInt8[np.ndarray, "height width 3"]:
    """Return the image scaled up to the shorter side, or down to the longest, which has priority.

    >>> _fitted(np.zeros((64, 96, 3), np.uint8), 128, 2000).shape
    (128, 192, 3)
    >>> _fitted(np.zeros((4, 2000, 3), np.uint8), 128, 1000).shape
    (2, 1000, 3)
    """
    height, width = pixels.shape[:2]
    scale = min(max(1, shorter / min(height, width)), longest / max(height, width))
    if scale == 1:
        return pixels
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    how = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    scaled: np.ndarray = cv2.resize(pixels, size, interpolation=how)
    return scaled


def _joined(
    words: Sequence[str], pieces: Sequence[tuple[str, Corners]]
) -> list[tuple[str, Corners]] | None:
    """Return each word with the hull of its pieces, or None if these do not spell the words.

    rapidocr splits a line with Chinese characters into single ones, and words at wide gaps.
    """
    rest = list(pieces)
    found = []
    hull: np.ndarray
    for word in words:
        spelled, hull = "", np.zeros((0, 2), np.float32)
        while rest and len(spelled) < len(word):
            piece, corners = rest.pop(0)
            spelled, hull = spelled + piece, np.concatenate([hull, corners])
        if spelled != word:
            return None
        if len(hull) > 4:  # of more than one piece
            hull = cv2.convexHull(hull)[:, 0]
        if len(hull) < 3:
            return None
        found.append((word, hull))
    return None if rest else found


def _polygon(corners: Corners) -> Polygon:
    return tuple(corners.reshape(-1).tolist())


def _is_flat(corners: Corners) -> bool:
    """Return whether a box is entirely in the padding, outside the image."""
    return bool(cv2.contourArea(corners) == 0)


def _last_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1] if lines else type(error).__name__


# --- models ---------------------------------------------------------------------------------------


def _model_file(task: Literal["Det", "Rec"]) -> Path:
    """Return a model from rapidocr's wheel; raises StepError if it has changed."""
    config = ParseParams.load(DEFAULT_CFG_PATH)[task]
    names = ("engine_type", "ocr_version", "task_type", "lang_type", "model_type")
    info = OrtInferSession.get_model_url(FileInfo(**{name: config[name] for name in names}))
    path = Path(rapidocr.__file__).parent / "models" / Path(info["model_dir"]).name
    again = f"Install it again: pip install --force-reinstall rapidocr=={version('rapidocr')}"
    if not path.is_file():
        raise StepError(f"{path}: the model is missing, which rapidocr's wheel carries. {again}")
    if _digest(path) != info["SHA256"]:
        raise StepError(
            f"{path}: the content is {_digest(path)[:12]}..., but rapidocr made "
            f"{info['SHA256'][:12]}... {again}"
        )
    return path


@cache
def _digest(path: Path) -> str:
    return file_sha256(path)
