"""Measures how well clipaudit and other tools find copies planted among drawings.

    OMP_NUM_THREADS=1 .venv/bin/python benchmarks/copies.py --pictures clipart/png \
        [--originals 2000] [--work folder] [--jobs 2] \
        [--peers pdqhash imagededup cleanvision fastdup]

Plants a copy of each original by each way of `plantedcopies.PLANTED`. The copies are the training
data, the originals the test images. Every tool reports pairs of a copy and an original; precision,
recall and F1 are computed over these pairs, by way. Ours runs with its defaults and a threshold
calibrated on other drawings, for the rate if one is given. Others run with theirs, each in its own
environment that is made in the work folder, and without a network if `unshare` can remove it.

A kept work folder has the planted set and the other tools' results, which are used again; ours
always runs again.
"""

import argparse
import csv
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import cv2
import numpy as np
from performance import machine
from PIL import Image
from plantedcopies import PLANTED, background, drawings, plant, same_drawings
from scale import write_between_marks

from clipaudit.copies.calibrating import calibrate_hashes
from clipaudit.copies.candidates import Described, find_candidates
from clipaudit.copies.compared import Compared
from clipaudit.copies.hashing import OpenedImage, hash_opened
from clipaudit.copies.kinds import LOOKALIKE
from clipaudit.copies.settings import Calibration
from clipaudit.copies.thresholds import default_rate
from clipaudit.copies.verification import verify_compared
from clipaudit.copies.verified import COMPARED_SIDE
from clipaudit.copies.views import DIRECT, reduced, test_views, train_views

PEERS = {  # installed for each, and named with its version in the report
    "pdqhash": ("pdqhash==0.2.8", "pillow==13.0.0"),  # compiled by g++
    "imagededup": ("imagededup==0.3.3.post2",),
    "cleanvision": ("cleanvision==0.3.7",),
    "fastdup": ("fastdup==2.54",),
}
MEASURES = ("F1", "recall", "precision")

Found = Iterator[tuple[str, str, str]]  # method, copy, original
Pairs = dict[str, np.ndarray]  # by method: ways, copies' and originals' numbers


def main() -> None:
    """Plant copies, run every tool, and print the tables or write them into a page."""
    asked = parse()
    cv2.setNumThreads(1)
    with tempfile.TemporaryDirectory() as temporary:
        work = (asked.work or Path(temporary)) / str(asked.originals)
        planted = work / "planted"
        plant(asked.pictures, planted, asked.originals, asked.jobs)
        write(work / "clipaudit.csv", partial(by_clipaudit, planted, asked))
        for name in asked.peers:
            ask_peer(name, planted, work)
        names = ["clipaudit", *asked.peers]
        tables = report([work / f"{name}.csv" for name in names], planted, asked.originals)
    text = "\n\n".join([about(asked), *tables])
    if asked.markdown:
        write_between_marks(asked.markdown, text)
    else:
        print(text)


def parse() -> argparse.Namespace:
    """Return the settings of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=Path, required=True, help="folder of PNG")
    parser.add_argument("--originals", type=int, default=2000)
    parser.add_argument("--work", type=Path, help="folder that is kept; a temporary one if absent")
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--jobs", type=int, default=2, help="processes of ours and of planting")
    parser.add_argument("--false-positives", type=float, help="our rate; as the audit's if absent")
    parser.add_argument("--markdown", type=Path, help="page whose measured part is replaced")
    return parser.parse_args()


def about(asked: argparse.Namespace) -> str:
    """Return what was measured, and on which machine."""
    versions = ", ".join(
        package.replace("==", " ") for name in asked.peers for package in PEERS[name]
    )
    return (
        f"{machine()} {asked.originals:,} drawings and {len(PLANTED)} copies of each. {versions}."
    )


# --- ours ----------------------------------------------------------------------------------------


def by_clipaudit(planted: Path, asked: argparse.Namespace) -> Found:
    """Yield candidates by hash at the calibrated threshold, and those verified as copies."""
    distance = calibrated_distance(asked)
    parts = [f"copies/{way:02d}" for way in range(len(PLANTED))]
    with ProcessPoolExecutor(asked.jobs, initializer=cv2.setNumThreads, initargs=(1,)) as pool:
        others = next(pool.map(partial(described, planted, test_views), ["originals"]))
        for part, own in zip(
            parts, pool.map(partial(described, planted, train_views), parts), strict=True
        ):
            found = find_candidates(others, own, distance=distance)
            rows = zip(found["row"].to_pylist(), found["other_row"].to_pylist(), strict=True)
            pairs = [(f"{part}/{row:05d}.png", f"originals/{other:05d}.png") for row, other in rows]
            views = found["view"].to_pylist()
            verdicts = pool.map(partial(is_copy, planted), pairs, views, chunksize=32)
            for pair, copy in zip(pairs, verdicts, strict=True):
                yield "clipaudit, before verification", *pair
                if copy:
                    yield "clipaudit", *pair


def calibrated_distance(asked: argparse.Namespace) -> int | None:
    """Return the largest distance that the calibration on other drawings chooses."""
    others = drawings(asked.pictures, Calibration().images, asked.originals)
    rate = asked.false_positives or default_rate(asked.originals)
    found = calibrate_hashes(others, per_million=rate, distance=None).thresholds
    chosen = found.filter(found["chosen"])["threshold"].to_pylist()
    print(f"Distance calibrated for {rate:g} false positives per million pairs: {chosen}")
    return int(chosen[0]) if chosen else None


def described(planted: Path, views: Callable[..., object], part: str) -> Described:
    """Return the digests and hashes of a part's images; a row is the original's number."""
    files = sorted((planted / part).glob("*.png"))
    images = (
        OpenedImage(0, int(file.stem), hashlib.sha256(file.read_bytes()).hexdigest(), opened(file))
        for file in files
    )
    return Described(*hash_opened(images, views))


def is_copy(planted: Path, pair: tuple[str, str], view: str | None) -> bool:
    """Return whether verification calls a pair copies, which this view of the original found."""
    copy, original = (Compared(reduced(opened(planted / name), COMPARED_SIDE)) for name in pair)
    return verify_compared(original, copy, directly=view in DIRECT).kind != LOOKALIKE


def opened(file: Path) -> np.ndarray:
    """Return the pixels of a file."""
    return np.asarray(Image.open(file))


# --- others --------------------------------------------------------------------------------------


def write(answer: Path, find: Callable[[], Found]) -> None:
    """Write the findings of a tool of this environment, as `copypeers.py` does."""
    before = cpu_seconds()
    with answer.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerows(find())
        rows.writerow(["seconds", f"{cpu_seconds() - before:.1f}", ""])


def cpu_seconds() -> float:
    """Return the CPU time of this process and of those that it has waited for."""
    taken = os.times()
    return taken.user + taken.system + taken.children_user + taken.children_system


def ask_peer(name: str, planted: Path, work: Path) -> None:
    """Write a peer's findings in its own environment, unless that is done."""
    answer, environment = work / f"{name}.csv", work.parent / f"{name}.env"
    if answer.exists():
        return
    install(name, environment)
    script = Path(__file__).with_name("copypeers.py")
    command = [environment / "bin/python", script, name, planted, answer.with_suffix(".part")]
    with (work / f"{name}.log").open("w") as log:
        subprocess.run([*without_network(), *map(str, command)], stdout=log, stderr=log, check=True)
    answer.with_suffix(".part").rename(answer)


def install(name: str, environment: Path) -> None:
    """Make an environment and install a peer in it."""
    uv = shutil.which("uv") or ".uv/bin/uv"
    if not (environment / "bin/python").exists():
        subprocess.run([uv, "venv", "--quiet", str(environment)], check=True)
    python = ["--python", str(environment / "bin/python")]
    subprocess.run([uv, "pip", "install", "--quiet", *python, *PEERS[name]], check=True)


def without_network() -> list[str]:
    """Return the prefix of a command that removes the network, empty if that fails."""
    command = ["unshare", "--map-root-user", "--net"]
    if shutil.which("unshare") and subprocess.run([*command, "true"]).returncode == 0:
        return command
    print("unshare cannot remove the network here: peers run with it")
    return []


# --- scores --------------------------------------------------------------------------------------


def report(answers: Sequence[Path], planted: Path, originals: int) -> list[str]:
    """Return the tables: each measure by way and method, the best in bold."""
    pairs, seconds = read(answers)
    truth = Truth(same_drawings(planted, originals))
    scores = {method: truth.scores(found) for method, found in pairs.items()}
    tables = [table(measure, at, scores) for at, measure in enumerate(MEASURES)]
    times = [f"{name}: {taken:,.0f} s" for name, taken in seconds.items()]
    return [*tables, f"Processor time for all: {', '.join(times)}."]


def read(answers: Sequence[Path]) -> tuple[Pairs, dict[str, float]]:
    """Return the pairs of every method, each once, and the seconds of every tool."""
    found: dict[str, set[tuple[int, int, int]]] = {}
    seconds = {}
    for answer in answers:
        with answer.open(newline="") as file:
            for method, copy, original in csv.reader(file):
                if method == "seconds":
                    seconds[answer.stem] = float(copy)
                    continue
                _, way, number = Path(copy).with_suffix("").parts
                row = int(way), int(number), int(Path(original).stem)
                found.setdefault(method, set()).add(row)
    arrays = {method: np.array(sorted(rows)).reshape(-1, 3) for method, rows in found.items()}
    return arrays, seconds


class Truth:
    """The pairs that are right, wrong, or neither."""

    def __init__(self, same: np.ndarray) -> None:
        """Start from which pairs of originals show the same drawing."""
        self._same = same
        number = np.arange(len(same))
        self._behind = background(number, len(same))

    def scores(self, pairs: np.ndarray) -> np.ndarray:
        """Return F1, recall and precision of found pairs by way, and of all in a last row."""
        way, copy, original = pairs.T
        own = copy == original
        spared = self._same[copy, original]
        pasted = np.array([name == "on another image" for name, _ in PLANTED])[way]
        spared |= pasted & self._same[self._behind[copy], original]
        right, wrong = (
            np.bincount(way[chosen], minlength=len(PLANTED)) for chosen in (own, ~own & ~spared)
        )
        right, wrong = (np.append(counts, counts.sum()) for counts in (right, wrong))
        planted = np.append(np.full(len(PLANTED), len(self._same)), len(PLANTED) * len(self._same))
        found = right + wrong
        precision = np.divide(right, found, out=np.ones(len(right)), where=found > 0)
        return np.stack([2 * right / (planted + found), right / planted, precision], axis=1)


def table(measure: str, at: int, scores: dict[str, np.ndarray]) -> str:
    """Return one measure as Markdown, one row per way, one column per method."""
    rows = [f"| {measure} | {' | '.join(scores)} |", "|---" + "|--:" * len(scores) + "|"]
    names = [*(f"{name} {value:g}" for name, value in PLANTED), "all"]
    for row, name in enumerate(names):
        values = [round(score[row, at], 3) for score in scores.values()]
        cells = [f"**{v:.3f}**" if v == max(values) else f"{v:.3f}" for v in values]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
