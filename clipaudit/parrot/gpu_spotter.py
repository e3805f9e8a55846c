"""rapidocr on a GPU: its two networks compute many images together; all else is rapidocr's.

Each image is read in a thread of its own, which waits where it needs a network; once all of them
wait, equal shapes are computed together. Batches have one size, filled up with zeros, so the
numbers of an image do not depend on the images beside it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from math import prod
from threading import local
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float32, Int64, UInt8
from rapidocr.ch_ppocr_det.utils import DetPreProcess

from clipaudit.corpora.reasons import Unusable
from clipaudit.errors import StepError
from clipaudit.models.device import use_device
from clipaudit.parrot.denormal_weights import without_denormals
from clipaudit.parrot.onnx_networks import OnnxNetwork
from clipaudit.parrot.rounds import Rounds
from clipaudit.parrot.settings import Spotting
from clipaudit.parrot.spans import Span
from clipaudit.parrot.spotters import HEIGHT, LINE_WIDTH, Line, RapidSpotter
from clipaudit.parrot.spotting import ManySpotter

# Processes that share a GPU: each takes some 2 GB of its memory, and as much of the machine's. One
# alone reads 129 images a second on an H100; from how many on they wait was not measured.
PROCESSES = 8
IMAGES, LINES = 8, 16  # of one shape in a batch; fewer of shapes larger than these:
LARGE_IMAGE, LONG_LINE = 768 * 768 * 3, 48 * 960 * 3
WIDTHS = 48  # lines are padded to a multiple of this many pixels, so that there are few shapes

Picture = UInt8[np.ndarray, "_ _ 3"]
LineImage = Float32[np.ndarray, "3 _ _"]


class Finding(NamedTuple):
    """Asks where an image, whose sides are multiples of 32, has text."""

    image: Picture


class Reading(NamedTuple):
    """Asks what lines of text say."""

    lines: Sequence[LineImage]


class Peaks(NamedTuple):
    """The most probable character of each step of a line, and its probability."""

    characters: Int64[np.ndarray, " steps"]
    probabilities: Float32[np.ndarray, " steps"]


Question = Finding | Reading
Answer = np.ndarray | list[Peaks]
Ask = Callable[[Question], Any]


class GpuSpotter(RapidSpotter, ManySpotter):
    """rapidocr with its networks on a GPU, for many images at once."""

    together = 64  # images that a process reads at once

    def __init__(self, asked: Spotting, *, device: str = "cuda") -> None:
        """Check that the models exist; raises StepError. `device` is torch's name."""
        super().__init__(asked)
        self.device = device
        self._here = local()

    @property
    def recipe(self) -> Mapping[str, object]:
        """The settings and the version; batches are its own, not the setting's."""
        own = {"torch": torch.__version__, "images": IMAGES, "lines": LINES, "widths": WIDTHS}
        return {name: value for name, value in super().recipe.items() if name != "batch"} | own

    def spot(self, pixels: UInt8[np.ndarray, "h w 3"]) -> list[Span]:
        """Return what `spot_all` finds in one image; raises Unusable, StepError or ConfigError."""
        [found] = self.spot_all([pixels])
        if isinstance(found, Unusable):
            raise found
        return found

    def spot_all(
        self, pictures: Sequence[UInt8[np.ndarray, "_ _ 3"]]
    ) -> list[list[Span] | Unusable]:
        """Return the lines of text of each image, or why it has none, in the images' order.

        The results are nearly those of RapidSpotter; some lines are read otherwise, since lines are
        padded. Those of an image do not depend on the other images. Raises ConfigError if there is
        no such device, StepError if its memory does not suffice.
        """
        self._engine  # noqa: B018  # loaded here, not in the threads
        calls = [partial(self._spot_here, each) for each in pictures]
        found: list[list[Span] | Unusable] = []
        for each in Rounds(self._answer).run(calls):
            if isinstance(each, Exception) and not isinstance(each, Unusable):
                raise each
            found.append(each)
        return found

    def _spot_here(self, pixels: UInt8[np.ndarray, "h w 3"], ask: Ask) -> list[Span]:
        self._here.ask = ask
        return super().spot(pixels)

    def _make_engine(self) -> Any:  # noqa: ANN401
        self._torch_device = use_device(self.device, threads=1)
        files = {task: path.read_bytes() for task, path in self._models.items()}
        self._find = OnnxNetwork(without_denormals(files["Det"]), self._torch_device)
        self._read_lines = OnnxNetwork(files["Rec"], self._torch_device)
        engine = super()._make_engine()
        engine._load_rec_model()
        finder = engine.text_det
        finder.get_preprocess = lambda: (
            DetPreProcess(finder.limit_side_len, finder.limit_type).resize
        )
        finder.session = lambda image: self._here.ask(Finding(image))
        self._mean, self._deviation = (
            torch.tensor(list(each), device=self._torch_device).view(3, 1, 1)
            for each in (finder.mean, finder.std)
        )
        return engine

    def _recognized(
        self, crops: Sequence[np.ndarray], boxes: Float32[np.ndarray, "n 4 2"]
    ) -> list[Line]:
        reader = self._engine.text_rec
        ratios = [crop.shape[1] / crop.shape[0] for crop in crops]
        widest = [max(LINE_WIDTH / HEIGHT, ratio) for ratio in ratios]
        images = [
            reader.resize_norm_img(crop, ratio) for crop, ratio in zip(crops, widest, strict=True)
        ]
        lines = []
        peaks = self._here.ask(Reading(images))
        for crop, box, ratio, wide, peak in zip(crops, boxes, ratios, widest, peaks, strict=True):
            [(text, score)], [words] = reader.postprocess_op.decode(
                peak.characters[None], peak.probabilities[None], True, [ratio], wide, True
            )
            lines.append(Line(crop, box, text, score, words))
        return lines

    # --- the networks -----------------------------------------------------------------------------

    def _answer(self, questions: Sequence[Question]) -> list[Answer]:
        """Return a map of text for each image, and the peaks of each line."""
        images = [each.image for each in questions if isinstance(each, Finding)]
        lines = [line for each in questions if isinstance(each, Reading) for line in each.lines]
        try:
            with torch.inference_mode():
                maps, peaks = iter(self._maps(images)), iter(self._peaks(lines))
        except torch.OutOfMemoryError as error:
            raise StepError(
                f"{self.device}: its memory is full ({str(error).splitlines()[0]}). Give the job "
                "fewer threads: each has its own networks there."
            ) from error
        return [
            next(maps) if isinstance(each, Finding) else list(islice(peaks, len(each.lines)))
            for each in questions
        ]

    def _maps(self, images: Sequence[Picture]) -> list[np.ndarray]:
        found: list[np.ndarray] = [np.empty(0)] * len(images)
        shapes = [each.shape for each in images]
        for batch, numbers in _batches(images, shapes, IMAGES, LARGE_IMAGE):
            pixels = torch.from_numpy(batch).to(self._torch_device).permute(0, 3, 1, 2).float()
            maps = self._find((pixels / 255 - self._mean) / self._deviation).cpu().numpy()
            for at, number in enumerate(numbers):
                found[number] = maps[at : at + 1]
        return found

    def _peaks(self, lines: Sequence[LineImage]) -> list[Peaks]:
        found: list[Peaks] = [Peaks(np.empty(0), np.empty(0))] * len(lines)
        shapes = [(*each.shape[:2], -(-each.shape[2] // WIDTHS) * WIDTHS) for each in lines]
        for batch, numbers in _batches(lines, shapes, LINES, LONG_LINE):
            read = self._read_lines(torch.from_numpy(batch).to(self._torch_device))
            largest, characters = (each.cpu().numpy() for each in read.max(dim=2))
            step = batch.shape[3] / read.shape[1]  # pixels
            for at, number in enumerate(numbers):
                own = int(lines[number].shape[2] / step)
                found[number] = Peaks(characters[at, :own], largest[at, :own])
        return found


def _batches(
    images: Sequence[np.ndarray], shapes: Sequence[tuple[int, ...]], most: int, large: int
) -> Iterator[tuple[np.ndarray, list[int]]]:
    """Yield images of equal shape, padded with zeros, and their numbers.

    A batch has `most` images, of shapes of more than `large` numbers proportionally fewer; it is
    filled up with zeros.
    """
    alike: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for number, shape in enumerate(shapes):
        alike[shape].append(number)
    for shape, numbers in alike.items():
        size = max(1, min(most, most * large // prod(shape)))
        for start in range(0, len(numbers), size):
            some = numbers[start : start + size]
            batch = np.zeros((size, *shape), images[some[0]].dtype)
            for at, number in enumerate(some):
                own = images[number]
                batch[at][tuple(map(slice, own.shape))] = own
            yield batch, some
