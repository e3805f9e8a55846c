"""Measures images per second and core for each stage of `clipaudit audit`, beside two peers.

    python benchmarks/auditspeed.py [--images 100000] [--drawings data/clipart]

Writes JPEG images of 256 pixels into tars, made of the drawings of `make clipart` or, without
--drawings, of the glyph world. Then measures each stage in a process of its own, on one thread:
processor time and wall time, without imports and without loading models. The peers have
environments of their own (`make audit-speed`) and get the same tars: img2dataset's Resizer, and
clip-retrieval's inference, which embeds with the same random weights as ours. A stage whose peer is
not installed is measured alone.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import cv2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from auditdata import MODELS, make_data
from performance import head, machine, row
from scale import write_between_marks

from clipaudit.copies.candidates import Described, find_candidates
from clipaudit.copies.hashing import hash_images
from clipaudit.copies.verified import verify_candidates
from clipaudit.copies.views import test_views, train_views
from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.drops import Drops
from clipaudit.corpora.lookup import PictureReader
from clipaudit.corpora.samples import index_shards
from clipaudit.errors import ClipauditError

ROOT = Path(__file__).parents[1]
PEERS = Path(__file__).with_name("auditpeers.py")
DISTANCE = 31  # of two hashes, as PDQ's authors recommend; `clipaudit audit` calibrates it
BATCH = 256  # images per forward pass, the default of both sides
MARK = "stages"  # of the measured part of a page
LIBRARIES = ("pillow", "opencv-python-headless", "torch", "transformers", "onnxruntime")
Taken = Mapping[str, float]  # count of images or pairs, seconds `cpu` and `wall`


def main() -> None:
    """Make the data, measure, and print the table or write it into a page."""
    asked = parse()
    if asked.stage:
        print(json.dumps(measured(asked.stage, asked.folder, asked)))
        return
    with tempfile.TemporaryDirectory() as spare:
        sizes = {"images": asked.images, "embedded": asked.embedded}
        data = make_data(asked.folder or Path(spare), asked.drawings, **sizes)
        text = "\n\n".join([machine(LIBRARIES), *report(data, asked)])
    if asked.markdown:
        write_between_marks(asked.markdown, text, MARK)
    else:
        print(text)


def parse() -> argparse.Namespace:
    """Return the settings of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=size, default=100_000)
    parser.add_argument("--drawings", type=Path, help="folder with tars of drawings and captions")
    parser.add_argument("--spotted", type=size, default=2_000, help="images whose text is read")
    parser.add_argument("--verified", type=size, default=2_000, help="pairs that are compared")
    parser.add_argument("--embedded", type=size, default=2_000, help="images for the small model")
    parser.add_argument("--rounds", type=size, default=1, help="the table has their medians")
    parser.add_argument("--folder", type=Path, help="where to work; its data are used again")
    parser.add_argument("--markdown", type=Path, help="page whose measured part is replaced")
    parser.add_argument("--stage", choices=STAGES, help="measure one stage in --folder, as JSON")
    return parser.parse_args()


def size(text: str) -> int:
    """Return a whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


# --- our stages --------------------------------------------------------------------------------


class Clock:
    """CPU seconds and wall seconds of this process while `running`."""

    cpu = wall = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the seconds of the block."""
        cpu, wall = time.process_time(), time.perf_counter()
        yield
        self.cpu, self.wall = time.process_time() - cpu, time.perf_counter() - wall


Stage = Callable[[Path, argparse.Namespace, Clock], int]  # returns how many images or pairs


def measured(stage: str, folder: Path, asked: argparse.Namespace) -> Taken:
    """Return how many images or pairs a stage took here, and its seconds."""
    import torch

    cv2.setNumThreads(1)
    torch.set_num_threads(1)
    pa.set_cpu_count(1)
    clock = Clock()
    done = STAGES[stage](folder, asked, clock)
    return {"count": done, "cpu": clock.cpu, "wall": clock.wall}


def tars(folder: Path) -> list[tuple[int, Path]]:
    """Return the tars of a set with their numbers."""
    return list(enumerate(sorted(folder.glob("*.tar"))))


def indexed(folder: Path) -> pa.Table:
    """Return the SAMPLES of a set."""
    wanted = {"needs_caption": True, "needs_label": False}
    return index_shards(tars(folder), Captioning("text"), **wanted)[0]


def index(folder: Path, asked: argparse.Namespace, clock: Clock) -> int:
    """Index the training tars."""
    with clock.running():
        samples = indexed(folder / "train")
    pq.write_table(samples, folder / "samples.parquet")
    return len(samples)


def hashed(name: str, folder: Path, asked: argparse.Namespace, clock: Clock) -> int:
    """Hash the images of `train` or `test`, with the views of each."""
    train = name == "train"
    samples = pq.read_table(folder / "samples.parquet") if train else indexed(folder / name)
    with clock.running():
        tables = hash_images(tars(folder / name), samples, train_views if train else test_views)
    for what, table in zip(("images", "hashes"), tables, strict=True):
        pq.write_table(table, folder / f"{name}_{what}.parquet")
    return len(samples)


def searched(name: str, folder: Path, asked: argparse.Namespace, clock: Clock) -> int:
    """Find the candidates of the training images among `train` or `test`."""
    own, others = (
        Described(
            *(pq.read_table(folder / f"{each}_{what}.parquet") for what in ("images", "hashes"))
        )
        for each in ("train", name)
    )
    with clock.running():
        found = find_candidates(others, own, distance=DISTANCE, within=name == "train")
    pq.write_table(found, folder / f"{name}_candidates.parquet")
    return len(own.images)


def verified(folder: Path, asked: argparse.Namespace, clock: Clock) -> int:
    """Compare pairs of training images, from the middle of the candidates."""
    candidates = pq.read_table(folder / "train_candidates.parquet")
    some = candidates.slice(max(0, len(candidates) - asked.verified) // 2, asked.verified)
    read = PictureReader(dict(tars(folder / "train")))
    with clock.running():
        return sum(len(pairs) for pairs in verify_candidates(some, read, read))


def spotted(folder: Path, asked: argparse.Namespace, clock: Clock) -> int:
    """Read the text of the first images."""
    from clipaudit.parrot.settings import Spotting
    from clipaudit.parrot.spot_memory import SpotMemory
    from clipaudit.parrot.spotters import RapidSpotter
    from clipaudit.parrot.spotting import spot_text

    samples = pq.read_table(folder / "samples.parquet").slice(0, asked.spotted)
    spotter = RapidSpotter(Spotting())
    with tempfile.TemporaryDirectory() as spare, clock.running():
        memory, shards = SpotMemory(Path(spare)), tars(folder / "train")
        tables = spot_text(shards, samples, lambda: spotter, memory, drops=Drops("spot"))
        return sum(len(table) for table in tables)


def prepared(name: str, folder: Path, asked: argparse.Namespace, clock: Clock) -> int:
    """Read, decode and prepare images as embedding does, without a model."""
    import torch
    from open_clip.transform import PreprocessCfg
    from transformers import AutoModel

    from clipaudit.models.checkpoints import load_with_processor
    from clipaudit.models.pictures import Running, decoded, stored
    from clipaudit.models.transforms import evaluation_preparation

    shards, samples = tars(folder / "tiny"), indexed(folder / "tiny")
    running = Running(BATCH, 0, torch.device("cpu"))
    if name == "open_clip":
        preparation = evaluation_preparation(PreprocessCfg())
        with clock.running():
            for batch in decoded(shards, samples, preparation, running, task="preparing"):
                preparation.tensor(batch.pixels, running.device)
        return len(samples)
    _, processor, _ = load_with_processor(AutoModel, str(folder / "models/tiny"), kind="vision")
    with clock.running():
        for whole in stored(shards, samples, running, task="preparing"):
            images = [image.numpy() for image in whole.pictures]
            processor(images=images, return_tensors="pt", input_data_format="channels_last")
    return len(samples)


def embedded(name: str, folder: Path, asked: argparse.Namespace, clock: Clock) -> int:
    """Embed a set with its model by the plug-in `transformers`, and save the embeddings."""
    import torch

    from clipaudit.corpora.vectors import embedding_array
    from clipaudit.embeddings.embedding import embed_images
    from clipaudit.models.pictures import Running
    from clipaudit.models.plugged import PluggedEncoder
    from clipaudit.steps.plugins import planned

    options = {"checkpoint": str(folder / "models" / name)}
    model = PluggedEncoder(planned("encoders", "transformers"), options, "cpu")
    shards, samples = tars(folder / name), indexed(folder / name)
    running, drops = Running(BATCH, 0, torch.device("cpu")), Drops("embed")
    with clock.running():
        rows = embed_images(shards, samples, model, running, encoder=name, drops=drops)
        batches = list(rows)
    np.save(folder / f"{name}.npy", embedding_array(pa.Table.from_batches(batches), name))
    return len(samples)


STAGES: Mapping[str, Stage] = {
    "index": index,
    "hash": partial(hashed, "train"),
    "find repeats": partial(searched, "train"),
    "verify repeats, pairs": verified,
    "hash test images": partial(hashed, "test"),
    "find test images in them": partial(searched, "test"),
    "spot": spotted,
    "read and prepare, transformers": partial(prepared, "transformers"),
    "read and prepare, open_clip": partial(prepared, "open_clip"),
    "embed, tiny model": partial(embedded, "tiny"),
    "embed, ViT-B/32": partial(embedded, "base"),
}


# --- the report --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Peer:
    """A task of auditpeers.py on one of the sets, and the environment that has it."""

    name: str
    environment: str
    task: str
    data: str

    @property
    def python(self) -> Path:
        """The Python of its environment."""
        return ROOT / ".uv" / self.environment / "bin/python"


RESIZER = Peer("img2dataset, Resizer", "img2dataset", "resize", "train")
READER = "clip-retrieval, reader"
INFERENCE = "clip-retrieval, inference"
BESIDE = {
    "index": RESIZER,
    "hash": RESIZER,
    "read and prepare, transformers": Peer(
        READER, "clip-retrieval", "prepare-transformers", "tiny"
    ),
    "read and prepare, open_clip": Peer(READER, "clip-retrieval", "prepare-open_clip", "tiny"),
    "embed, tiny model": Peer(INFERENCE, "clip-retrieval", "embed", "tiny"),
    "embed, ViT-B/32": Peer(INFERENCE, "clip-retrieval", "embed", "base"),
}

TITLES = ("images", "CPU s", "wall s", "a second and core")


def report(data: Path, asked: argparse.Namespace) -> Iterator[str]:
    """Measure all stages, each before its peer, and yield the parts of the report."""
    rounds = [list(measure_all(data, asked)) for _ in range(asked.rounds)]
    lines = list(head("", *TITLES, "", *(f"its {each}" for each in TITLES), "times as fast"))
    for stage, *pairs in zip(STAGES, *rounds, strict=True):
        ours, theirs = zip(*pairs, strict=True)
        line = [stage, *cells(ours)]
        if theirs[0] is not None:
            line += [BESIDE[stage].name, *cells(theirs), f"{rate(ours) / rate(theirs):.2f}"]
        lines.append(row(*line, *[""] * (2 * len(TITLES) + 3 - len(line))))
    yield "\n".join(lines)
    candidates = pq.read_metadata(data / "train_candidates.parquet").num_rows
    yield (
        f"Drawings: {asked.drawings.name if asked.drawings else 'glyph world'}, rounds: "
        f"{asked.rounds}. {candidates / asked.images:.1f} candidate pairs of repeats per image."
    )
    for name in MODELS:
        if (data / f"peer_{name}.npy").exists():
            yield f"{name}: {agreement(data, name)}"


def measure_all(data: Path, asked: argparse.Namespace) -> Iterator[tuple[Taken, Taken | None]]:
    """Yield the cost of each stage and of its peer, or None if it has none here."""
    sizes = [f"--{name}={getattr(asked, name)}" for name in ("spotted", "verified")]
    for stage in STAGES:
        ours = run([sys.executable, __file__, "--stage", stage, "--folder", str(data), *sizes])
        peer = BESIDE.get(stage)
        if peer is None or not peer.python.exists():
            yield ours, None
        else:
            yield ours, run([str(peer.python), str(PEERS), peer.task, str(data), peer.data])


def run(command: Sequence[str]) -> Taken:
    """Run a process; return the JSON on the last line of its output."""
    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "NO_ALBUMENTATIONS_UPDATE": "1",  # img2dataset's library looks for a newer release
        "PYTHONWARNINGS": "ignore",
    }
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed; its messages are above.")
    taken: Taken = json.loads(done.stdout.splitlines()[-1])
    return taken


def cells(rounds: Sequence[Taken]) -> Iterator[str]:
    """Yield the cells of TITLES."""
    yield f"{rounds[0]['count']:,.0f}"
    for clock in ("cpu", "wall"):
        yield f"{statistics.median(taken[clock] for taken in rounds):.1f}"
    yield f"{rate(rounds):,.0f}"


def rate(rounds: Sequence[Taken]) -> float:
    """Return images, or pairs, per second and core, the median of rounds."""
    return statistics.median(taken["count"] / taken["cpu"] for taken in rounds)


def agreement(folder: Path, name: str) -> str:
    """Return how similar our embeddings of a set are to the peer's, image by image."""
    ours, theirs = (
        np.load(folder / each).astype(np.float64) for each in (f"{name}.npy", f"peer_{name}.npy")
    )
    if ours.shape != theirs.shape:
        sys.exit(f"{name}: our embeddings have shape {ours.shape}, the peer's {theirs.shape}.")
    ours, theirs = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (ours, theirs))
    same, other = ((ours * each).sum(axis=1) for each in (theirs, np.roll(theirs, 1, axis=0)))
    return (
        f"cosine of our embedding and clip-retrieval's, {len(ours):,} images: lowest "
        f"{same.min():.6f}; of an image's and the next one's: median {np.median(other):.3f}."
    )


if __name__ == "__main__":
    try:
        main()
    except ClipauditError as error:
        sys.exit(f"auditspeed: {error}")
