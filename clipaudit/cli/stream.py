"""`clipaudit stream`: write one shard, filtered by a sealed manifest, as a tar to standard output.

Webdataset's `pipe:` starts it once per shard and epoch. For the full digest of a manifest it
therefore imports only the standard library, not click (`clipaudit.cli` calls this module before it
imports anything). All other arguments go to the command in `clipaudit.cli.commands`.
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

_WRITE_BYTES = 1 << 20  # gathered before a write; affects speed, not results
_BROKEN_PIPE = 141  # a shell's status for SIGPIPE; webdataset accepts it when a reader stops early


def main(argv: Sequence[str]) -> int:
    """Run the command with its arguments; return the exit code."""
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
    """Write the kept samples of a shard to standard output; return the exit code."""
    try:
        write_shard(store, opened(), number, sys.stdout.buffer.write)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # Python flushes again at exit and would complain: let it flush to /dev/null
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except ClipauditError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    except OSError as error:  # from standard output: reading raises its own errors
        print(f"Error: standard output: {error.strerror}. Check the disk.", file=sys.stderr)
        return 1
    return 0


def write_shard(store: Path, sealed: Sealed, number: int, write: Callable[[bytes], object]) -> None:
    """Write the kept samples of shard `number`, in order, and the end-of-archive marker.

    Members are copied unchanged, with their headers. Each sample gets a `.txt` with its caption,
    unless the corpus has none. The caption comes from the class if captions come from classes, or
    from the JSON if it is only there; of several captions the first is used (a JSON that holds them
    keeps all). Raises ClipauditError; the tar written so far is then truncated.
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
