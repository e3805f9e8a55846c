"""Measures the cost of reading text beside unmodified rapidocr, on images whose text is known.

    OMP_NUM_THREADS=1 python benchmarks/spotting.py data/clipart

Reads the corpora of benchmarks/texttradeoff.py, and the clip art at 256 pixels, as training images
are stored. All readers take their turn at each image: unmodified rapidocr, our reader before
denormal weights and padding were removed, our reader, and its search for lines alone. Prints a
table in Markdown: CPU time per image on one core; the share of words that are read, or of images
without text that seem to have some. The default decides what counts as text, for all readers.
docs/performance.md has the table.
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import rapidocr
from PIL import Image
from texttradeoff import Known, Read, clip_art, compare, counted, drawn_world, heading, line, pages

from clipaudit.parrot import spotters
from clipaudit.parrot.settings import Spotting
from clipaudit.parrot.spans import Span
from clipaudit.parrot.spotters import RapidSpotter

OURS, STOCK, BEFORE, FINDING = "clipaudit", "rapidocr", "before", "finding lines alone"


class Result(NamedTuple):
    """A reader's result on images: milliseconds per image, and a share in percent."""

    milliseconds: float
    share: float


# --- readers --------------------------------------------------------------------------------------


def readers(asked: Spotting) -> dict[str, Read]:
    """Return the readers by name."""
    return {
        STOCK: stock(),
        BEFORE: before(asked).spot,
        OURS: RapidSpotter(asked).spot,
        FINDING: finding(asked),
    }


def stock() -> Read:
    """Return rapidocr with its defaults, on one thread."""
    engine = rapidocr.RapidOCR(
        params={
            "Global.log_level": "critical",
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )

    def read(pixels: np.ndarray) -> list[Span]:
        found = engine(np.ascontiguousarray(pixels[:, :, ::-1]))
        if found.txts is None:
            return []
        parts = zip(found.txts, found.scores, found.boxes, strict=True)
        return [
            Span(text, float(score), tuple(box.reshape(-1).tolist()), None)
            for text, score, box in parts
        ]

    return read


def before(asked: Spotting) -> RapidSpotter:
    """Return our reader with denormal weights, six lines at once, and lines padded to 96 pixels."""
    spotter = RapidSpotter(asked.model_copy(update={"batch": 6}))
    engine = spotter._engine
    engine.cfg.Rec.rec_img_shape = [3, 48, 96]
    engine.cfg.Det.model_path = str(spotter._models["Det"])
    engine.text_det = None  # loaded again when it is needed
    return spotter


def finding(asked: Spotting) -> Read:
    """Return the part of our reader that finds lines and cuts them out."""
    engine = RapidSpotter(asked)._engine

    def find(pixels: np.ndarray) -> list[Span]:
        shown = spotters._fitted(pixels, asked.shorter_side, asked.longest_side)
        spotters._detect(engine, shown[:, :, ::-1])
        return []

    return find


# --- the table ------------------------------------------------------------------------------------


def within(known: Known, side: int) -> Known:
    """Return an image scaled down to fit a square."""
    image = Image.fromarray(known.pixels)
    image.thumbnail((side, side), Image.Resampling.LANCZOS)
    return known._replace(pixels=np.array(image))


def measured(pictures: Sequence[Known], ways: Mapping[str, Read]) -> dict[str, Result]:
    """Return the results of each reader on images, all with text or all without."""
    spent = dict.fromkeys(ways, 0.0)
    found: dict[str, list[list[Span]]] = {name: [] for name in ways}
    for known in pictures:
        for name, read in ways.items():
            start = time.process_time()
            spans = read(known.pixels)
            spent[name] += time.process_time() - start
            found[name].append(counted(spans))
    results = {}
    for name in ways:
        own = compare([known.text for known in pictures], found[name])
        share = own.read / own.words if own.words else own.alarms / own.without
        results[name] = Result(1000 * spent[name] / len(pictures), 100 * share)
    return results


def cells(results: Mapping[str, Result]) -> list[str]:
    """Return the cells of a line: times, how many times as fast, shares."""
    compared = [name for name in results if name != FINDING]
    ours = results[OURS].milliseconds
    return [
        *(f"{each.milliseconds:.0f}" for each in results.values()),
        *(f"{results[name].milliseconds / ours:.1f}" for name in compared if name != OURS),
        *(f"{results[name].share:.1f}" for name in compared),
    ]


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clipart", type=Path, help="the folder that `make clipart` writes")
    parser.add_argument("--pictures", type=int, default=36, help="of each kind, with text")
    parser.add_argument("--shorter-side", type=int, default=Spotting().shorter_side)
    asked = parser.parse_args()
    drawings = list(clip_art(asked.clipart, asked.pictures))
    corpora = {
        "drawn world, 64 pixels": list(drawn_world(asked.pictures)),
        "clip art": drawings,
        "clip art, 256 pixels": [within(each, 256) for each in drawings],
        "pages, 320 pixels": list(pages(asked.pictures // 2)),
    }
    ways = readers(Spotting(shorter_side=asked.shorter_side))
    for read in ways.values():
        read(drawings[0].pixels)  # loads the models
    compared = [name for name in ways if name != FINDING]
    columns = [f"{name}, ms" for name in ways]
    columns += [f"times as fast as {name}" for name in compared if name != OURS]
    columns += [f"{name}, %" for name in compared]
    print("\n".join(heading(["Images", "Number", "%"], columns)))
    for name, pictures in corpora.items():
        for with_text in (True, False):
            own = [each for each in pictures if bool(each.text) == with_text]
            kind = "with text" if with_text else "without"
            share = "words read" if with_text else "false alarms"
            left = [f"{name}, {kind}", len(own), share]
            print(line([*left, *cells(measured(own, ways))]), flush=True)


if __name__ == "__main__":
    main()
