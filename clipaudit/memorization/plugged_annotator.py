"""Run a plug-in's annotator, which finds objects in the images of samples."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import UInt8

from clipaudit.corpora.drops import Drops
from clipaudit.memorization.objects import objects_table, pictures_without_objects, vocabulary_table
from clipaudit.models.pictures import Running, StoredBatch, stored
from clipaudit.steps.plugins import Plugin

_NO_BOX = (np.nan,) * 4

_log = logging.getLogger(__name__)


class PluggedAnnotator:
    """A plug-in's annotator; `names` has its labels."""

    def __init__(self, plugin: Plugin, options: Mapping[str, Any], *, device: str) -> None:
        """Create the annotator and read its labels; raises StepError if either fails."""
        self._plugin = plugin
        self._annotator = plugin.make(options, device=device)
        names = plugin.called("reading its names", lambda: dict(self._annotator.names))
        if not all(type(at) is int and type(name) is str for at, name in names.items()):
            raise plugin.fault("names as {int: str}", repr(names)[:200])
        self.names: dict[int, str] = names

    def vocabulary(self) -> pa.Table:
        """Return the VOCABULARY: every label that the annotator can give."""
        return vocabulary_table(self.names)

    def objects(
        self, pictures: Sequence[UInt8[np.ndarray, "_ _ 3"]]
    ) -> list[list[tuple[int, float, tuple[float, ...]]]]:
        """Return the label, score and box of each object of each image; nan means no box."""
        if not pictures:
            return []
        found = self._plugin.called(
            "annotating",
            lambda: [list(each) for each in self._annotator.annotate(list(pictures))],
        )
        if len(found) != len(pictures):
            raise self._plugin.fault(f"{len(pictures)} lists of objects", f"{len(found)}")
        return [[self._checked(each) for each in objects] for objects in found]

    def _checked(self, given: Any) -> tuple[int, float, tuple[float, ...]]:  # noqa: ANN401
        with suppress(TypeError, ValueError, OverflowError):
            label, score, box = given
            checked = _NO_BOX if box is None else tuple(map(float, box))
            is_label = isinstance(label, Integral) and not isinstance(label, bool)
            is_score = not isinstance(score, bool) and 0 <= score <= 1
            if is_label and label in self.names and is_score and (box is None or _is_box(checked)):
                return int(label), float(score), checked
        raise self._plugin.fault(
            "(label of names, score 0 to 1, None or (left, top, width >= 0, height >= 0))",
            repr(given)[:200],
        )


def _is_box(numbers: Sequence[float]) -> bool:
    """Return whether these are left, top, width and height; a size may be 0."""
    return len(numbers) == 4 and bool(np.isfinite(numbers).all()) and min(numbers[2:]) >= 0


def annotate_objects(
    shards: Sequence[tuple[int, Path]],
    samples: pa.Table,
    annotator: PluggedAnnotator,
    running: Running,
    *,
    drops: Drops,
) -> Iterator[pa.Table]:
    """Yield the OBJECTS of the rows in `samples`, in the same order by (shard, row).

    Rows whose image cannot be decoded are added to `drops` instead, so that rows in `samples` =
    rows out + drops.
    """
    bare = 0
    for batch in stored(shards, samples, running, task="annotating objects"):
        for fault in batch.faults:
            drops.add(batch.shard, *fault)
        found = annotator.objects([picture.numpy() for picture in batch.pictures])
        table = _table(batch, found)
        bare += pictures_without_objects(table)
        yield table
    _log.info("%d images show no object", bare)


def _table(
    batch: StoredBatch, found: Sequence[Sequence[tuple[int, float, tuple[float, ...]]]]
) -> pa.Table:
    objects = [each for row in found for each in row]
    return objects_table(
        np.full(len(batch.rows), batch.shard, np.int32),
        np.array(batch.rows, np.int32),
        np.repeat(np.arange(len(found)), [len(row) for row in found]).astype(np.int64),
        labels=np.array([label for label, _, _ in objects], np.int32),
        scores=np.array([score for _, score, _ in objects], np.float32),
        boxes=np.array([box for _, _, box in objects], np.float32).reshape(-1, 4),
    )
