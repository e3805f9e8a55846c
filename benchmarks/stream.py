"""Measures how fast `clipaudit stream` starts and filters, compared with a training loop.

    .venv/bin/python benchmarks/stream.py [--samples 2000] [--side 256]

Makes one shard of JPEGs in a temporary folder and prints, best of three rounds: start-up in ms (a
whole run over a shard of one sample, median of 21), MB/s of the shard filtered into a pipe, and
MB/s that open_clip_train's input pipeline reads in one process (decode, crop to 224, tokenize).
open_clip_train imports pandas: install it first, and remove it afterwards, as it slows every job.
"""

import argparse
import io
import logging
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.sealed import CorpusToSeal, ShardToSeal, seal
from clipaudit.corpora.shards import raw_samples
from clipaudit.steps.filedigests import FileDigests

COMMAND = [str(Path(sys.executable).parent / "clipaudit"), "stream"]


def main() -> None:
    """Run the benchmark; see the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2000, help="in the shard")
    parser.add_argument("--side", type=int, default=256, help="of the pictures, in pixels")
    settings = parser.parse_args()
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        path = write_shard(Path(folder) / "0.tar", settings.samples, settings.side)
        one = write_shard(Path(folder) / "1.tar", 1, settings.side)
        megabytes = path.stat().st_size / 1e6
        n = settings.samples
        print(f"{n} samples, {megabytes:.0f} MB, {1e6 * megabytes / n / 1e3:.0f} kB a sample")
        store = Path(folder) / "store"
        digests = {share: put(store, path, n, share) for share in (1, 2, 100)}
        start_up(store, put(store, one, 1, 1))
        jobs: dict[str, Callable[[], object]] = {
            "one row in two, to a pipe": lambda: stream(store, digests[2]),
            "one row in 100, to a pipe": lambda: stream(store, digests[100]),
            "raw_samples, in process": lambda: sum(1 for _ in raw_samples(path)),
            "webdataset, reading only": lambda: read_stock(path),
        }
        rate = megabytes / best(lambda: stream(store, digests[1]))
        loop = megabytes / best(lambda: train_stock(path))
        print(f"{'every row, to a pipe':28} {rate:8.0f} MB/s")
        for name, job in jobs.items():
            print(f"{name:28} {megabytes / best(job):8.0f} MB/s")
        print(f"{'open_clip_train, one process':28} {loop:8.1f} MB/s, {n * loop / megabytes:.0f}/s")
        print(f"stream reads {rate / loop:.0f} x what the training loop does")


def write_shard(path: Path, samples: int, side: int) -> Path:
    """Write images with some texture, so that a JPEG of 256 pixels has about 15 kB."""
    rng = np.random.default_rng(0)
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for row in range(samples):
            coarse = rng.integers(0, 255, (side // 5, side // 5, 3), dtype=np.uint8)
            out = io.BytesIO()
            Image.fromarray(coarse).resize((side, side)).save(out, "JPEG", quality=90)
            for extension, data in (
                ("jpg", out.getvalue()),
                ("json", b'{"uid": "%032x", "width": %d}' % (row, side)),
                ("txt", b"a photo of thing number %d" % row),
            ):
                info = tarfile.TarInfo(f"{row:09d}.{extension}")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    os.utime(path, (1_600_000_000, 1_600_000_000))  # old, as shards are: its digest is remembered
    return path


def put(store: Path, path: Path, rows: int, keep_one_in: int) -> str:
    """Seal a manifest of one shard into the store; returns its digest."""
    kept = np.arange(rows) % keep_one_in == 0
    bitmap = np.packbits(kept, bitorder="little").tobytes()
    shard = ShardToSeal(FileDigests(store / "files").digest(path), rows, bitmap)
    sealed = store / "sealed"
    sealed.write_bytes(seal([CorpusToSeal("benchmark", Captioning("text"), [shard])]))
    digest = FileDigests(store / "files").digest(sealed)
    target = store / "objects" / digest[:2] / digest[2:]
    target.parent.mkdir(parents=True, exist_ok=True)
    sealed.replace(target)
    return digest


def start_up(store: Path, digest: str) -> None:
    """Print the median time of whole runs over a shard of one sample, and of a bare Python."""
    for name, command in (
        ("stream, one sample", [*COMMAND, digest, "0"]),
        ("python -c pass", [sys.executable, "-c", "pass"]),
    ):
        took = [best(lambda command=command: run(store, command), 1) for _ in range(21)]
        print(f"{name:28} {1e3 * statistics.median(took):8.0f} ms")


def run(store: Path, command: list[str]) -> None:
    """Run a command, reading its output through a pipe."""
    environment = os.environ | {"CLIPAUDIT_STORE": str(store)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        while process.stdout.read(1 << 16):
            pass
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")


def stream(store: Path, digest: str) -> None:
    """Filter the shard into a pipe."""
    run(store, [*COMMAND, digest, "0"])


def read_stock(path: Path) -> None:
    """Read samples as open_clip_train does, without decoding."""
    from open_clip_train.data import tarfile_to_samples_nothrow

    for _ in tarfile_to_samples_nothrow([{"url": str(path)}]):
        pass


def train_stock(path: Path) -> None:
    """Read, decode, crop and tokenize as open_clip_train does, in one process."""
    import open_clip
    import webdataset as wds
    from open_clip_train.data import tarfile_to_samples_nothrow

    preprocess = open_clip.image_transform(224, is_train=True)
    tokenize = open_clip.get_tokenizer("ViT-B-32")
    for _ in wds.DataPipeline(
        wds.SimpleShardList(str(path)),
        tarfile_to_samples_nothrow,
        wds.decode("pilrgb"),
        wds.rename(image="jpg;png;jpeg;webp", text="txt"),
        wds.map_dict(image=preprocess, text=lambda text: tokenize(text)[0]),
        wds.to_tuple("image", "text"),
        wds.batched(64),
    ):
        pass


def best(job: Callable[[], object], rounds: int = 3) -> float:
    """Return the seconds of the fastest of some rounds."""
    took = []
    for _ in range(rounds):
        start = time.perf_counter()
        job()
        took.append(time.perf_counter() - start)
    return min(took)


if __name__ == "__main__":
    main()
