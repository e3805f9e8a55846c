"""What files of code were found to hold, remembered by their bytes between processes.

    .snakemake/clipaudit-code.json   SHA-256 of a file's bytes -> its digest, modules, files

Every process of Snakemake forms the code digests of all rules, a cluster's job too: to parse and
walk all trees is a third of a second, to look them up a tenth of that. Nothing is believed that
another version of the walk wrote. Without a folder .snakemake, nothing is remembered.
"""

import atexit
import json
from contextlib import suppress
from pathlib import Path
from typing import TypedDict

from clipaudit.store.store import replace_text

MEMO = Path(".snakemake/clipaudit-code.json")
MOST_FILES = 4_000  # when there are more, those that this process did not ask for are forgotten


class Remembered(TypedDict):
    """What is remembered of one file."""

    digest: str
    modules: list[str]
    files: list[str]
    entries: dict[str, str]


class CodeMemo:
    """The files of one version of the walk; written once, when the process ends."""

    def __init__(self, path: Path, version: str) -> None:
        """Read what is at `path`; a file that is not there, cut or of another version is empty."""
        self._path = path.absolute()
        self._version = version
        self._known: dict[str, Remembered] = {}
        self._asked: set[str] = set()
        self._news = False
        with suppress(OSError, ValueError, KeyError, TypeError):
            content = json.loads(path.read_bytes())
            if content["version"] == version:
                self._known = dict(content["files"])

    def get(self, sha256: str) -> Remembered | None:
        """Return what the file of these bytes holds; None where it was never walked."""
        self._asked.add(sha256)
        return self._known.get(sha256)

    def put(self, sha256: str, found: Remembered) -> None:
        """Remember what the file of these bytes holds."""
        if not self._news:
            atexit.register(self.save)
        self._news = True
        self._known[sha256] = found

    def save(self) -> None:
        """Write what is known, whole or not at all; of two processes the later one is kept."""
        if not self._path.parent.is_dir():
            return
        kept = self._known
        if len(kept) > MOST_FILES:
            kept = {sha256: kept[sha256] for sha256 in self._asked if sha256 in kept}
        with suppress(OSError):  # full, or for reading only: walked again next time
            replace_text(self._path, json.dumps({"version": self._version, "files": kept}))
