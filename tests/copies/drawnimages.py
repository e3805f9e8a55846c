"""Images of shapes and noise for the tests of this folder, and shards of them."""

import hashlib
import io
import tarfile

import numpy as np
import pyarrow as pa
from PIL import Image, ImageDraw

from clipaudit.copies.candidates import Described
from clipaudit.copies.hashing import OpenedImage, hash_opened
from clipaudit.copies.views import test_views as all_views
from clipaudit.copies.views import train_views


def drawing(seed, size=(96, 80)):
    """An RGB drawing of some shapes on a colour gradient; each seed gives another one."""
    dice = np.random.default_rng(seed)
    slope = (
        np.linspace(40, 215, size[0])[None, :, None] + np.linspace(0, 40, size[1])[:, None, None]
    )
    image = Image.fromarray(np.broadcast_to(slope, (*size[::-1], 3)).astype(np.uint8))
    draw = ImageDraw.Draw(image)
    for _ in range(14):
        x, y = (int(dice.integers(0, side)) for side in size)
        w, h = dice.integers(6, 40, 2).tolist()
        colour = tuple(dice.integers(0, 256, 3).tolist())
        shape = draw.ellipse if dice.random() < 0.5 else draw.rectangle
        shape((x, y, x + w, y + h), fill=colour)
    return np.asarray(image)


def flat(value, size=(40, 40)):
    """An RGB image of one colour."""
    return np.full((*size, 3), value, np.uint8)


def described(images, views=train_views, *, shard=0):
    """IMAGES and HASHES of RGB arrays, which are the rows 0, 1 ... of a shard."""
    opened = [
        OpenedImage(shard, row, hashlib.sha256(image.tobytes()).hexdigest(), image)
        for row, image in enumerate(images)
    ]
    return Described(*hash_opened(opened, views))


def described_tests(images, **options):
    return described(images, all_views, **options)


def png(image):
    out = io.BytesIO()
    Image.fromarray(image).save(out, "PNG")
    return out.getvalue()


def write_shard(path, files):
    """Write a tar of image files; return its samples' columns shard and row."""
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for row, data in enumerate(files):
            info = tarfile.TarInfo(f"{row:04d}.png")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    rows = np.arange(len(files), dtype=np.int32)
    return pa.table({"shard": np.zeros(len(files), np.int32), "row": rows})
