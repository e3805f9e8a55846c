"""`python -m clipaudit.demo.clipart FOLDER [DEB ...]`: fetches the library and writes its shards.

`make clipart` calls it. Standard error shows the progress, standard output the shards' content.
"""

import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from clipaudit.demo.clipart.packages import fetch
from clipaudit.demo.clipart.shards import write_shards
from clipaudit.errors import ClipauditError
from clipaudit.plaintext import plain
from clipaudit.steps.granted import granted_cores


def main(folder: Path, packages: Sequence[Path]) -> None:
    """Fetch, unpack and write; print how many samples each set has, and the unused files."""
    drawings = fetch(folder, packages)
    summary = write_shards(folder, drawings, processes=granted_cores())
    for name, samples in summary["samples"].items():
        print(f"{folder}/{name}: {samples:,} drawings")
    for name, reason in summary["refused_pictures"].items():
        print(f"{plain(name)}: kept unchanged, for the index to drop ({plain(reason)})")


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        main(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
    except ClipauditError as error:
        sys.exit(f"clipaudit: {error}")
