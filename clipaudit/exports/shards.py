"""Exports kept samples as whole new shards, and opens manifests of a run as sealed ones.

    00000.tar ...    the samples in the manifest's order, each named <shard>-<row> of its source
    sizes.json       samples of each shard, which open_clip reads

Names in a tar repeat from shard to shard and may be anything, so they are not kept.
"""

import fcntl
import hashlib
import json
import re
import tempfile
from collections.abc import Iterator, Set
from contextlib import contextmanager
from itertools import islice
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
from clipaudit.plaintext import plain
from clipaudit.steps.filedigests import FileDigests
from clipaudit.store.outputs import replaced, whole_output, write_whole
from clipaudit.store.placements import placement
from clipaudit.store.records import read_record
from clipaudit.store.store import Pointer, Store


def write_shards(
    sealed: Sealed, store: Path, folder: Path, *, samples: int, force: bool = False
) -> int:
    """Write all kept samples as shards of `samples` each; return how many there are.

    A shard is written whole or not at all, `sizes.json` last. A folder with shards of the same
    manifest and size is completed: whole shards stay, missing ones are written. With `force`, all
    are rewritten, and the folder is replaced at the end. Each sample has the caption that
    `clipaudit stream` gives it. Raise InputError for a folder that contains anything else or that
    another command is writing, and if a shard has changed since it was indexed.
    """
    with sealed.path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    holds = f"shards of {samples} samples of the sealed manifest {digest}"
    files = FileDigests(store / "files")
    if force:
        with whole_output(folder, force=True, mark=MARK) as new:
            new.mkdir()
            (new / MARK).write_text(f"{holds}\n")
            return _complete(sealed, files, new, samples)
    with _continued(folder, holds):
        return _complete(sealed, files, folder, samples)


@contextmanager
def _continued(folder: Path, holds: str) -> Iterator[None]:
    """Hold a folder, new or of an earlier command, for the shards that `holds` names.

    The remains of a killed command's last shard are removed. See `write_shards`.
    """
    try:
        folder.mkdir(exist_ok=True)
        if not (folder / MARK).is_file() and any(folder.iterdir()):
            raise InputError(
                f"{folder}: has files that `clipaudit stream` did not write. Name another folder."
            )
        mark = (folder / MARK).open("a+")
    except OSError as error:
        raise InputError(
            f"{folder}: cannot be written ({error.strerror}). Name a folder that is yours."
        ) from error
    with mark:
        try:
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(
                f"{folder}: another command is writing it. Wait for it, or name another folder."
            ) from error
        except OSError:
            pass  # the disk cannot lock files
        mark.seek(0)
        found = mark.read().strip()
        if found not in ("", holds):
            raise InputError(
                f"{folder}: contains {plain(found)[:200]}, requested are {holds}. "
                "Name another folder, or replace this one by --force."
            )
        if not found:
            mark.write(f"{holds}\n")
            mark.flush()
        for left in folder.glob(".*.tar.*"):
            left.unlink()
        yield


def _complete(sealed: Sealed, files: FileDigests, folder: Path, samples: int) -> int:
    """Write the shards that a folder lacks, then the sizes of all; return the number of shards."""
    starts = range(0, sealed.kept, samples)
    sizes = {_name(n): min(samples, sealed.kept - start) for n, start in enumerate(starts)}
    missing = [number for number, name in enumerate(sizes) if not (folder / name).exists()]
    waiting = _samples(sealed, files, samples, set(missing))
    for number in missing:
        with replaced(folder / _name(number)) as part, part.open("wb") as file:
            file.writelines(islice(waiting, sizes[_name(number)]))
            file.write(END_OF_ARCHIVE)
    write_whole(folder / "sizes.json", (json.dumps(sizes, indent=1) + "\n").encode())
    return len(sizes)


def _name(number: int) -> str:
    return f"{number:05d}.tar"


def _samples(
    sealed: Sealed, files: FileDigests, samples: int, missing: Set[int]
) -> Iterator[bytes]:
    """Yield the blocks of each sample of the missing shards, under the address of its source."""
    place = 0
    for shard in sealed:
        new = [at // samples for at in range(place, place + shard.kept)]
        place += shard.kept
        if missing.isdisjoint(new):
            continue
        kept = kept_samples(files.locate(shard.sha256), shard)
        for number, sample in zip(new, kept, strict=True):
            if number in missing:
                name = f"{shard.number:05d}-{sample.group.row:08d}"
                yield b"".join(sample.renamed(name))


@contextmanager
def opened(results: Path, store: Store, asked: str) -> Iterator[Sealed]:
    """Open the manifest of a name or digest as a sealed one, sealing it temporarily if needed.

    With a full digest, the results are not read. Raise InputError as `find_manifest`, and for a
    corpus without tars.
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
    """Return a manifest of one corpus as the rule `seal` would write it."""
    (corpus,) = manifest.corpora
    shards: dict[int, tuple[str, int]] = {}
    for pointer in sorted((results / "shards" / corpus).glob("*.json")):
        for row in pq.ParquetFile(store.checked_path(Pointer.read(pointer))).read().to_pylist():
            shards[row["shard"]] = (row["sha256"], row["rows"])
    if list(shards) != list(range(len(shards))):
        raise InputError(
            f"{results / 'shards' / corpus}: has {len(shards)} shards, numbered up to "
            f"{max(shards)}: the index is incomplete. Run `clipaudit run all_tables` again."
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
    """Return how to read the captions of a corpus, as its index did."""
    part = manifest.parts[0]
    samples = results / "samples" / part.corpus / f"{part.part}.json"
    made_of = read_record(store, placement(results, samples).action).ingredients
    if "tars" not in made_of.inputs or "captioning" not in made_of.settings:
        raise InputError(
            f"{manifest.name}: {part.corpus} was not indexed from tars, which shards are made "
            "from. Export it by `clipaudit export`."
        )
    asked = CaptionSettings(**made_of.settings["captioning"])
    files = FileDigests(store.root / "files")
    classes = [files.locate(file.digest) for file in made_of.inputs.get("classes", ())]
    return asked.captioning(classes[0] if asked.needs_label else None)
