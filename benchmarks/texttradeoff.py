"""Measures recall and false alarms of each choice of text thresholds, in three kinds of images.

    OMP_NUM_THREADS=1 python benchmarks/texttradeoff.py data/clipart

Reads images whose text is known: the demo's posters and album, clip art with and without `<text>`
in its SVG (`make clipart` unpacks it), and pages of running text in nine fonts and pages without
any. Prints a table in Markdown; with `--turned` another one, of rotated images. Both are in
docs/evidence.md.
"""

import argparse
import importlib
import inspect
import io
import itertools
import random
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Float32
from PIL import Image, ImageDraw, ImageFilter

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.config.worlds import GlyphWorld
from clipaudit.demo.clipart.drawings import find_drawings
from clipaudit.demo.clipart.pictures import reduced
from clipaudit.demo.clipart.svg_statements import statements_of
from clipaudit.demo.glyph_world import sample
from clipaudit.demo.glyphs import font
from clipaudit.demo.scenes import Address
from clipaudit.parrot.counted_text import Counted, counted_text
from clipaudit.parrot.settings import Spotting
from clipaudit.parrot.spans import Span, spans_of, spans_table
from clipaudit.parrot.spotters import RapidSpotter
from clipaudit.parrot.tokens import tokens
from clipaudit.reports.intervals import exact_interval

SCORES, LETTERS = (0.5, 0.8, 0.9), (1, 2, 3)
SCRIPTS: dict[str, tuple[str, ...]] = {"all": (), "Latin": ("Latin",)}
DEFAULT = Counted(0.8, 2, 0, SCRIPTS["Latin"])  # captions are English
TURNS = (0, 90, 180, 270)  # degrees, counterclockwise

FACES = (
    *("DejaVuSans", "DejaVuSans-Bold", "DejaVuSans-Oblique", "DejaVuSansMono", "DejaVuSerif"),
    *("DejaVuSerif-Italic", "STIXGeneral", "STIXGeneralBol", "STIXGeneralItalic"),
)
# their docstrings are mostly prose
MODULES = ("random", "statistics", "difflib", "doctest", "pdb", "pickle", "unittest", "decimal")
PAGE = 320  # pixels a side

Read = Callable[[np.ndarray], list[Span]]


class Known(NamedTuple):
    """An image, the text in it, and its caption; "" if it has none."""

    pixels: np.ndarray
    text: str
    caption: str = ""


# --- images ---------------------------------------------------------------------------------------


def drawn_world(count: int) -> Iterator[Known]:
    """Yield images of the demo's posters and album, half of which have a word."""
    run = parse_settings(read_settings(Path("config/demo.yaml")))
    world = run.worlds["glyph"]
    assert isinstance(world, GlyphWorld)
    for corpus in ("posters", "album"):
        for row in range(count):
            drawn = sample(world, Address(corpus, 0, row))
            text, caption = (str(drawn.truth[name] or "") for name in ("text", "caption"))
            yield Known(np.array(drawn.pixels), text, caption)


def clip_art(folder: Path, count: int) -> Iterator[Known]:
    """Yield clip art as `make clipart` reduces it, `count` with `<text>`, a third more without."""
    drawings = [each for each in find_drawings(folder / "drawings") if each.svg is not None]
    random.Random(0).shuffle(drawings)
    left = {True: count, False: count * 4 // 3}
    for drawing in drawings:
        assert drawing.svg is not None
        said = statements_of(drawing.svg.read_bytes())
        text = " ".join(said.text)
        if said.problem or not left[bool(text)]:
            continue
        picture = reduced(drawing.png.read_bytes())
        if not picture.refused:
            left[bool(text)] -= 1
            pixels = np.array(Image.open(io.BytesIO(picture.file)).convert("RGB"))
            yield Known(pixels, text, said.title)


def pages(count: int) -> Iterator[Known]:
    """Yield pages of running text of 10 to 24 pixels, and as many pages without, as JPEG."""
    prose = _prose()
    for number in range(count):
        rng = random.Random(number)
        size, face = rng.randint(10, 24), FACES[number % len(FACES)]
        start = rng.randrange(len(prose) - 400)
        lines = textwrap.wrap(" ".join(prose[start : start + 400]), int(PAGE / size * 1.7))
        lines = lines[: rng.randint(1, 8)]
        yield Known(_page(rng, lines, size, face), " ".join(lines))
        yield Known(_page(rng, [""] * len(lines), size, face, shape=SHAPES[number % 4]), "")


def _prose() -> list[str]:
    texts = [inspect.getdoc(importlib.import_module(name)) or "" for name in MODULES]
    return " ".join(texts).split()


def _page(
    rng: random.Random, lines: Sequence[str], size: int, face: str, *, shape: str = ""
) -> np.ndarray:
    """Draw lines of text, or a shape where each line would be; then noise, then JPEG."""
    dark, light = (rng.randint(0, 80),) * 3, tuple(rng.randint(170, 255) for _ in range(3))
    ink, paper = (dark, light) if rng.random() < 0.7 else (light, dark)
    image = Image.new("RGB", (PAGE, PAGE), paper)
    draw = ImageDraw.Draw(image)
    left, top = rng.randint(4, 20), rng.randint(4, 40)
    for line in lines:
        if not shape:
            draw.text((left, top), line, font=font(size, face), fill=ink)
        right = PAGE - rng.randint(4, 120)
        if shape == "rules":
            draw.line((left, top + size, right, top + size), fill=ink, width=rng.randint(1, 3))
        if shape == "boxes":
            for x in range(left, right, 2 * size):
                draw.rectangle((x, top, x + size, top + size), outline=ink, width=2)
        if shape == "bars":
            draw.rectangle((left, top, right, top + size // 2), fill=ink)
        top += int(1.6 * size)
    noise = np.random.default_rng(rng.getrandbits(32))
    if shape == "photo":
        coarse = noise.integers(0, 256, (12, 12, 3), np.uint8)
        image = Image.fromarray(coarse).resize((PAGE, PAGE), Image.Resampling.BICUBIC)
        image = image.filter(ImageFilter.DETAIL)
    pixels = np.asarray(image) + noise.normal(0, rng.uniform(0, 12), (PAGE, PAGE, 3))
    file = io.BytesIO()
    Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(
        file, "JPEG", quality=rng.randint(50, 95)
    )
    return np.array(Image.open(file))


SHAPES = ("rules", "boxes", "bars", "photo")


# --- the trade-off --------------------------------------------------------------------------------


class Found(NamedTuple):
    """Counts of what a choice finds in the images of a corpus."""

    with_text: int
    called: int  # images with text in which some is found
    words: int  # distinct words of each image, summed
    read: int
    without: int
    alarms: int  # images without text in which some is found

    @property
    def cells(self) -> list[str]:
        """Return recall of images and of words, and false alarms with their interval."""
        low, high = exact_interval(np.array([self.alarms]), np.array([self.without]))[0]
        return [
            f"{100 * self.called / self.with_text:.1f}",
            f"{100 * self.read / self.words:.1f}",
            f"{100 * self.alarms / self.without:.1f} [{100 * low:.1f}, {100 * high:.1f}]",
        ]


def compare(texts: Sequence[str], spans: Iterable[Sequence[Span]]) -> Found:
    """Compare the text in images with the spans of each that count."""
    called = words = read = alarms = 0
    for text, own in zip(texts, spans, strict=True):
        written = set(tokens(text, "words"))
        spotted = set(tokens(" ".join(span.text for span in own), "words"))
        words, read = words + len(written), read + len(written & spotted)
        called += bool(text and own)
        alarms += bool(own and not text)
    with_text = sum(map(bool, texts))
    return Found(with_text, called, words, read, len(texts) - with_text, alarms)


def parrots(name: str, pictures: Sequence[Known], readings: pa.Table) -> Iterator[str]:
    """Yield how many captions repeat a word, of the true text and of the text that is read."""
    spans = spans_of(counted_text(readings, DEFAULT))
    shown = list(zip(pictures, spans, strict=True))
    for kind, with_text in (("with text", True), ("without", False)):
        own = [each for each in shown if each[0].caption and bool(each[0].text) == with_text]
        written = sum(_repeats(known.caption, known.text) for known, _ in own)
        read = sum(_repeats(known.caption, " ".join(texts_of(found))) for known, found in own)
        if own:
            count = f"{written} of {len(own)} by what is written"
            yield f"- {name}, {kind}: {count}, {read} by what is read"


def _repeats(caption: str, text: str) -> bool:
    return not set(tokens(caption, "words")).isdisjoint(tokens(text, "words"))


def main() -> None:
    """Read all images once, and print the results of each choice."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clipart", type=Path, help="the folder that `make clipart` writes")
    parser.add_argument("--pictures", type=int, default=300, help="of each kind, with text")
    parser.add_argument("--turned", action="store_true", help="rotate the images, and print that")
    asked = parser.parse_args()
    corpora = {
        "drawn world": list(drawn_world(asked.pictures)),
        "clip art": list(clip_art(asked.clipart, asked.pictures)),
        "pages": list(pages(asked.pictures // 2)),
    }
    print("\n".join(turned(corpora) if asked.turned else choices(corpora)))


def choices(corpora: Mapping[str, Sequence[Known]]) -> Iterator[str]:
    """Yield the lines of the table of all choices."""
    texts = {name: [each.text for each in pictures] for name, pictures in corpora.items()}
    readings = {name: read(Spotting(), pictures) for name, pictures in corpora.items()}
    counts = (f"{sum(map(bool, own))} of {len(own)} ({name})" for name, own in texts.items())
    yield f"Images with text: {', '.join(counts)}.\n"
    measures = ("found, %", "words, %", "false, %")
    columns = [f"{name}: {measure}" for name in corpora for measure in measures]
    yield from heading(["Scripts", "Letters", "Score"], columns)
    for scripts, letters, score in itertools.product(SCRIPTS, LETTERS, SCORES):
        counted = Counted(score, letters, 0, SCRIPTS[scripts])
        found = (
            compare(texts[name], spans_of(counted_text(readings[name], counted)))
            for name in corpora
        )
        yield line([scripts, letters, score, *(cell for each in found for cell in each.cells)])
    yield "\nCaptions that repeat a word of their image:\n"
    for name, pictures in corpora.items():
        yield from parrots(name, pictures, readings[name])


# --- turned text ----------------------------------------------------------------------------------


class ByClassifier(RapidSpotter):
    """rapidocr's own answer to turned text: a model that says which lines are upside down."""

    def _recognized(
        self, crops: Sequence[np.ndarray], boxes: Float32[np.ndarray, "n 4 2"]
    ) -> list[Any]:
        upright, _ = self._engine.cls_and_rotate(list(crops))
        return super()._recognized(upright, boxes)


def readers() -> dict[str, Read]:
    """Return ways to read turned text, by name."""
    plain = Spotting(turned_below=0)
    spot = RapidSpotter(plain).spot

    def four_turns(pixels: np.ndarray) -> list[Span]:
        turns = (spot(np.ascontiguousarray(np.rot90(pixels, turn))) for turn in range(4))
        found: list[Span] = []
        for spans in turns:
            found = max(found, spans, key=lambda each: sum(map(len, texts_of(counted(each)))))
            if counted(found) and spans is found:
                break
        return found

    return {
        "as they lie": spot,
        "rapidocr's `use_cls`": ByClassifier(plain).spot,
        "weak lines upside down too (the default)": RapidSpotter(Spotting()).spot,
        "four turns, until text is found": four_turns,
    }


def turned(corpora: Mapping[str, Sequence[Known]]) -> Iterator[str]:
    """Yield the lines of the table of turned images, by the default choice.

    The drawn world is left out: its words are upright, and too short to show much.
    """
    corpora = {name: pictures for name, pictures in corpora.items() if name != "drawn world"}
    columns = [*(f"{turn}°, words, %" for turn in TURNS), "false, %", "ms with text", "without"]
    yield from heading(["Images", "Lines are read"], columns)
    for name, pictures in corpora.items():
        with_text = [each for each in pictures if each.text]
        without = [each for each in pictures if not each.text]
        for way, spot in readers().items():
            cells = [_timed(spot, with_text, turn // 90) for turn in TURNS]
            alarms = _timed(spot, without, 0)
            words = [f"{100 * found.read / found.words:.1f}" for found, _ in cells]
            false = f"{100 * alarms[0].alarms / alarms[0].without:.1f}"
            yield line([name, way, *words, false, f"{cells[0][1]:.0f}", f"{alarms[1]:.0f}"])


def _timed(spot: Read, pictures: Sequence[Known], turns: int) -> tuple[Found, float]:
    """Return what is found in turned images, and the CPU milliseconds per image."""
    shown = [np.ascontiguousarray(np.rot90(each.pixels, turns)) for each in pictures]
    start = time.process_time()
    spans = [counted(spot(each)) for each in shown]
    spent = time.process_time() - start
    return compare([each.text for each in pictures], spans), 1000 * spent / len(pictures)


def counted(spans: Sequence[Span]) -> list[Span]:
    """Return the spans that count by the default choice."""
    (kept,) = spans_of(counted_text(spans_table([(0, 0, spans)]), DEFAULT))
    return kept


def texts_of(spans: Sequence[Span]) -> list[str]:
    """Return the texts of spans."""
    return [span.text for span in spans]


# --- tables ---------------------------------------------------------------------------------------


def read(asked: Spotting, pictures: Sequence[Known]) -> pa.Table:
    """Return READINGS of images in their order."""
    spotter = RapidSpotter(asked)
    return spans_table((0, row, spotter.spot(each.pixels)) for row, each in enumerate(pictures))


def heading(left: Sequence[str], right: Sequence[str]) -> Iterator[str]:
    """Yield the first two lines of a table in Markdown."""
    yield line([*left, *right])
    yield "|" + " :-- |" * len(left) + " --: |" * len(right)


def line(cells: Sequence[object]) -> str:
    """Return a line of a table in Markdown."""
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    main()
