"""Reads and writes sealed manifests: which rows of which shards to keep, in one indexed file.

A manifest's tables are joined once into a file named by its content, over one or several corpora.
Training and `clipaudit stream` read it with only the standard library, and for shard n of 41,408
read its header, one record and one bitmap. Integers are little-endian:

    8   magic "clipseal"
    4   format version, 1           4   length of the JSON
    8   number of shards            8   samples kept in all             8   length of the file
        the JSON: per corpus its name, number of shards and captioning
        one record of 56 bytes per shard, in the order of the corpora:
            32 SHA-256 of the tar, 4 rows in the tar, 4 rows kept, 4 number of the corpus,
            4 zero, 8 where its bitmap starts
        the bitmaps: row r is kept if bit r % 8 (the lowest is bit 0) of byte r // 8 is set
"""

import json
import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

from clipaudit.corpora.captions import Captioning
from clipaudit.errors import InputError, StoreError, TooSmall
from clipaudit.store.store import left_out_reason

_MAGIC = b"clipseal"
_VERSION = 1
_PREAMBLE = struct.Struct("<8sIIQQQ")
_RECORD = struct.Struct("<32sIIIIQ")


class ShardToSeal(NamedTuple):
    """One tar: SHA-256 of its bytes in hex, its rows, and the bitmap of the rows to keep."""

    sha256: str
    rows: int
    bitmap: bytes


class CorpusToSeal(NamedTuple):
    """A corpus's shards in order, and where its captions come from."""

    name: str
    captioning: Captioning
    shards: Sequence[ShardToSeal]


class SealedShard(NamedTuple):
    """One shard of a sealed manifest; `number` counts over all corpora, `corpus` is a name."""

    number: int
    sha256: str
    rows: int
    kept: int
    bitmap: bytes
    corpus: str
    captioning: Captioning

    def keeps(self, row: int) -> bool:
        """Return whether the manifest keeps a row; it keeps none beyond the shard's end."""
        return row < self.rows and bool(self.bitmap[row >> 3] >> (row & 7) & 1)


@dataclass(frozen=True)
class SealedCorpus:
    """The entry of one corpus in a sealed manifest."""

    name: str
    shards: int
    captioning: Captioning


def seal(corpora: Sequence[CorpusToSeal]) -> bytes:
    """Return the sealed form; the same corpora give the same bytes.

    Shards are numbered from 0 over all corpora in the order given. A manifest without shards or
    kept rows can also be sealed: see `Sealed.require_samples`.
    """
    header = json.dumps(
        [
            {"name": c.name, "shards": len(c.shards), "captioning": _stated(c.captioning)}
            for c in corpora
        ],
        sort_keys=True,
        separators=(",", ":"),
    ).encode()
    shards = [(number, shard) for number, c in enumerate(corpora) for shard in c.shards]
    at = _PREAMBLE.size + len(header) + _RECORD.size * len(shards)
    records, total = [], 0
    for corpus, shard in shards:
        kept = _count(shard)
        digest = bytes.fromhex(shard.sha256)
        records.append(_RECORD.pack(digest, shard.rows, kept, corpus, 0, at))
        at += len(shard.bitmap)
        total += kept
    preamble = _PREAMBLE.pack(_MAGIC, _VERSION, len(header), len(shards), total, at)
    return b"".join([preamble, header, *records, *(shard.bitmap for _, shard in shards)])


class Sealed:
    """A sealed manifest on disk: `shards` in it, samples `kept` in all, its `corpora` in order.

    It opens the file for each look-up, so that it can be passed to worker processes.
    """

    shards: int
    kept: int

    def __init__(self, path: Path) -> None:
        """Read the header; raise StoreError for a file that is missing, cut or of another kind."""
        self.path = path
        with self._open() as file:
            found = os.fstat(file.fileno()).st_size
            start = file.read(_PREAMBLE.size)
            if len(start) < _PREAMBLE.size or not start.startswith(_MAGIC):
                if (reason := left_out_reason(path)) is not None:
                    raise TooSmall(f"this manifest was left out: {reason}")
                raise StoreError(f"{path}: not a sealed manifest. Give the digest of one.")
            _, version, length, self.shards, self.kept, size = _PREAMBLE.unpack(start)
            if version != _VERSION:
                raise StoreError(
                    f"{path}: sealed in format {version}, but this clipaudit reads {_VERSION}. "
                    "Seal the manifest again with this version."
                )
            if found != size:
                raise StoreError(
                    f"{path}: {found} bytes, but its header says {size}. "
                    "Run `clipaudit verify`, remove the file and rerun."
                )
            self.corpora = tuple(_corpora(file.read(length)))
        self._records = _PREAMBLE.size + length

    def shard(self, number: int) -> SealedShard:
        """Return one shard; raises InputError for a number that the manifest does not have."""
        if not 0 <= number < self.shards:
            raise InputError(
                f"shard {number} of a manifest of {self.shards}: "
                f"shards are numbered from 0 to {self.shards - 1}."
            )
        with self._open() as file:
            file.seek(self._records + number * _RECORD.size)
            digest, rows, kept, corpus, _, at = _RECORD.unpack(file.read(_RECORD.size))
            file.seek(at)
            bitmap = file.read((rows + 7) // 8)
        named = self.corpora[corpus]
        return SealedShard(number, digest.hex(), rows, kept, bitmap, named.name, named.captioning)

    def __iter__(self) -> Iterator[SealedShard]:
        """Yield all shards in order."""
        return map(self.shard, range(self.shards))

    def require_samples(self) -> None:
        """Raise TooSmall if nothing is kept, as a trainer would wait forever for a sample."""
        if self.kept == 0:
            names = ", ".join(corpus.name for corpus in self.corpora) or "no corpus"
            raise TooSmall(
                f"the manifest keeps none of the samples of {names} ({self.shards} shards). Loosen "
                "what pruned them, or leave this set out."
            )

    def _open(self) -> BinaryIO:
        try:
            return open(self.path, "rb")
        except OSError as error:
            raise StoreError(
                f"{self.path}: the sealed manifest cannot be read ({error.strerror}). "
                "Check the digest and the store, then rerun the step that sealed it."
            ) from error


def _count(shard: ShardToSeal) -> int:
    bits = int.from_bytes(shard.bitmap, "little")
    # only our own code calls this: a bitmap of another length would keep rows of the next shard
    assert len(shard.bitmap) == (shard.rows + 7) // 8, "a bitmap has one bit for each row"
    assert bits >> shard.rows == 0, "a bitmap keeps no row beyond the last"
    return bits.bit_count()


def _stated(captioning: Captioning) -> dict[str, object]:
    """Return a captioning's fields; the newer one only if it differs."""
    stated = asdict(captioning)
    if captioning.field == Captioning.field:
        del stated["field"]
    return stated


def _corpora(header: bytes) -> Iterator[SealedCorpus]:
    for corpus in json.loads(header):
        fields = corpus["captioning"]
        captioning = Captioning(**{**fields, "classes": tuple(fields["classes"])})
        yield SealedCorpus(corpus["name"], corpus["shards"], captioning)
