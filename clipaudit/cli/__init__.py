"""The command line: `clipaudit COMMAND`; see `clipaudit --help`.

Training loops start `stream` once per shard and epoch, so it is dispatched before anything but
the standard library is imported.
"""

import os
import sys


def main() -> None:
    """Run the command that the arguments name.

    A standard stream that is closed, as of some services, becomes the null device: Python has none
    then, and the next file that is opened would take its number, with what libraries print to it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))
    if sys.argv[1:2] == ["stream"]:
        from clipaudit.cli.stream import main as stream

        sys.exit(stream(sys.argv[2:]))
    from clipaudit.cli.commands import commands

    commands()
