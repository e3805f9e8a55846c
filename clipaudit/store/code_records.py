"""Code records: the parts of a code digest, so that a later digest can be compared with it.

    store/lineage/code/ab/cdef....json   the digests of the script, the modules and the files that
        the code digest `abcdef...` covers, and the text of those files: SQL, published numbers

The first step that runs with a digest writes its record.
"""

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from clipaudit.store.store import Store, replace_text

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class CodeRecord:
    """The parts of one code digest, `module clipaudit.x` -> digest, and texts by file name."""

    parts: Mapping[str, str]
    texts: Mapping[str, str]


def write_code(store: Store, digest: str, record: CodeRecord) -> None:
    """Record the parts of a code digest, unless they are recorded."""
    if read_code(store, digest) is None:
        text = json.dumps(asdict(record), sort_keys=True, indent=1)
        replace_text(_file(store, digest), text + "\n")


def read_code(store: Store, digest: str) -> CodeRecord | None:
    """Return the parts of a code digest; None if no step has recorded them.

    A file truncated by a crash of the machine is logged and ignored.
    """
    path = _file(store, digest)
    try:
        return CodeRecord(**json.loads(path.read_text()))
    except FileNotFoundError:
        return None
    except (TypeError, ValueError) as error:
        logger.warning("%s: not a record of code (%r). It is ignored.", path, error)
        return None


def _file(store: Store, digest: str) -> Path:
    return store.root / "lineage" / "code" / digest[:2] / f"{digest[2:]}.json"
