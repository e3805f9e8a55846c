"""Results that a report table lacks because the data are too small."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from clipaudit.store.store import Pointer, Store

if TYPE_CHECKING:
    import pyarrow as pa

LeftOut = Mapping[str, Sequence[str]]  # by reason: results that are left out, such as curves/a/b

_KEY = b"left_out"  # of a schema's metadata
_NAMED = 3  # results in a sentence
_UNTRAINED = 12  # models in a sentence


def noted(table: "pa.Table", left_out: LeftOut) -> "pa.Table":
    """Return the table with a note of the results it lacks; unchanged if there are none."""
    if not left_out:
        return table
    return table.replace_schema_metadata({_KEY: json.dumps(joined([left_out]), sort_keys=True)})


def left_out_of(schema: "pa.Schema") -> LeftOut:
    """Return the results that a stored table lacks."""
    found: LeftOut = json.loads((schema.metadata or {}).get(_KEY, b"{}"))
    return found


def left_out_whole(store: Store, pointers: Iterable[Path]) -> dict[str, LeftOut]:
    """Return the tables and figures that are left out, by name, and why."""
    found: dict[str, LeftOut] = {}
    for path in pointers:
        pointer = Pointer.read(path)
        if pointer.is_left_out:
            found[path.stem] = {store.reason(pointer): [f"{path.parent.name}/{path.stem}"]}
    return found


def joined(several: Iterable[LeftOut]) -> LeftOut:
    """Return everything left out by reason, with each result once and sorted."""
    found: dict[str, set[str]] = {}
    for each in several:
        for reason, names in each.items():
            found.setdefault(reason, set()).update(names)
    return {reason: sorted(names) for reason, names in sorted(found.items())}


def notes_of(left_out: LeftOut) -> list[str]:
    """Return a sentence for each reason.

    >>> notes_of({"8 are asked for.": ["curves/a", "curves/b"]})
    ['Left out, the data are too small (curves/a, curves/b): 8 are asked for.']
    """
    return [_sentence(reason, names) for reason, names in left_out.items()]


def _sentence(reason: str, names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"Left out, the data are too small ({', '.join(names[:_NAMED])}{more}): {reason}"


def untrained(names: Iterable[str]) -> str:
    """Return the sentence that names untrained models, each once; "" for no names.

    >>> untrained(["epochs 10", "epochs 20", "epochs 10"])
    'Not trained in this run: epochs 10; epochs 20.'
    """
    named = list(dict.fromkeys(names))
    more = f" and {len(named) - _UNTRAINED} more" if len(named) > _UNTRAINED else ""
    return f"Not trained in this run: {'; '.join(named[:_UNTRAINED])}{more}." if named else ""
