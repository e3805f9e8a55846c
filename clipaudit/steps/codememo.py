"""Cache the parsed content of code files between processes, by the files' bytes.

    .snakemake/clipaudit-code.json   SHA-256 of a file's bytes -> its digest, modules, files

Every process of Snakemake, also a cluster's job, forms the code digests of all rules. Parsing and
walking all trees takes a third of a second, looking them up a tenth of that. Entries of another
version of the walk are ignored. Without a folder .snakemake, nothing is cached.
"""

import atexit
import json
from contextlib import suppress
from pathlib import Path
from typing import TypedDict

from clipaudit.store.store import replace_text

MEMO = Path(".snakemake/clipaudit-code.json")
MOST_FILES = 4_000  # with more, files that this process did not use are forgotten


class Remembered(TypedDict):
    """The cached content of one file."""

    digest: str
    modules: list[str]
    files: list[str]
    entries: dict[str, str]


class CodeMemo:
    """The files of one version of the walk; written once, when the process ends."""

    def __init__(self, path: Path, version: str) -> None:
        """Read `path`; a file that is missing, truncated or of another version counts as empty."""
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
        """Return the content of the file with these bytes; None if it was never walked."""
        self._asked.add(sha256)
        return self._known.get(sha256)

    def put(self, sha256: str, found: Remembered) -> None:
        """Remember the content of the file with these bytes."""
        if not self._news:
            atexit.register(self.save)
        self._news = True
        self._known[sha256] = found

    def save(self) -> None:
        """Write the cache, whole or not at all; of two processes the later one wins."""
        if not self._path.parent.is_dir():
            return
        kept = self._known
        if len(kept) > MOST_FILES:
            kept = {sha256: kept[sha256] for sha256 in self._asked if sha256 in kept}
        with suppress(OSError):  # disk full or read-only: walked again next time
            replace_text(self._path, json.dumps({"version": self._version, "files": kept}))
