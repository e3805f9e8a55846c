"""Reads the members of a tar in order, forward only; standard library only.

Why not `tarfile`: it silently takes a truncated or damaged tar for one that ends there, and it
spends several times longer on a header (benchmarks/stream.py). Understood are ustar, GNU long
names, PAX names and sizes, base-256 sizes. Names stay bytes. Bytes after the end-of-archive marker
are not read, as with `tarfile` and webdataset.
"""

import io
import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from clipaudit.corpora.reasons import DAMAGED, TRUNCATED

BLOCK = 512
_ZERO_BLOCK = bytes(BLOCK)
_MAX_EXTENSION_BYTES = 1 << 20  # names of 4 kB need no more; refuses to read 10 GB of "long name"
_PIECE_BYTES = 1 << 20  # read at once when a member is skipped or copied: memory, never results
_ADLER_BASE = 65_521
_COMPRESSIONS = {
    b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ\0": "xz",
    b"PK\3\4": "zip",
}


class Head(NamedTuple):
    """One member before its data: `blocks` are its header blocks as in the tar."""

    name: bytes
    kind: str  # "file", "directory" or "other"
    size: int
    blocks: bytes


class BrokenTar(Exception):
    """The tar cannot be read further; `reason` is one of the constants in `reasons`."""

    def __init__(self, reason: str, detail: str) -> None:
        """Keep both parts, for the sample that was being read."""
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class TarReader:
    """Walks a tar: `head()` returns the next member, `data()` that member's bytes and padding.

    `size` is the length of the file in bytes, or None if unknown (compressed); with a known size,
    data that is not requested is skipped by seeking.
    """

    def __init__(self, file: io.BufferedIOBase, size: int | None, at: int = 0) -> None:
        """Start at byte `at`, the position of `file`."""
        self._file = file
        self._size = size
        self._at = at  # bytes consumed so far
        self._pending = 0  # unread data bytes of the current member
        self.began = at  # the byte where the header blocks of the current member begin

    def head(self) -> Head | None:
        """Return the next member, or None at the end marker; raises BrokenTar."""
        if self._pending:
            self._skip()
        self.began = self._at
        blocks = b""
        long_name: bytes | None = None
        pax: Mapping[bytes, bytes] = {}
        while True:
            start = self._at
            block = self._take(BLOCK)
            if len(block) < BLOCK:
                what = "without an end-of-archive marker" if not block else "within a header"
                raise BrokenTar(TRUNCATED, f"the file ends at byte {self._at}, {what}")
            if block == _ZERO_BLOCK:
                return None
            try:
                _check_sum(block, start)
            except BrokenTar:
                if start == 0:
                    _refuse_compressed(block)
                raise
            kind = block[156:157]
            if kind not in b"LKxg":
                break
            payload = self._extension(block, start)
            if kind == b"L":
                long_name = payload[0].partition(b"\0")[0]
            elif kind == b"x":
                pax = _pax_records(payload[0], start)
            elif kind == b"g":
                _refuse_renaming(_pax_records(payload[0], start), start)
                continue  # it belongs to no member, so not to `blocks`
            blocks += block + payload[1]
        return self._member(block, blocks + block, long_name, pax, start)

    def data(self) -> bytes:
        """Return the current member's data, padded to whole blocks; raises BrokenTar."""
        padded = -(-self._pending // BLOCK) * BLOCK
        data = self._take(padded)
        if len(data) < self._pending:
            raise BrokenTar(TRUNCATED, self._missing(self._pending - len(data)))
        self._pending = 0
        return data

    def _member(
        self,
        block: bytes,
        blocks: bytes,
        long_name: bytes | None,
        pax: Mapping[bytes, bytes],
        start: int,
    ) -> Head:
        kind = block[156:157]
        name = pax.get(b"path", long_name)
        if name is None:
            name = block[:100].partition(b"\0")[0]
            if block[257:263] == b"ustar\0" and block[345]:
                name = block[345:500].partition(b"\0")[0] + b"/" + name
        size = _number(block[124:136], start)
        if b"size" in pax:
            size = _decimal(pax[b"size"], start)
        if kind == b"S":
            raise BrokenTar(DAMAGED, f"a sparse member at byte {start}: repack without --sparse")
        if kind in b"123456":
            self._pending = 0  # links, devices, directories and pipes have no data
        else:
            self._pending = size
        sort = "other"
        if kind == b"5" or (kind in b"\x000" and name.endswith(b"/")):
            sort = "directory"
        elif kind in b"\x0007" and not any(key.startswith(b"GNU.sparse.") for key in pax):
            sort = "file"
        return Head(name, sort, self._pending, blocks)

    def _extension(self, block: bytes, start: int) -> tuple[bytes, bytes]:
        """Return the payload of an extension header, and the same with its padding."""
        size = _number(block[124:136], start)
        if size > _MAX_EXTENSION_BYTES:
            raise BrokenTar(
                DAMAGED,
                f"an extension header of {size:,} bytes at byte {start}, where at most "
                f"{_MAX_EXTENSION_BYTES:,} are read: shorten the name or the records it holds",
            )
        self._pending = size
        padded = self.data()
        return padded[:size], padded

    def pieces(self) -> Iterator[bytes]:
        """Yield the current member's data and padding, a piece at a time; raises BrokenTar."""
        while self._pending > 0:
            padded = -(-self._pending // BLOCK) * BLOCK
            piece = self._take(min(padded, _PIECE_BYTES))
            if not piece:
                raise BrokenTar(TRUNCATED, self._missing(self._pending))
            yield piece
            self._pending -= len(piece)
        self._pending = 0

    def _skip(self) -> None:
        padded = -(-self._pending // BLOCK) * BLOCK
        if self._size is None:
            for _ in self.pieces():
                pass
        elif self._at + self._pending > self._size:
            raise BrokenTar(TRUNCATED, self._missing(self._at + self._pending - self._size))
        else:
            self._file.seek(padded, 1)
            self._at = min(self._at + padded, self._size)
        self._pending = 0

    def _take(self, count: int) -> bytes:
        try:
            data = self._file.read(count)
        except EOFError:
            raise BrokenTar(TRUNCATED, "the compressed stream ends early") from None
        except (zlib.error, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # the disk's error, not the tar's; gzip's own errors have no errno
            raise BrokenTar(DAMAGED, f"the compressed stream is damaged: {error}") from None
        self._at += len(data)
        return data

    def _missing(self, count: int) -> str:
        return f"{count} bytes of the last member are missing"


def member_head(name: bytes, size: int) -> bytes:
    """Return the header of a plain file of `size` bytes: PAX, which is ustar for short names."""
    from tarfile import PAX_FORMAT, TarInfo  # only here: most shards have their headers

    info = TarInfo(name.decode("utf-8", "surrogateescape"))
    info.size = size
    return info.tobuf(PAX_FORMAT, "utf-8", "surrogateescape")


def _refuse_compressed(start: bytes) -> None:
    """Raise BrokenTar for a file that begins as one of a compression that is not unpacked."""
    for magic, name in _COMPRESSIONS.items():
        if start.startswith(magic):
            raise BrokenTar(DAMAGED, f"it is compressed by {name}, but only gzip is unpacked")


def _check_sum(block: bytes, start: int) -> None:
    """Raise BrokenTar for a block whose header sum is wrong.

    The low half of adler32 is one plus the sum of the bytes, modulo 65521: the sum in 0.2 us, where
    `sum` takes 3. The field itself counts as eight spaces.
    """
    stated = _number(block[148:156], start)
    summed = (zlib.adler32(block[156:], zlib.adler32(block[:148])) & 0xFFFF) - 1 + 8 * 32
    if (summed - stated) % _ADLER_BASE == 0:
        return
    signed = sum(struct.unpack("148b8x356b", block)) + 8 * 32  # as some historic tars do
    if signed != stated:
        raise BrokenTar(DAMAGED, f"the header at byte {start} is not a tar header")


def _number(field: bytes, start: int) -> int:
    """Read an octal field, or a base-256 one."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    digits = field.partition(b"\0")[0].strip() or b"0"
    try:
        if digits.isdigit():  # `int` would also accept signs and underscores
            return int(digits, 8)
    except ValueError:
        pass  # an 8 or a 9 is as wrong as a letter
    raise BrokenTar(DAMAGED, f"the header at byte {start} is not a tar header")


def _decimal(digits: bytes, start: int) -> int:
    if not digits.isdigit() or len(digits) > 18:
        raise BrokenTar(DAMAGED, f"a PAX header at byte {start} has no number: {digits[:30]!r}")
    return int(digits)


def _pax_records(payload: bytes, start: int) -> dict[bytes, bytes]:
    """Read `length key=value newline` records.

    >>> _pax_records(b"12 path=a/b\\n", 0)
    {b'path': b'a/b'}
    """
    records = {}
    at = 0
    while at < len(payload):
        digits = payload[at : at + 20].partition(b" ")[0]
        length = _decimal(digits, start)
        record = payload[at + len(digits) + 1 : at + length]
        key, equals, value = record[:-1].partition(b"=")
        if at + length > len(payload) or not equals or record[-1:] != b"\n":
            raise BrokenTar(DAMAGED, f"a PAX header before byte {start + 2 * BLOCK} is malformed")
        records[key] = value
        at += length
    return records


def _refuse_renaming(records: Mapping[bytes, bytes], start: int) -> None:
    """Raise BrokenTar for a global header that renames or resizes all members."""
    if b"path" in records or b"size" in records:
        raise BrokenTar(DAMAGED, f"a global PAX header at byte {start} renames members")
