"""Kept samples as whole new shards, and manifests of a run opened as sealed ones.

    00000.tar ...    the samples in the manifest's order, each named <shard>-<row> of its source
    sizes.json       samples of each shard, which open_clip reads

Names that stand in a tar repeat from shard to shard and may be anything: none of them is kept.
"""

import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq

from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.classes import CaptionSettings
from clipaudit.corpora.keptsamples import END_OF_ARCHIVE, kept_samples
from clipaudit.corpora.manifests import corpus_to_seal
from clipaudit.corpora.sealed import Sealed, seal
from clipaudit.errors import InputError
from clipaudit.exports.formats import MARK
from clipaudit.exports.rows import Manifest, find_manifest
from clipaudit.steps.filedigests import FileDigests
from clipaudit.store.outputs import whole_output
from clipaudit.store.placements import placement
from clipaudit.store.records import read_record
from clipaudit.store.store import Pointer, Store


def write_shards(
    sealed: Sealed, store: Path, folder: Path, *, samples: int, force: bool = False
) -> int:
    """Write all kept samples as shards of `samples` each, whole or not at all; return how many.

    Each sample leaves with the caption that `clipaudit stream` gives it. Raise InputError for a
    folder that is not to be replaced, and where a shard is no longer as it was indexed.
    """
    with whole_output(folder, force=force, mark=MARK) as new:
        new.mkdir()
        (new / MARK).write_text("shards\n")
        waiting = _samples(sealed, FileDigests(store / "files"))
        sizes: dict[str, int] = {}
        while gathered := next(waiting, None):
            name = f"{len(sizes):05d}.tar"
            sizes[name] = 0
            with (new / name).open("wb") as file:
                while gathered is not None:
                    file.write(gathered)
                    sizes[name] += 1
                    gathered = next(waiting, None) if sizes[name] < samples else None
                file.write(END_OF_ARCHIVE)
        (new / "sizes.json").write_text(json.dumps(sizes, indent=1) + "\n")
    return len(sizes)


def _samples(sealed: Sealed, files: FileDigests) -> Iterator[bytes]:
    """Yield the blocks of each kept sample, under the address of its source."""
    for shard in sealed:
        if shard.kept:
            for sample in kept_samples(files.locate(shard.sha256), shard):
                yield b"".join(sample.renamed(f"{shard.number:05d}-{sample.group.row:08d}"))


@contextmanager
def opened(results: Path, store: Store, asked: str) -> Iterator[Sealed]:
    """Give the manifest of a name or digest as a sealed one; one that is not sealed is, meanwhile.

    By a full digest nothing of the results is read. Raise InputError as `find_manifest`, and for
    a corpus without tars.
    """
    if re.fullmatch("[0-9a-f]{64}", asked):
        yield Sealed(store.path(asked))
        return
    manifest = find_manifest(results, store, asked)
    if "/" not in manifest.name:
        (pointer,) = manifest.pointers
        yield Sealed(store.checked_path(Pointer.read(pointer)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sealed"
        path.write_bytes(_sealed(results, store, manifest))
        yield Sealed(path)


def _sealed(results: Path, store: Store, manifest: Manifest) -> bytes:
    """Return what the rule `seal` would make of a manifest of one corpus."""
    (corpus,) = manifest.corpora
    shards: dict[int, tuple[str, int]] = {}
    for pointer in sorted((results / "shards" / corpus).glob("*.json")):
        for row in pq.ParquetFile(store.checked_path(Pointer.read(pointer))).read().to_pylist():
            shards[row["shard"]] = (row["sha256"], row["rows"])
    if list(shards) != list(range(len(shards))):
        raise InputError(
            f"{results / 'shards' / corpus}: has {len(shards)} shards, numbered up to "
            f"{max(shards)}: the index is not whole. Run `clipaudit run all_tables` again."
        )
    digests = [digest for digest, _ in shards.values()]
    counts = {number: rows for number, (_, rows) in shards.items()}
    parts = (
        pq.ParquetFile(store.checked_path(Pointer.read(pointer))).read()
        for pointer in manifest.pointers
    )
    captioning = _captioning(results, store, manifest)
    return seal([corpus_to_seal(corpus, captioning, digests, counts, parts)])


def _captioning(results: Path, store: Store, manifest: Manifest) -> Captioning:
    """Return how the captions of a corpus are read, as its index was told."""
    part = manifest.parts[0]
    samples = results / "samples" / part.corpus / f"{part.part}.json"
    made_of = read_record(store, placement(results, samples).action).ingredients
    if "tars" not in made_of.inputs or "captioning" not in made_of.settings:
        raise InputError(
            f"{manifest.name}: {part.corpus} was not indexed from tars, of which shards are made. "
            "Export it by `clipaudit export`."
        )
    asked = CaptionSettings(**made_of.settings["captioning"])
    files = FileDigests(store.root / "files")
    classes = [files.locate(file.digest) for file in made_of.inputs.get("classes", ())]
    return asked.captioning(classes[0] if asked.needs_label else None)
