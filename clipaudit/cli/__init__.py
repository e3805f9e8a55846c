"""The command line: `clipaudit COMMAND`; see `clipaudit --help`.

Training loops start `stream` once per shard and epoch, so it is dispatched before anything but
the standard library is imported.
"""

import sys


def main() -> None:
    """Run the command that the arguments name."""
    if sys.argv[1:2] == ["stream"]:
        from clipaudit.cli.stream import main as stream

        sys.exit(stream(sys.argv[2:]))
    from clipaudit.cli.commands import commands

    commands()
