"""`clipaudit stream`: one shard, filtered by a sealed manifest, as a tar on standard output.

Made for webdataset's `pipe:`, which starts it once per shard and epoch: only the standard library
is imported, and click is not (`clipaudit.cli` sends the command here before it imports anything).
"""

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.reasons import Unusable
from clipaudit.corpora.sealed import Sealed, SealedShard
from clipaudit.corpora.shards import Group, sample_groups
from clipaudit.corpora.tarmembers import BLOCK
from clipaudit.errors import ClipauditError, InputError
from clipaudit.steps.filedigests import FileDigests

USAGE = """\
Usage: clipaudit stream MANIFEST_DIGEST SHARD_NUMBER

  Write the samples of one shard that a manifest keeps, as a tar, to standard
  output. MANIFEST_DIGEST is the full SHA-256 of a sealed manifest in the store
  (the folder in CLIPAUDIT_STORE, else ./store), SHARD_NUMBER counts from 0.

  Example:
    python -m open_clip_train.main --dataset-type webdataset \\
      --train-data 'pipe:clipaudit stream <manifest digest> {0..41407}'
"""
_END_OF_ARCHIVE = bytes(2 * BLOCK)
_WRITE_BYTES = 1 << 20  # gathered before a write: speed, never results
_BROKEN_PIPE = 141  # as a shell reports SIGPIPE; webdataset takes it for a reader that had enough


def main(argv: Sequence[str]) -> int:
    """Run the command with its arguments; returns the exit code."""
    if list(argv) in (["-h"], ["--help"]):
        print(USAGE, end="")
        return 0
    if (
        len(argv) != 2
        or not re.fullmatch("[0-9a-f]{64}", argv[0])
        or not re.fullmatch("[0-9]{1,10}", argv[1])
    ):
        print(f"{USAGE}\nError: give the 64 hex digits of a digest and a number.", file=sys.stderr)
        return 2
    store = Path(os.environ.get("CLIPAUDIT_STORE") or "store")
    try:
        write_shard(store, argv[0], int(argv[1]), sys.stdout.buffer.write)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # Python would flush once more at exit and complain: give it somewhere to flush to
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except ClipauditError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    except OSError as error:  # all reading has its own errors: this is standard output
        print(f"Error: standard output: {error.strerror}. Check the disk.", file=sys.stderr)
        return 1
    return 0


def write_shard(store: Path, digest: str, number: int, write: Callable[[bytes], object]) -> None:
    """Write the kept samples of shard `number`, in order, and the end-of-archive marker.

    Members are copied as they are, header and all. Each sample leaves with a `.txt` of its caption,
    unless the corpus has none: made from the class where captions come from classes, where a text
    stands in the JSON only, and of several captions the first (all of them stay in its JSON, if
    they stand there). Raises ClipauditError; what was written by then is a cut tar.
    """
    sealed = Sealed(store / "objects" / digest[:2] / digest[2:])
    shard = sealed.shard(number)
    path = FileDigests(store / "files").locate(shard.sha256)
    gathered: list[bytes] = []
    size = 0
    for blocks in _blocks(path, shard):
        gathered.append(blocks)
        size += len(blocks)
        if size >= _WRITE_BYTES:
            write(b"".join(gathered))
            gathered, size = [], 0
    write(b"".join([*gathered, _END_OF_ARCHIVE]))


def _blocks(path: Path, shard: SealedShard) -> Iterator[bytes]:
    """Yield the kept samples' blocks; raises InputError if the manifest is not this tar's."""
    rows = 0

    def wanted(row: int) -> bool:
        nonlocal rows
        rows = row + 1
        return shard.keeps(row)

    for group in sample_groups(path, wanted):
        if group.fault is not None:
            raise InputError(_strange(path, shard, f"row {group.row}: {group.fault}"))
        made = _made_caption(group, shard.captioning, path)
        for member in group.members:
            if made is None or member.extension != "txt":
                yield member.blocks
                yield member.data
        if made is not None:
            yield _text_member(group.name, made)
    if rows != shard.rows:
        raise InputError(_strange(path, shard, f"it has {rows} rows"))


def _made_caption(group: Group, captioning: Captioning, path: Path) -> str | None:
    """Return the caption to add, or None where the sample's own members say it all."""
    if captioning.source == "none":
        return None
    extensions = {member.extension for member in group.members}
    if captioning.source == "text" and "txt" in extensions:
        return None
    members = {member.extension: member.data[: member.size] for member in group.members}
    try:
        return captioning.caption(members)
    except Unusable as unusable:
        raise InputError(f"{path}, row {group.row}: {unusable}. Index the shard again.") from None


def _text_member(name: bytes, caption: str) -> bytes:
    """Return a `.txt` member of a sample: header, data and padding."""
    from tarfile import PAX_FORMAT, TarInfo  # only here: most corpora have their texts

    data = caption.encode("utf-8")
    info = TarInfo((name + b".txt").decode("utf-8", "surrogateescape"))
    info.size = len(data)
    # PAX is ustar wherever ustar can say it
    header = info.tobuf(PAX_FORMAT, "utf-8", "surrogateescape")
    return header + data + bytes(-len(data) % BLOCK)


def _strange(path: Path, shard: SealedShard, found: str) -> str:
    return (
        f"{path}: {found}, but the manifest keeps {shard.kept} of {shard.rows} rows that were "
        "readable. Index the shard and seal the manifest again."
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
