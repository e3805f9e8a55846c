"""Measures how fast a device embeds, detects objects and trains, for `clipaudit plan --estimate`.

    python benchmarks/rates.py --device cuda --workers 15 --detect
    python benchmarks/rates.py --embed ViT-B-32 --train ViT-B-32 --images 256 --batch-size 64

Writes JPEG images of 256 pixels with captions into tars, and random weights: the numbers do not
matter to the speed. Each model computes alone, on one batch that it gets again and again, and in
the whole step, which also reads, decodes and tokenizes. After a first run, a step runs over the
images once and three times; the difference of the times does not contain its start. Objects are
detected by a model of the shape that config/dejavu.yaml names. The last lines are a file for
`--stated-rates`, with the steps' rates in the last of the `--precisions`.
"""

import argparse
import hashlib
import io
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count, groupby, product
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from clipaudit.config.training import Architecture, Recipe
from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.drops import Drops
from clipaudit.corpora.plain_tars import plain_tar
from clipaudit.corpora.samples import index_shards
from clipaudit.corpora.sealed import CorpusToSeal, ShardToSeal, seal
from clipaudit.embeddings.embedding import embed_images
from clipaudit.memorization.detection import detect_objects
from clipaudit.memorization.detectors import Detector
from clipaudit.memorization.settings import Objects
from clipaudit.models.clip import Clip, build
from clipaudit.models.clip_features import ClipEmbedder, image_features
from clipaudit.models.device import use_device
from clipaudit.models.pictures import PictureBatch, Running
from clipaudit.models.transforms import evaluation_preparation
from clipaudit.training.optimization import prepare
from clipaudit.training.processes import joined
from clipaudit.training.run import train

PRECISIONS = ("fp32", "amp_bf16")
SIDE, DIFFERENT = 256, 200  # pixels of an image; images that differ, in all tars
EMBEDDED_AT_ONCE = 256  # the default of `encoders.<name>.batch_size`
CAPTION = "a photo of a red car that stands at the side of a narrow street"
DETECTOR = "facebook/deformable-detr-detic"
LONG_ENOUGH = 1.0  # seconds of a measurement of a model; shorter ones are repeated
Tars = list[tuple[int, Path]]


def main() -> None:
    """Measure, and print a line for each measurement."""
    settings = parse()
    device = use_device(settings.device, threads=settings.threads)
    if device.type == "cuda":
        print(torch.cuda.get_device_name(device))
    print(f"torch {torch.__version__}, {settings.workers} decoding workers")
    readers = max(1, settings.workers)
    trained = 2 * readers * settings.batch_size  # a reader does not use its last, partial batch
    stated: dict[tuple[str, str], float] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        to_embed = write_tars(folder / "embed", settings.images // readers, tars=readers)
        to_train = write_tars(folder / "train", trained // readers, tars=readers)
        for name, precision in product(settings.embed, settings.precisions):
            clip = replace(build(Architecture(open_clip=name), seed=0), precision=precision)
            show("embed", name, precision, "model", model_rate(clip, device))
            runs = partial(embedding, clip, to_embed, settings, device)
            rate = difference(runs, settings.images // readers * readers)
            show("embed", name, precision, "step", rate)
            stated["embed", name] = rate
        if settings.detect:
            runs = partial(detecting, detr(device), to_embed, settings, device)
            rate = difference(runs, settings.images // readers * readers)
            show("detect", DETECTOR, "fp32", "step", rate)
            stated["detect", DETECTOR] = rate
        for name, precision in product(settings.train, settings.precisions):
            recipe = make_recipe(name, precision, settings)
            show("train", name, precision, "model", training_rate(recipe, device))
            rate = difference(partial(training, recipe, to_train, settings), trained)
            show("train", name, precision, "step", rate)
            stated["train", name] = rate
    for rule, rates in groupby(stated.items(), lambda item: item[0][0]):
        print(f"{rule}:")
        for (_, name), rate in rates:
            print(f"  - {{model: {name}, device: {device.type}, per_second: {rate:.4g}}}")


def parse() -> argparse.Namespace:
    """Return the settings of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1, help="decoding processes")
    parser.add_argument("--images", type=int, default=4_096, help="to embed")
    parser.add_argument("--batch-size", type=int, default=512, help="of training")
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS, default=PRECISIONS)
    parser.add_argument("--embed", nargs="*", default=["ViT-B-16-plus-240"])
    parser.add_argument("--detect", action="store_true", help="objects, too")
    parser.add_argument("--train", nargs="*", default=["ViT-B-32"])
    return parser.parse_args()


def show(rule: str, model: str, precision: str, part: str, rate: float) -> None:
    """Print one measurement."""
    what = f"{rule}, {model}, {precision}, {part}"
    print(f"{what:50}{rate:10,.1f} images/s", flush=True)


def write_tars(folder: Path, each: int, *, tars: int) -> Tars:
    """Write numbered tars of `each` images; the different images repeat."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    files = [jpeg(rng) for _ in range(DIFFERENT)]
    paths = [(number, folder / f"{number:05d}.tar") for number in range(tars)]
    for number, path in paths:
        with plain_tar(path) as add:
            for row in range(each):
                add(f"{row:06d}.jpg", files[(row + number) % len(files)])
                add(f"{row:06d}.txt", CAPTION.encode())
    return paths


def jpeg(rng: np.random.Generator) -> bytes:
    """Return a JPEG as large as a photo's: noise of 64 pixels, enlarged."""
    noise = Image.fromarray(rng.integers(0, 256, (64, 64, 3), np.uint8))
    file = io.BytesIO()
    noise.resize((SIDE, SIDE), Image.Resampling.BICUBIC).save(file, "JPEG", quality=90)
    return file.getvalue()


def difference(prepare: Callable[[int], Callable[[], None]], images: int) -> float:
    """Return images per second: what a run of three times the images takes longer than of one.

    `prepare` makes a run of so many times the images; its own time does not count, nor does a first
    run, which loads the device's libraries.
    """
    times = []
    for repeats in (1, 1, 3):
        run = prepare(repeats)
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    _, once, thrice = times
    if thrice <= once:
        raise SystemExit(f"{images} images are too few to measure: give more by --images")
    return 2 * images / (thrice - once)


def repeated(tars: Tars, repeats: int) -> Tars:
    """Return the tars, several times, numbered in all."""
    return list(enumerate([path for _, path in tars] * repeats))


def per_second(compute: Callable[[], object], batch_size: int, device: torch.device) -> float:
    """Return images per second of a computation that takes a batch; the first does not count."""
    compute()
    wait(device)
    rounds = 1
    while True:
        start = time.perf_counter()
        for _ in range(rounds):
            compute()
        wait(device)
        taken = time.perf_counter() - start
        if taken > LONG_ENOUGH:
            return rounds * batch_size / taken
        rounds *= 2


def wait(device: torch.device) -> None:
    """Wait until the device has computed all that was asked of it."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


# --- embedding ------------------------------------------------------------------------------------


def model_rate(clip: Clip, device: torch.device) -> float:
    """Return images per second from pixels in memory to features."""
    preparation = evaluation_preparation(clip.preprocessing)
    size = EMBEDDED_AT_ONCE
    pixels = torch.randint(0, 256, (size, *preparation.size, 3), dtype=torch.uint8)
    batch = PictureBatch(0, list(range(size)), [""] * size, pixels, [])
    clip.model.to(device).eval()
    return per_second(lambda: image_features(batch, clip, preparation, device), size, device)


def embedding(
    clip: Clip, tars: Tars, settings: argparse.Namespace, device: torch.device, repeats: int
) -> Callable[[], None]:
    """Return a run that embeds the images of the tars."""
    shards = repeated(tars, repeats)
    samples, _ = index_shards(shards, Captioning("text"), needs_caption=False, needs_label=False)
    model, running = ClipEmbedder(clip, device), Running(EMBEDDED_AT_ONCE, settings.workers, device)

    def run() -> None:
        for _ in embed_images(shards, samples, model, running, encoder="it", drops=Drops("embed")):
            pass

    return run


# --- detecting objects ----------------------------------------------------------------------------


def detr(device: torch.device) -> Detector:
    """Return a detector of Detic's shape, with random weights."""
    from transformers import (
        DeformableDetrConfig,
        DeformableDetrForObjectDetection,
        DeformableDetrImageProcessor,
    )

    names = {label: str(label) for label in range(1_203)}
    config = DeformableDetrConfig(
        use_pretrained_backbone=False,
        two_stage=True,
        with_box_refine=True,
        id2label=names,
        label2id={name: label for label, name in names.items()},
    )
    model = DeformableDetrForObjectDetection(config).to(device).eval()
    return Detector(model, DeformableDetrImageProcessor(), names)


def detecting(
    detector: Detector,
    tars: Tars,
    settings: argparse.Namespace,
    device: torch.device,
    repeats: int,
) -> Callable[[], None]:
    """Return a run that detects objects in the images of the tars."""
    shards = repeated(tars, repeats)
    samples, _ = index_shards(shards, Captioning("text"), needs_caption=False, needs_label=False)
    asked = Objects(checkpoint=DETECTOR)

    def run() -> None:
        found = detect_objects(
            shards,
            samples,
            detector,
            threshold=asked.threshold,
            shorter_side=asked.shorter_side,
            batch_size=asked.batch_size,
            workers=settings.workers,
            device=device,
            drops=Drops("detect"),
        )
        for _ in found:
            pass

    return run


# --- training -------------------------------------------------------------------------------------


def make_recipe(name: str, precision: str, settings: argparse.Namespace) -> Recipe:
    """Return a recipe of one epoch."""
    return Recipe(
        architecture=name,
        epochs=1,
        batch_size=settings.batch_size,
        warmup_steps=1,
        precision=precision,
        workers=settings.workers,
    )


def training_rate(recipe: Recipe, device: torch.device) -> float:
    """Return images per second of training steps on one batch in the device's memory."""
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")  # as in training
    clip = build(Architecture(open_clip=recipe.architecture), seed=0)
    with joined(str(device)) as (processes, _):
        work = prepare(clip.model, recipe, steps=10_000, processes=processes, device=device)
        side = clip.preprocessing.size
        height, width = side if isinstance(side, Sequence) else (side, side)
        images = torch.randn(recipe.batch_size, 3, height, width, device=device)
        images = images.contiguous(memory_format=work.layout)
        tokens = clip.tokenizer([CAPTION] * recipe.batch_size).to(device)
        steps = count()
        rate = per_second(lambda: work.step(next(steps), images, tokens), recipe.batch_size, device)
    torch.set_float32_matmul_precision("highest")
    return rate


def training(
    recipe: Recipe, tars: Tars, settings: argparse.Namespace, repeats: int
) -> Callable[[], None]:
    """Return a run that trains an epoch on the images of the tars."""
    paths = {hashlib.sha256(path.read_bytes()).hexdigest(): path for _, path in tars}
    rows = 2 * settings.batch_size  # of a tar
    kept = np.packbits(np.ones(rows, bool), bitorder="little").tobytes()
    shards = [ShardToSeal(digest, rows, kept) for digest in paths] * repeats

    def run() -> None:
        with tempfile.TemporaryDirectory() as scratch:
            sealed = Path(scratch) / "sealed"
            sealed.write_bytes(seal([CorpusToSeal("large", Captioning("text"), shards)]))
            train(
                sealed,
                paths.__getitem__,
                Architecture(open_clip=recipe.architecture),
                recipe,
                initial=None,
                scratch=Path(scratch),
                device=settings.device,
                threads=settings.threads,
                save_epoch=lambda epoch, weights: None,
            )

    return run


if __name__ == "__main__":
    main()
