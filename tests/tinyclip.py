"""Tiny CLIP models and shards of random images, for the tests of models and training."""

import gzip
import hashlib
import io
import tarfile
from itertools import pairwise

import numpy as np
import pyarrow as pa
from PIL import Image

from clipaudit.config.training import Architecture
from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.samples import index_shards
from clipaudit.corpora.sealed import CorpusToSeal, ShardToSeal, seal

WORDS = ("red", "green", "blue", "cat", "dog", "photo", "of", "a")


def vocabulary(folder):
    """Write a BPE file that merges each letter pair of WORDS: a word is one to three tokens."""
    pairs = sorted({f"{a} {b}" for word in WORDS for a, b in pairwise(word)})
    path = folder / "bpe.txt.gz"
    path.write_bytes(gzip.compress("\n".join(["#version", *pairs]).encode(), mtime=0))
    return path


def tiny(folder, **changes):
    """Return a ResNet CLIP of some 40,000 weights over 32-pixel images."""
    definition = {
        "embed_dim": 16,
        "vision_cfg": {"image_size": 32, "layers": [1, 1, 1, 1], "width": 8, "head_width": 64},
        "text_cfg": {"context_length": 12, "width": 16, "heads": 2, "layers": 1},
    }
    return Architecture(definition=definition | changes, vocabulary=str(vocabulary(folder)))


def picture(rng, side=40):
    """Return the PNG bytes of a random image."""
    out = io.BytesIO()
    Image.fromarray(rng.integers(0, 256, (side, side + 3, 3), np.uint8)).save(out, "PNG")
    return out.getvalue()


def write_shard(path, samples):
    """Write a tar of samples, each a dict from extension to bytes."""
    with tarfile.open(path, "w") as tar:
        for row, members in enumerate(samples):
            for extension, data in members.items():
                info = tarfile.TarInfo(f"{row:05d}.{extension}")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    return path


def text_shards(folder, counts, seed=0):
    """Write one shard of captioned images for each count; return (number, path) pairs."""
    rng = np.random.default_rng(seed)
    return [
        (
            number,
            write_shard(
                folder / f"{number:05d}.tar",
                [
                    {
                        "png": picture(rng),
                        "txt": " ".join(rng.choice(WORDS, 5)).encode(),
                        "cls": str(row % 3).encode(),
                    }
                    for row in range(count)
                ],
            ),
        )
        for number, count in enumerate(counts)
    ]


def index(shards):
    """Return the samples of shards written by `text_shards`."""
    return index_shards(shards, Captioning("text"), needs_caption=False, needs_label=False)[0]


def sealed(folder, shards, rows, drop=(), captioning=None):
    """Seal a manifest that keeps all but the (shard, row) pairs in `drop`; return it and a lookup.

    `rows` is the number of rows of each shard.
    """
    paths, entries = {}, []
    for (number, path), count in zip(shards, rows, strict=True):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        flags = np.array([(number, row) not in drop for row in range(count)], dtype=bool)
        bitmap = np.packbits(flags, bitorder="little").tobytes()
        entries.append(ShardToSeal(digest, count, bitmap))
        paths[digest] = path
    file = folder / "sealed"
    file.write_bytes(seal([CorpusToSeal("large", captioning or Captioning("text"), entries)]))
    return file, paths.__getitem__


def without(samples, *rows):
    """Return the samples table without some (shard, row) pairs."""
    keep = [
        (shard, row) not in rows
        for shard, row in zip(samples["shard"].to_pylist(), samples["row"].to_pylist(), strict=True)
    ]
    return samples.filter(pa.array(keep))
