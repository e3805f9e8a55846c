"""Makes the data of auditspeed.py: tars of JPEG images from drawings, and random models."""

import json
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

import cv2
import numpy as np

from clipaudit.config.worlds.glyph_settings import GlyphCorpus, GlyphWorld
from clipaudit.corpora.images import open_picture
from clipaudit.corpora.plain_tars import plain_tar
from clipaudit.corpora.reasons import Unusable
from clipaudit.corpora.shards import first_image, raw_samples
from clipaudit.demo.glyph_world import samples as glyph_samples
from clipaudit.errors import InputError
from clipaudit.store.outputs import whole_output

SIDE, PER_TAR = 256, 10_000  # pixels of an image; images of a tar
GLYPH_DRAWINGS = 2_000  # drawn from the glyph world in 20 seconds
FEW = 200  # images for the large model
MODELS = {  # layers, width and heads of the vision model
    "tiny": (1, 64, 1),
    "base": (12, 768, 12),  # those of ViT-B/32
}
Drawing = tuple[bytes, str]  # a JPEG of at most SIDE pixels, and its caption


def make_data(folder: Path, drawings: Path | None, *, images: int, embedded: int) -> Path:
    """Return a folder with the sets `train`, `test`, `tiny` and `base`, and with `models`.

    It is in `folder`, named after the arguments; files of an earlier call are kept. `train` has
    `images` images, `test` a hundredth, `tiny` and `base` those that a model embeds. Images are
    made from the `drawings`, tars below a folder, or else from drawings of the glyph world.
    """
    name = f"{drawings.name if drawings else 'glyphs'}-{images}-{embedded}"
    if not (folder / name).exists():
        folder.mkdir(parents=True, exist_ok=True)
        found = list(read_drawings(drawings) if drawings else drawn_glyphs())
        if not found:
            raise InputError(
                f"{drawings}: no tar with a usable image. `make clipart` writes data/clipart."
            )
        sets = {"train": images, "test": max(1, images // 100)}
        sets |= {"tiny": embedded, "base": min(FEW, embedded)}
        with whole_output(folder / name, force=False) as part:
            for seed, (each, size) in enumerate(sets.items()):
                write_set(part / each, found, size, seed=seed)
            for each, shape in MODELS.items():
                save_model(part / "models" / each, *shape)
    return folder / name


def read_drawings(folder: Path) -> Iterator[Drawing]:
    """Yield the usable images of all tars below a folder, reduced to SIDE, with their captions."""
    for tar in sorted(folder.rglob("*.tar")):
        for sample in raw_samples(tar):
            try:
                rgb = open_picture(first_image(sample.members) or b"").rgb
            except Unusable:
                continue  # the library has some drawings that no reader opens
            rgb.thumbnail((SIDE, SIDE))
            yield (
                encoded(np.asarray(rgb)),
                sample.members.get("txt", b"").decode("utf-8", "replace"),
            )


def drawn_glyphs() -> Iterator[Drawing]:
    """Yield drawings of the glyph world."""
    plan = GlyphCorpus(samples_per_shard=GLYPH_DRAWINGS)
    world = GlyphWorld(side=SIDE, corpora={"drawings": plan})
    for sample in glyph_samples(world, "drawings", 0):
        yield encoded(sample.pixels), sample.caption or ""


def write_set(folder: Path, drawings: list[Drawing], size: int, *, seed: int) -> None:
    """Write `size` images with captions into tars of PER_TAR, using all drawings in turn.

    Each use of a drawing has another size, place and background.
    """
    folder.mkdir(parents=True)
    dice = np.random.default_rng(seed)
    images = (
        (placed(jpeg, dice), f"{caption or 'a drawing'}, {turn}")
        for turn in count()
        for jpeg, caption in drawings
    )
    for number, start in enumerate(range(0, size, PER_TAR)):
        with plain_tar(folder / f"{number:05d}.tar") as add:
            for row, (jpeg, caption) in enumerate(islice(images, min(PER_TAR, size - start))):
                add(f"{row:09d}.jpg", jpeg)
                add(f"{row:09d}.txt", caption.encode())


def placed(jpeg: bytes, dice: np.random.Generator) -> bytes:
    """Return a JPEG of SIDE x SIDE pixels with a drawing of at least half the side."""
    drawing = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR_RGB)
    scale = SIDE * dice.uniform(0.5, 1) / max(drawing.shape[:2])
    height, width = (max(2, round(side * scale)) for side in drawing.shape[:2])
    small = cv2.resize(drawing, (width, height), interpolation=cv2.INTER_AREA)
    image = np.empty((SIDE, SIDE, 3), np.uint8)
    image[:] = dice.integers(160, 256, 3)
    top, left = dice.integers(0, (SIDE - height + 1, SIDE - width + 1))
    image[top : top + height, left : left + width] = small
    return encoded(image)


def encoded(rgb: np.ndarray) -> bytes:
    """Return an RGB image as a JPEG, of OpenCV's quality 95."""
    return cv2.imencode(".jpg", cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR))[1].tobytes()


def save_model(folder: Path, layers: int, width: int, heads: int) -> None:
    """Save a CLIP of transformers with random weights, and the files of its processor.

    Its projection of images is the identity: our plug-in takes only the vision model, the peer the
    projected output. The text model is as small as the peer's tokenizer allows.
    """
    import torch
    from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel

    from clipaudit.models.checkpoints import quiet

    vision = {
        "num_hidden_layers": layers,
        "hidden_size": width,
        "intermediate_size": 4 * width,
        "num_attention_heads": heads,
        "patch_size": 32,
    }
    text = {
        "num_hidden_layers": 1,
        "hidden_size": 8,
        "intermediate_size": 8,
        "num_attention_heads": 1,
    }
    torch.manual_seed(0)
    model = CLIPModel(CLIPConfig(vision_config=vision, text_config=text, projection_dim=width))
    torch.nn.init.eye_(model.visual_projection.weight)
    with quiet():
        model.save_pretrained(folder)
    CLIPImageProcessor().save_pretrained(folder)
    words = {"<|startoftext|>": 0, "<|endoftext|>": 1}
    (folder / "vocab.json").write_text(json.dumps(words))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "CLIPTokenizer"}')
