"""`clipaudit stream`: one shard, filtered by a sealed manifest, as a tar on standard output.

Made for webdataset's `pipe:`, which starts it once per shard and epoch: for the full digest of a
manifest only the standard library is imported, and click is not (`clipaudit.cli` sends the command
here before it imports anything). All other arguments go to the command in `clipaudit.cli.commands`.
"""

import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from clipaudit.corpora.keptsamples import END_OF_ARCHIVE, kept_samples
from clipaudit.corpora.sealed import Sealed
from clipaudit.errors import ClipauditError
from clipaudit.steps.filedigests import FileDigests

_WRITE_BYTES = 1 << 20  # gathered before a write: speed, never results
_BROKEN_PIPE = 141  # as a shell reports SIGPIPE; webdataset takes it for a reader that had enough


def main(argv: Sequence[str]) -> int:
    """Run the command with its arguments; returns the exit code."""
    if (
        len(argv) == 2
        and re.fullmatch("[0-9a-f]{64}", argv[0])
        and re.fullmatch("[0-9]{1,10}", argv[1])
    ):
        store = Path(os.environ.get("CLIPAUDIT_STORE") or "store")
        path = store / "objects" / argv[0][:2] / argv[0][2:]
        return print_shard(store, lambda: Sealed(path), int(argv[1]))
    from clipaudit.cli.commands import commands

    commands(["stream", *argv], prog_name="clipaudit")
    return 0


def print_shard(store: Path, opened: Callable[[], Sealed], number: int) -> int:
    """Write the kept samples of a shard to standard output; returns the exit code."""
    try:
        write_shard(store, opened(), number, sys.stdout.buffer.write)
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


def write_shard(store: Path, sealed: Sealed, number: int, write: Callable[[bytes], object]) -> None:
    """Write the kept samples of shard `number`, in order, and the end-of-archive marker.

    Members are copied as they are, header and all. Each sample leaves with a `.txt` of its caption,
    unless the corpus has none: made from the class where captions come from classes, where a text
    stands in the JSON only, and of several captions the first (all of them stay in its JSON, if
    they stand there). Raises ClipauditError; what was written by then is a cut tar.
    """
    shard = sealed.shard(number)
    path = FileDigests(store / "files").locate(shard.sha256)
    gathered: list[bytes] = []
    size = 0
    for sample in kept_samples(path, shard):
        for blocks in sample.blocks():
            gathered.append(blocks)
            size += len(blocks)
        if size >= _WRITE_BYTES:
            write(b"".join(gathered))
            gathered, size = [], 0
    write(b"".join([*gathered, END_OF_ARCHIVE]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
