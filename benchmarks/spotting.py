"""Measures the cost of reading text beside unmodified rapidocr, on images whose text is known.

    OMP_NUM_THREADS=1 python benchmarks/spotting.py data/clipart

Reads the corpora of benchmarks/texttradeoff.py, and the clip art at 256 pixels, as training images
are stored. All readers take their turn at each image: unmodified rapidocr, our reader before
denormal weights and padding were removed, our reader, and its search for lines alone. Prints a
table in Markdown: CPU time per image on one core; the share of words that are read, or of images
without text that seem to have some. The default decides what counts as text, for all readers.
docs/performance.md has the table.

    python benchmarks/spotting.py data/clipart --processes 16 --shorter-side 128 736
    python benchmarks/spotting.py data/clipart --processes 16 --shorter-side 128 736 --device cuda

print images per second of all processes together instead, each with one thread; they share a GPU.
Each process has loaded its reader, and read an image, when the clock starts. "rapidocr, its own
threads" is one process with as many threads as rapidocr starts by itself.
"""

import argparse
import multiprocessing
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import cycle, islice
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
import rapidocr
from PIL import Image
from texttradeoff import Known, Read, clip_art, compare, counted, drawn_world, heading, line, pages

from clipaudit.corpora.reasons import Unusable
from clipaudit.parrot import spotters
from clipaudit.parrot.gpu_spotter import GpuSpotter
from clipaudit.parrot.settings import Spotting
from clipaudit.parrot.spans import Span
from clipaudit.parrot.spotters import RapidSpotter

OURS, STOCK, BEFORE, FINDING = "clipaudit", "rapidocr", "before", "finding lines alone"
ENOUGH = 4  # times that each of several processes reads
ReadSome = Callable[[Sequence[np.ndarray]], list[list[Span]]]


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


def stock(threads: int = 1) -> Read:
    """Return rapidocr with its defaults, on some threads; -1 for as many as it starts by itself."""
    engine = rapidocr.RapidOCR(
        params={
            "Global.log_level": "critical",
            "EngineConfig.onnxruntime.intra_op_num_threads": threads,
            "EngineConfig.onnxruntime.inter_op_num_threads": threads,
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
        part = share([known.text for known in pictures], found[name])
        results[name] = Result(1000 * spent[name] / len(pictures), part)
    return results


def share(texts: Sequence[str], found: Sequence[list[Span]]) -> float:
    """Return the percentage of words that are read, or of images without text that seem to have."""
    own = compare(texts, found)
    return 100 * (own.read / own.words if own.words else own.alarms / own.without)


def cells(results: Mapping[str, Result]) -> list[str]:
    """Return the cells of a line: times, how many times as fast, shares."""
    compared = [name for name in results if name != FINDING]
    ours = results[OURS].milliseconds
    return [
        *(f"{each.milliseconds:.0f}" for each in results.values()),
        *(f"{results[name].milliseconds / ours:.1f}" for name in compared if name != OURS),
        *(f"{results[name].share:.1f}" for name in compared),
    ]


# --- several processes ----------------------------------------------------------------------------


class Reading(NamedTuple):
    """What a process inherits: its reader and all images."""

    read: ReadSome
    pictures: Sequence[Known]


_own: list[Reading] = []  # the one of this process


def start(make: Callable[[], ReadSome], pictures: Sequence[Known], ready: Barrier) -> None:
    """Load a process's reader, and wait for the other processes."""
    cv2.setNumThreads(1)
    try:
        reading = Reading(make(), pictures)
        reading.read([pictures[0].pixels])
    except Exception:
        ready.abort()  # otherwise the pool starts processes for ever
        raise
    _own.append(reading)
    ready.wait()


def read_some(numbers: Sequence[int]) -> list[list[Span]]:
    """Return the text in some images."""
    [own] = _own
    return own.read([own.pictures[number].pixels for number in numbers])


def rates(
    make: Callable[[], ReadSome],
    kinds: Sequence[Sequence[Known]],
    *,
    processes: int,
    together: int,
) -> Iterator[tuple[float, float]]:
    """Yield images per second, and the share, for each kind; processes see an image repeatedly."""
    context = multiprocessing.get_context("fork")
    ready = context.Barrier(processes + 1)
    pictures = [each for kind in kinds for each in kind]
    with context.Pool(processes, start, (make, pictures, ready)) as pool:
        ready.wait()
        end = 0
        for kind in kinds:
            first, end = end, end + len(kind)
            count = max(len(kind), ENOUGH * processes * together)
            numbers = list(islice(cycle(range(first, end)), count))
            some = [numbers[at : at + together] for at in range(0, count, together)]
            started = time.perf_counter()
            found = [spans for own in pool.map(read_some, some, 1) for spans in own]
            rate = count / (time.perf_counter() - started)
            shown = [counted(spans) for spans in found[: len(kind)]]
            yield rate, share([each.text for each in kind], shown)


def side_by_side(corpora: Mapping[str, Sequence[Known]], asked: argparse.Namespace) -> None:
    """Print the table of several processes, a part for each reader."""
    ways: dict[str, tuple[Callable[[], ReadSome], int, int]] = {}
    every = asked.processes
    if asked.device == "cpu":
        ways[f"{STOCK}, its own threads"] = lambda: one_by_one(stock(threads=-1)), 1, 1
        ways[STOCK] = lambda: one_by_one(stock()), every, 1
    for side in asked.shorter_side:
        settings = Spotting(shorter_side=side)
        if asked.device == "cpu":
            ways[f"{OURS}, {side}"] = partial(one_by_one, RapidSpotter(settings).spot), every, 1
        else:
            spotter = GpuSpotter(settings, device=asked.device)
            read = partial(all_at_once, spotter)
            ways[f"{OURS} on the GPU, {side}"] = read, every, spotter.together
    kinds = list(split(corpora))
    print("\n".join(heading(["Reader", "Images", "Number"], ["images/s", "%"])))
    for way, (make, processes, together) in ways.items():
        pictures = [own for _, own in kinds]
        measured = rates(make, pictures, processes=processes, together=together)
        for (name, own), (rate, part) in zip(kinds, measured, strict=True):
            print(line([way, name, len(own), f"{rate:.1f}", f"{part:.1f}"]), flush=True)


def one_by_one(read: Read) -> ReadSome:
    """Return a reader of several images that reads each alone."""
    return lambda pictures: [read(pixels) for pixels in pictures]


def all_at_once(spotter: GpuSpotter) -> ReadSome:
    """Return a reader of several images at once; raises Unusable if one cannot be read."""

    def read(pictures: Sequence[np.ndarray]) -> list[list[Span]]:
        texts = []
        for found in spotter.spot_all(pictures):
            if isinstance(found, Unusable):
                raise found
            texts.append(found)
        return texts

    return read


# --- images ---------------------------------------------------------------------------------------


def split(corpora: Mapping[str, Sequence[Known]]) -> Iterator[tuple[str, list[Known]]]:
    """Yield each corpus's images with text and those without."""
    for name, pictures in corpora.items():
        for with_text in (True, False):
            own = [each for each in pictures if bool(each.text) == with_text]
            yield f"{name}, {'with text' if with_text else 'without'}", own


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clipart", type=Path, help="the folder that `make clipart` writes")
    parser.add_argument("--pictures", type=int, default=36, help="of each kind, with text")
    parser.add_argument("--shorter-side", type=int, nargs="+", default=[Spotting().shorter_side])
    parser.add_argument("--processes", type=int, help="measure these together")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    asked = parser.parse_args()
    drawings = list(clip_art(asked.clipart, asked.pictures))
    corpora = {
        "drawn world, 64 pixels": list(drawn_world(asked.pictures)),
        "clip art": drawings,
        "clip art, 256 pixels": [within(each, 256) for each in drawings],
        "pages, 320 pixels": list(pages(asked.pictures // 2)),
    }
    if asked.processes:
        side_by_side(corpora, asked)
        return
    [side] = asked.shorter_side
    ways = readers(Spotting(shorter_side=side))
    for read in ways.values():
        read(drawings[0].pixels)  # loads the models
    compared = [name for name in ways if name != FINDING]
    columns = [f"{name}, ms" for name in ways]
    columns += [f"times as fast as {name}" for name in compared if name != OURS]
    columns += [f"{name}, %" for name in compared]
    print("\n".join(heading(["Images", "Number", "%"], columns)))
    for name, pictures in split(corpora):
        kind = "words read" if pictures[0].text else "false alarms"
        print(line([name, len(pictures), kind, *cells(measured(pictures, ways))]), flush=True)


if __name__ == "__main__":
    main()
