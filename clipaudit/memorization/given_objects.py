"""The annotator `given`: objects found elsewhere, in Parquet or COCO JSON, joined to samples.

These can be the objects of Detic with 21k classes, as in the paper, or of any other detector.
"""

import logging
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from clipaudit.corpora.addresses import sample_addresses
from clipaudit.corpora.statements import is_finite
from clipaudit.memorization.stated import objects_of_entries

# lists of SORTED_OBJECTS, and the field of an object in a sample's JSON for one of their values
_FIELDS = {"labels": "category_id", "names": "category", "scores": "score", "boxes": "bbox"}

_log = logging.getLogger(__name__)


def take_objects(
    samples: pa.Table, given: pa.Table, *, threshold: float, names: Sequence[str] | None
) -> tuple[pa.Table, pa.Table]:
    """Return the OBJECTS of `samples` in `given`, and the VOCABULARY of their labels.

    `given` are SORTED_OBJECTS, perhaps with other samples. Objects with a score count only if it is
    above `threshold`. A sample without a row shows no objects; the log counts these. `names` are
    those of `objects_of_dataset`. Samples ascend by (shard, row), and so do the OBJECTS.

    Raises InputError for an object that `objects_of_dataset` refuses.
    """
    columns = given.select(list(_FIELDS)).to_pylist()
    found = dict(zip(sample_addresses(given).tolist(), columns, strict=True))
    rows = [found.get(address) for address in sample_addresses(samples).tolist()]
    lacking = sum(row is None for row in rows)
    _log.info("%d of %d images have no row in the given files", lacking, len(rows))
    lists = (_above(_entries(row or {}), threshold) for row in rows)
    return objects_of_entries(samples, lists, names=names)


def _entries(row: dict[str, Any]) -> list[Any]:
    """Return the objects of a row in the form of a sample's JSON."""
    held = {_FIELDS[name]: each for name, each in row.items() if each is not None}
    return [dict(zip(held, each, strict=True)) for each in zip(*held.values(), strict=True)]


def _above(entries: list[Any], threshold: float) -> list[Any]:
    """Return the objects without a score and those above the threshold, malformed ones included."""
    return [
        each for each in entries if not is_finite(each.get("score")) or each["score"] > threshold
    ]
