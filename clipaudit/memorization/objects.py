"""Objects in images: the table of any annotator, and the names of its labels.

Labels stay numbers; names are kept separately, in the vocabulary, and nothing is joined by them. So
a name shared by two classes, or spelled differently, does not merge or split objects.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float32, Int32, Int64

from clipaudit.corpora.addresses import sample_addresses
from clipaudit.errors import InputError
from clipaudit.memorization.allotment import SETS

_LABELS = pa.list_(pa.field("label", pa.int32(), nullable=False))
_SCORES = pa.list_(pa.field("score", pa.float32(), nullable=False))
_BOX = pa.list_(pa.field("edge", pa.float32(), nullable=False))
_BOXES = pa.list_(pa.field("box", _BOX))

# One row per annotated image, even without objects. The three lists have one entry per object, by
# score descending, then label, then box, objects without a box last.
OBJECTS = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("labels", _LABELS, nullable=False),  # a label may repeat
        pa.field("scores", _SCORES, nullable=False),  # 1.0 if a dataset states none
        # left, top, width, height, in pixels of the stored image; null: the dataset states none
        pa.field("boxes", _BOXES, nullable=False),
    ]
)
VOCABULARY = pa.schema(
    [
        pa.field("label", pa.int32(), nullable=False),
        pa.field("name", pa.string()),  # null: the dataset numbers the class and never names it
    ]
)
# How many images of a set show an object; one row per set that has members, in the order of SETS.
OBJECT_COUNTS = pa.schema(
    [
        pa.field("set", pa.string(), nullable=False),
        pa.field("members", pa.int64(), nullable=False),
        pa.field("with_objects", pa.int64(), nullable=False),
    ]
)
SAME_NUMBER = (
    "a label is compared by its number, so give each class one number and one name everywhere"
)


_TOGETHER = {
    "records of A and B": ("a", "b"),
    "public images": ("public",),
}
_ANOTHER = "Name another one in memorization.objects.annotator."
_NEXT = {
    "dataset": "Give the samples' JSON a list `objects` or `annotations`, or set "
    "memorization.objects.annotator to transformers.",
    "transformers": "Lower memorization.objects.threshold, or give another checkpoint.",
}


def objects_table(
    shards: Int32[np.ndarray, " n"],
    rows: Int32[np.ndarray, " n"],
    owners: Int64[np.ndarray, " m"],
    *,
    labels: Int32[np.ndarray, " m"],
    scores: Float32[np.ndarray, " m"],
    boxes: Float32[np.ndarray, "m 4"],
) -> pa.Table:
    """Return the OBJECTS of n images, in their order, from m objects in any order.

    `owners` has the position, from 0 to n - 1, of each object's image. A box of nan means none.
    """
    boxes = boxes + np.float32(0)  # no -0: equal tables have equal bytes
    scores = scores + np.float32(0)
    order = np.lexsort((*boxes.T[::-1], labels, -scores, owners))  # nan sorts last
    starts = np.zeros(len(shards) + 1, np.int32)
    np.cumsum(np.bincount(owners, minlength=len(shards)), out=starts[1:])
    columns = [
        pa.array(shards),
        pa.array(rows),
        pa.ListArray.from_arrays(starts, pa.array(labels[order]), type=_LABELS),
        pa.ListArray.from_arrays(starts, pa.array(scores[order]), type=_SCORES),
        pa.ListArray.from_arrays(starts, _box_array(boxes[order]), type=_BOXES),
    ]
    return pa.Table.from_arrays(columns, schema=OBJECTS)


def vocabulary_table(names: Mapping[int, str | None]) -> pa.Table:
    """Return labels and their names as a VOCABULARY, by label."""
    labels = sorted(names)
    return pa.table([labels, [names[label] for label in labels]], schema=VOCABULARY)


def merged_vocabulary(vocabularies: Iterable[pa.Table]) -> pa.Table:
    """Return the labels of several VOCABULARYs as one, with names replacing nulls.

    Raises InputError for a label with two names: its number has two meanings, so objects of the two
    vocabularies cannot be compared.
    """
    names: dict[int, str | None] = {}
    for vocabulary in vocabularies:
        columns = (vocabulary[name].to_pylist() for name in ("label", "name"))
        for label, name in zip(*columns, strict=True):
            held = names.setdefault(label, name)
            if held is None:
                names[label] = name
            elif name not in (None, held):
                raise InputError(
                    f"label {label} is {held!r} in one set and {name!r} in another: {SAME_NUMBER}"
                )
    return vocabulary_table(names)


def pictures_without_objects(objects: pa.Table) -> int:
    """Return the number of rows of OBJECTS without a label."""
    return int(pc.sum(pc.equal(pc.list_value_length(objects["labels"]), 0)).as_py() or 0)


def count_objects(
    parts: Iterable[tuple[pa.Table, pa.Table]], *, source: str, annotator: str
) -> pa.Table:
    """Return the OBJECT_COUNTS of one source.

    `parts` are the source's: MEMBERS, read for shard, row and set, and OBJECTS, read for shard, row
    and labels. A member that OBJECTS lacks shows no object. Raises InputError, which names the
    `source` and the `annotator`, if A and B together or the public set have members but no object,
    since recall would be undefined. A hold-out without objects is not refused: a small one may have
    none by chance.
    """
    members: Counter[str] = Counter()
    shown: Counter[str] = Counter()
    for drawn, objects in parts:
        some = pc.greater(pc.list_value_length(objects["labels"]), 0)
        has = np.isin(sample_addresses(drawn), sample_addresses(objects.filter(some)))
        members.update(drawn["set"].to_pylist())
        shown.update(drawn["set"].filter(pa.array(has)).to_pylist())
    for kind, sets in _TOGETHER.items():
        count = sum(members[name] for name in sets)
        if count and not any(shown[name] for name in sets):
            raise InputError(
                f"memorization.sources.{source}: {annotator} gives an object for 0 of {count} "
                f"{kind}. Without objects nothing can be recalled, so no model is trained. "
                f"{_NEXT.get(annotator, _ANOTHER)}"
            )
    rows = [(name, members[name], shown[name]) for name in SETS if members[name]]
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    return pa.table([list(column) for column in columns], schema=OBJECT_COUNTS)


def _box_array(boxes: Float32[np.ndarray, "m 4"]) -> pa.Array:
    absent = np.isnan(boxes).any(axis=1)
    starts = np.zeros(len(boxes) + 1, np.int32)
    np.cumsum(np.where(absent, 0, 4), out=starts[1:])
    edges = pa.array(boxes[~absent].reshape(-1))
    return pa.ListArray.from_arrays(starts, edges, type=_BOX, mask=pa.array(absent))
