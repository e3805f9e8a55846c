"""Code records: what a code digest was made of, so that a later digest can be set against it.

    store/lineage/code/ab/cdef....json   the digests of the script, the modules and the files that
        the code digest `abcdef...` covers, and the text of those files: SQL, published numbers

Written once for each digest, by the first step that runs with it.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from clipaudit.store.store import Store, replace_text


@dataclass(frozen=True)
class CodeRecord:
    """The parts of one code digest, `module clipaudit.x` -> digest, and texts by file name."""

    parts: Mapping[str, str]
    texts: Mapping[str, str]


def write_code(store: Store, digest: str, record: CodeRecord) -> None:
    """Remember what a code digest is made of, unless that is known."""
    path = _file(store, digest)
    if not path.exists():
        replace_text(path, json.dumps(asdict(record), sort_keys=True, indent=1) + "\n")


def read_code(store: Store, digest: str) -> CodeRecord | None:
    """Return what a code digest is made of; None where no step has recorded it."""
    try:
        return CodeRecord(**json.loads(_file(store, digest).read_text()))
    except FileNotFoundError:
        return None


def _file(store: Store, digest: str) -> Path:
    return store.root / "lineage" / "code" / digest[:2] / f"{digest[2:]}.json"
