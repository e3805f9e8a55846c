"""Reads the samples of shards of any format, with their row numbers.

A shard is a tar as webdataset writes them, a Parquet file with images (`image_tables`), or a list
of image files (`image_lists`), by the ending of its name. In a tar, a sample is a run of
consecutive members that share their path up to the first dot of the file name (as webdataset
groups); its row is its 0-based position in the tar, counted before any drop. Directories, files
without an extension, dot files and webdataset's `__meta__` members belong to no sample. Index,
training and `clipaudit stream` all count with this module. Standard library only, except Parquet.
"""

import io
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from clipaudit.corpora.reasons import (
    DUPLICATE_KEY,
    DUPLICATE_MEMBER,
    HOSTILE_NAME,
    NOT_A_FILE,
    TOO_LARGE,
)
from clipaudit.corpora.tarmembers import BLOCK, BrokenTar, Head, TarReader, member_head
from clipaudit.errors import InputError
from clipaudit.remote.stubs import SUFFIX as STUB
from clipaudit.remote.stubs import open_stub

IMAGE_EXTENSIONS = ("jpg", "png", "jpeg", "webp")  # open_clip_train's order: the first one counts
MAX_SAMPLE_BYTES = 1 << 28  # 256 MiB: the largest image that Pillow opens by default, in RGB
MAX_NAME_BYTES = 4096  # PATH_MAX of Linux
LIST, TABLE = ".images", ".parquet"  # endings of shards that are not tars
_BUFFER_BYTES = 1 << 20  # read from the disk at once: speed, never results

_HOSTILE = re.compile(
    rb"[\x00-\x1f\x7f]"  # control characters
    rb"|\A[/\\]|\A[A-Za-z]:[/\\]"  # absolute
    rb"|(?:\A|[/\\])\.\.(?:[/\\]|\Z)"  # climbs
)
_META = re.compile(rb"__[^/]*__(?:\Z|/)")  # webdataset's skip_meta


class RawSample(NamedTuple):
    """One sample as in its tar.

    `key` is safe to store and print: bytes that are not UTF-8, and control characters, are written
    as `\\xNN`. `members` maps the extension, lower case and without its dot, to the bytes; it is
    empty if `fault`, one of the constants in `reasons`, says why the row cannot be used.
    """

    row: int
    key: str
    members: Mapping[str, bytes]
    fault: str | None
    detail: str


Reader = Callable[[Path, Callable[[int], bool] | None], Iterator[RawSample]]


class Member(NamedTuple):
    """One file of a sample: `blocks` its header blocks, `data` padded to whole blocks."""

    extension: str
    blocks: bytes
    data: bytes
    size: int


@dataclass(slots=True)
class Group:
    """A sample while it is read: its raw name, and the members as blocks of the tar."""

    row: int
    name: bytes
    start: int = 0  # the byte of the tar where it begins
    members: list[Member] = field(default_factory=list)
    size: int = 0
    fault: str | None = None
    detail: str = ""

    def fail(self, fault: str, detail: str) -> None:
        """Record why the sample cannot be used, if it is the first reason; drop its data."""
        if self.fault is None:
            self.fault, self.detail = fault, detail
        self.members.clear()

    def take(self, head: Head, extension: str, tar: TarReader) -> None:
        """Add a member, reading its data unless the sample has a fault."""
        self.size += head.size
        if any(member.extension == extension for member in self.members):
            self.fail(DUPLICATE_MEMBER, f"two .{extension} members")
        elif self.size > MAX_SAMPLE_BYTES:
            self.fail(TOO_LARGE, f"{self.size} bytes or more, the limit is {MAX_SAMPLE_BYTES}")
        if self.fault is None:
            self.members.append(Member(extension, head.blocks, tar.data(), head.size))


def raw_samples(path: Path, wanted: Callable[[int], bool] | None = None) -> Iterator[RawSample]:
    """Yield the samples of a shard in order, faulty ones included, one in memory at a time.

    With `wanted`, only rows for which it is true are yielded, and the bytes of others are not read.
    A truncated or damaged tar ends with the sample that was being read, as a faulty row; the rest
    is unknown. Raises InputError for a file that is not a tar at all.
    """
    read = _reader(path)
    if read is not None:
        yield from read(path, wanted)
        return
    yield from map(as_raw, sample_groups(path, wanted))


def sample_groups(path: Path, wanted: Callable[[int], bool] | None = None) -> Iterator[Group]:
    """Yield what `raw_samples` yields as blocks of a tar, for copying.

    For another format the blocks are made, named by the number of the row.
    """
    read = _reader(path)
    if read is not None:
        yield from map(_as_group, read(path, wanted))
        return
    try:
        file, size = open_shard(path)
        with file:
            yield from tar_groups(TarReader(file, size), path, wanted)
    except OSError as error:
        raise InputError(f"{path}: reading failed: {error}. Check the disk, then rerun.") from error


def is_tar(path: Path | str) -> bool:
    """Return whether a shard is read as a tar: it has none of the other formats' endings."""
    return not _name(path).endswith((LIST, TABLE))


def _name(path: Path | str) -> str:
    """Return the original name of a shard: a stub has the name of its remote file."""
    return os.fspath(path).removesuffix(STUB)


def _reader(path: Path) -> Reader | None:
    """Return the reader of a shard's samples, imported on demand, or None for a tar."""
    if is_tar(path):
        return None
    if _name(path).endswith(LIST):
        from clipaudit.corpora.image_lists import listed_samples

        return listed_samples
    from clipaudit.corpora.image_tables import table_samples

    return table_samples


def as_raw(group: Group) -> RawSample:
    """Return a sample without its blocks."""
    members = {member.extension: member.data[: member.size] for member in group.members}
    return RawSample(group.row, shown(group.name), members, group.fault, group.detail)


def _as_group(raw: RawSample) -> Group:
    name = b"%09d" % raw.row
    group = Group(raw.row, name, fault=raw.fault, detail=raw.detail)
    for extension, data in raw.members.items():
        blocks = member_head(name + b"." + extension.encode(), len(data))
        group.members.append(Member(extension, blocks, data + bytes(-len(data) % BLOCK), len(data)))
    return group


def tar_fault(path: Path) -> str | None:
    """Return why a tar cannot be read from its start, or None; only the start is read."""
    file, size = open_shard(path, buffer=BLOCK)
    with file:
        try:
            TarReader(file, size).head()
        except BrokenTar as broken:
            return broken.detail
    return None


def open_shard(path: Path, *, buffer: int = _BUFFER_BYTES) -> tuple[io.BufferedIOBase, int | None]:
    """Open a shard for buffered reading; raises InputError.

    Also returns its size in bytes, or None if gzip is unpacked on the way. The stub of a remote
    shard opens that shard.
    """
    try:
        if not os.path.isfile(path) and os.path.exists(path):
            raise InputError(f"{path}: not a file. Name the tar files of the corpus one by one.")
        raw = open_stub(path) if path.suffix == STUB else io.FileIO(path)
    except OSError as error:
        raise InputError(
            f"{path}: the shard cannot be opened ({error.strerror}). Check the path in the config."
        ) from error
    file = io.BufferedReader(raw, buffer)
    compressed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    if not compressed:
        return file, os.fstat(file.fileno()).st_size
    import gzip  # only here: `clipaudit stream` starts once per shard and epoch

    unpacked = gzip.GzipFile(fileobj=file)
    unpacked.myfileobj = file  # type: ignore[assignment]  # it is closed with this one
    return unpacked, None


def first_image(members: Mapping[str, bytes]) -> bytes | None:
    """Return the sample's image, the first in the order of IMAGE_EXTENSIONS.

    >>> first_image({"png": b"second", "jpg": b"first", "txt": b"a cat"})
    b'first'
    """
    return next((members[name] for name in IMAGE_EXTENSIONS if name in members), None)


def shown(name: bytes) -> str:
    r"""Return a key that is safe in any table and terminal.

    >>> shown("dir/größe".encode()), shown(b"\xff\x1b[2J")
    ('dir/größe', '\\xff\\x1b[2J')
    """
    text = name[:MAX_NAME_BYTES].decode("utf-8", "backslashreplace")
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", lambda hit: f"\\x{ord(hit[0]):02x}", text)


def tar_groups(
    tar: TarReader, path: Path, wanted: Callable[[int], bool] | None, *, bare: bool = False
) -> Iterator[Group]:
    """Yield the samples of a tar, without their members' data if `bare`."""
    rows: dict[bytes, int] = {}  # of each name, the first row that has it
    group: Group | None = None
    reading = False
    try:
        while (head := tar.head()) is not None:
            fault = _member_fault(head)
            name, extension = _split(head.name)
            if fault is None and (name is None or head.kind == "directory"):
                continue
            if group is None or name != group.name:
                if group is not None and reading:
                    yield group
                row = 0 if group is None else group.row + 1
                group = Group(row, name or head.name, tar.began)
                reading = wanted is None or wanted(group.row)
                first = rows.setdefault(group.name, group.row)
                if first != group.row:
                    group.fail(DUPLICATE_KEY, f"first in row {first}")
            if fault is not None:
                group.fail(fault, shown(head.name[:200]))
            if reading and not bare:
                group.take(head, extension, tar)
    except BrokenTar as broken:
        if group is None:
            raise InputError(
                f"{path}: not a readable tar: {broken.detail}. "
                "Fetch or write the shard again, or remove it from the corpus."
            ) from None
        group.fail(broken.reason, broken.detail)
    if group is not None and reading:
        yield group


def _member_fault(head: Head) -> str | None:
    if head.kind == "directory":
        return None
    if head.kind == "other":
        return NOT_A_FILE
    if len(head.name) > MAX_NAME_BYTES or not head.name or _HOSTILE.search(head.name):
        return HOSTILE_NAME
    return None


def _split(name: bytes) -> tuple[bytes | None, str]:
    """Split at the first dot of the file name; None where the file belongs to no sample.

    >>> _split(b"a.b/000.seg.PNG"), _split(b"README"), _split(b"a/.hidden.jpg")
    ((b'a.b/000', 'seg.png'), (None, ''), (None, ''))
    """
    base = name.rfind(b"/") + 1
    dot = name.find(b".", base)
    if dot <= base or _META.match(name):
        return None, ""
    return name[:dot], name[dot + 1 :].lower().decode("utf-8", "backslashreplace")
