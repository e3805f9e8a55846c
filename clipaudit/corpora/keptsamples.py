"""Reads the kept samples of a shard as blocks of a tar, with the captions that training reads.

Standard library only: `clipaudit stream` starts once per shard and epoch.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.reasons import BAD_CAPTION, BAD_JSON, Unusable
from clipaudit.corpora.sealed import SealedShard
from clipaudit.corpora.shards import Group, sample_groups
from clipaudit.corpora.tarmembers import BLOCK, member_head
from clipaudit.errors import InputError

END_OF_ARCHIVE = bytes(2 * BLOCK)


class KeptSample(NamedTuple):
    """A sample as in its tar, and the caption for its `.txt`.

    The caption is None if the sample's own members suffice.
    """

    group: Group
    caption: str | None

    def blocks(self) -> Iterator[bytes]:
        """Yield the unchanged blocks of its members, headers included, and of its caption."""
        for member in self.group.members:
            if self.caption is None or member.extension != "txt":
                yield member.blocks
                yield member.data
        if self.caption is not None:
            yield _member(self.group.name + b".txt", self.caption.encode("utf-8"))

    def renamed(self, name: str) -> Iterator[bytes]:
        """Yield the blocks of its members and its caption under another name, with new headers."""
        texts = {} if self.caption is None else {"txt": self.caption.encode("utf-8")}
        members = {member.extension: member.data[: member.size] for member in self.group.members}
        for extension, data in (members | texts).items():
            yield _member(f"{name}.{extension}".encode(), data)


def kept_samples(path: Path, shard: SealedShard) -> Iterator[KeptSample]:
    """Yield the kept samples of a tar, in order; raise InputError if the manifest does not fit."""
    rows = 0

    def wanted(row: int) -> bool:
        nonlocal rows
        rows = row + 1
        return shard.keeps(row)

    for group in sample_groups(path, wanted):
        if group.fault is not None:
            raise InputError(_strange(path, shard, f"row {group.row}: {group.fault}"))
        yield KeptSample(group, _made_caption(group, shard.captioning, path))
    if rows != shard.rows:
        raise InputError(_strange(path, shard, f"it has {rows} rows"))


def _made_caption(group: Group, captioning: Captioning, path: Path) -> str | None:
    """Return the caption to add, or None if the sample's own members suffice, or none is readable.

    The index keeps a sample with an unreadable caption only for a corpus that needs none.
    """
    if captioning.source == "none":
        return None
    extensions = {member.extension for member in group.members}
    if captioning.source == "text" and "txt" in extensions:
        return None
    members = {member.extension: member.data[: member.size] for member in group.members}
    try:
        return captioning.caption(members)
    except Unusable as unusable:
        if unusable.reason in (BAD_CAPTION, BAD_JSON):
            return None
        raise InputError(f"{path}, row {group.row}: {unusable}. Index the shard again.") from None


def _member(name: bytes, data: bytes) -> bytes:
    """Return a file of a tar: header, data and padding."""
    return member_head(name, len(data)) + data + bytes(-len(data) % BLOCK)


def _strange(path: Path, shard: SealedShard, found: str) -> str:
    return (
        f"{path}: {found}, but the manifest keeps {shard.kept} of {shard.rows} rows that were "
        "readable. Index the shard and seal the manifest again."
    )
