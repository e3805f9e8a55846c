"""What reading the text of a picture costs: CPU time a picture on one core, by side and words.

    OMP_NUM_THREADS=1 python benchmarks/spotting.py --rounds 5

Draws noisy pictures with words of 16 pixels (of 12 at a side of 64) one below the other, and prints
the median over pictures of the best of some rounds, and the share of words that are read. rapidocr
as it comes, which scales small pictures up to 736 pixels, takes its turn in the same rounds.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
import rapidocr
from PIL import Image, ImageDraw

from clipaudit.demo.glyphs import font
from clipaudit.parrot.settings import Spotting
from clipaudit.parrot.spotters import RapidSpotter
from clipaudit.parrot.tokens import tokens

WORDS = ("umbrella", "garden", "winter", "letter", "music", "planet", "silver", "corner")
CASES = ((64, 0), (64, 1), (224, 0), (224, 1), (224, 2), (224, 4), (512, 4))  # side, words
Read = Callable[[np.ndarray], str]


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pictures", type=int, default=10)
    settings = parser.parse_args()
    readers = {"clipaudit": ours(), "rapidocr": stock()}
    print(f"{'side':>5} {'words':>5}  " + "  ".join(f"{name:>20}" for name in readers))
    for side, words in CASES:
        drawn = [picture(side, words, seed) for seed in range(settings.pictures)]
        cells = [measure(read, drawn, settings.rounds) for read in readers.values()]
        print(f"{side:>5} {words:>5}  " + "  ".join(f"{cell:>20}" for cell in cells))


def ours() -> Read:
    """Return our reader, as the workflow uses it."""
    spotter = RapidSpotter(Spotting())
    return lambda pixels: " ".join(span.text for span in spotter.spot(pixels))


def stock() -> Read:
    """Return rapidocr with its defaults, on one thread."""
    engine = rapidocr.RapidOCR(
        params={
            "Global.log_level": "critical",
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )
    return lambda pixels: " ".join(engine(np.ascontiguousarray(pixels[:, :, ::-1])).txts or ())


def picture(side: int, words: int, seed: int) -> tuple[np.ndarray, list[str]]:
    """Return a noisy picture and what is written in it."""
    rng = np.random.default_rng([side, words, seed])
    image = Image.fromarray(rng.integers(150, 200, (side, side, 3), np.uint8))
    chosen = rng.permutation(WORDS)[:words].tolist()
    size = 12 if side < 128 else 16
    for line, word in enumerate(chosen):
        place = (int(rng.integers(1, side // 8)), int((line + 0.3) * side / max(words, 1)))
        ImageDraw.Draw(image).text(place, word, font=font(size), fill=(0, 0, 0))
    return np.asarray(image), chosen


def measure(read: Read, drawn: list[tuple[np.ndarray, list[str]]], rounds: int) -> str:
    """Return milliseconds a picture, and the share of the words that are read."""
    best = [float("inf")] * len(drawn)
    found = asked = 0
    for turn in range(rounds):
        for number, (pixels, words) in enumerate(drawn):
            start = time.process_time()
            text = read(pixels)
            best[number] = min(best[number], time.process_time() - start)
            if turn == 0:
                found += len({*words} & {*tokens(text, "words")})
                asked += len(words)
    share = f"{found}/{asked}" if asked else "-"
    return f"{1000 * statistics.median(best):.0f} ms, {share}"


if __name__ == "__main__":
    main()
