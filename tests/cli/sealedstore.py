"""Shards, and a store with a sealed manifest over them, for the tests of `clipaudit stream`."""

import io
import json
import os
import tarfile

from PIL import Image

from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.sealed import CorpusToSeal, ShardToSeal, seal
from clipaudit.steps.filedigests import FileDigests

TEXT = Captioning("text")
PHOTO = Captioning("class", "a photo of a {}", ("cat", "größe"))


def picture(red):
    out = io.BytesIO()
    Image.new("RGB", (16, 16), (red % 256, 0, 0)).save(out, "JPEG")
    return out.getvalue()


def write_tar(path, members, format=tarfile.USTAR_FORMAT):
    with tarfile.open(path, "w", format=format) as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            info.mtime = 1_600_000_000
            tar.addfile(info, io.BytesIO(data))
    os.utime(path, (1_600_000_000, 1_600_000_000))
    return path


def text_shard(path, n, **options):
    members = []
    for row in range(n):
        members.append((f"{row:04d}.jpg", picture(row)))
        members.append((f"{row:04d}.json", json.dumps({"caption": f"json {row}"}).encode()))
        if row % 3 != 2:
            members.append((f"{row:04d}.txt", f"caption {row}".encode()))
    return write_tar(path, members, **options)


def labelled_shard(path, labels):
    members = []
    for row, label in enumerate(labels):
        members.append((f"k{row}.cls", str(label).encode()))
        members.append((f"k{row}.webp", bytes([row]) * 700))
    return write_tar(path, members)


def put(store, *corpora):
    """Seal (captioning, [(path, rows, kept rows)]) corpora into the store; return the digest."""
    files = FileDigests(store / "files")
    sealed = []
    for captioning, shards in corpora:
        entries = []
        for path, rows, kept in shards:
            bitmap = sum(1 << row for row in kept).to_bytes((rows + 7) // 8, "little")
            entries.append(ShardToSeal(files.digest(path), rows, bitmap))
        sealed.append(CorpusToSeal("corpus", captioning, entries))
    data = seal(sealed)
    (store / "sealed").write_bytes(data)
    digest = files.digest(store / "sealed")
    path = store / "objects" / digest[:2] / digest[2:]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return digest
