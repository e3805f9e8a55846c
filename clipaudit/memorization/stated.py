"""The annotator `dataset`: the objects that the JSON of samples states, as COCO does."""

import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Float32

from clipaudit.corpora.addresses import sample_addresses
from clipaudit.corpora.statements import is_finite, is_text, shown_value, stated_fields
from clipaudit.errors import ConfigError, InputError
from clipaudit.memorization.fixed import COCO
from clipaudit.memorization.objects import (
    SAME_NUMBER,
    objects_table,
    pictures_without_objects,
    vocabulary_table,
)

_COCO_NAMES = """
person;bicycle;car;motorcycle;airplane;bus;train;truck;boat;traffic light;fire hydrant;;stop sign;
parking meter;bench;bird;cat;dog;horse;sheep;cow;elephant;bear;zebra;giraffe;;backpack;umbrella;;;
handbag;tie;suitcase;frisbee;skis;snowboard;sports ball;kite;baseball bat;baseball glove;skateboard;
surfboard;tennis racket;bottle;;wine glass;cup;fork;knife;spoon;bowl;banana;apple;sandwich;orange;
broccoli;carrot;hot dog;pizza;donut;cake;chair;couch;potted plant;bed;;dining table;;;toilet;;tv;
laptop;mouse;remote;keyboard;cell phone;microwave;oven;toaster;sink;refrigerator;;book;clock;vase;
scissors;teddy bear;hair drier;toothbrush
"""
# COCO's 80 classes (cocodataset.org, instances_train2017) by their numbers, which have ten gaps
COCO_CLASSES: Mapping[int, str] = {
    number: name
    for number, name in enumerate(_COCO_NAMES.replace("\n", "").split(";"), start=1)
    if name
}

_FIELDS = ("objects", "annotations")  # of a sample's JSON; the first present one counts
_NAME_FIELDS = ("category", "category_name", "name", "label")  # of an object, likewise
_FORMS = (
    "an object is a name, or has a whole number as category_id or a name as category, with an "
    "optional bbox of left, top, width and height (neither below 0) and an optional score"
)
_MAX_LABEL = 2**31 - 1
_NAMES = "memorization.objects.names"  # the setting that lists classes

_log = logging.getLogger(__name__)


class _Stated(NamedTuple):
    """One object as its sample's JSON states it; `name` is from the JSON, not from the list."""

    label: int
    name: str | None
    score: float
    box: Sequence[float] | None


def objects_of_dataset(
    samples: pa.Table, *, names: Sequence[str] | None
) -> tuple[pa.Table, pa.Table]:
    """Return the OBJECTS that the JSON of `samples` states, and the VOCABULARY of their labels.

    `samples` ascend by (shard, row) and have the columns shard, row, metadata. Their objects are
    in the field `objects`, else in `annotations`, as in COCO: a list whose entries have a number
    (`category_id`), a name (`category`, `category_name`, `name` or `label`) or both, and may have a
    `bbox` and a `score`; or an entry is just a name. A null field counts as absent. A sample
    without JSON, or with neither field, shows no objects.

    `names` are the classes by number, from 0, or the word "coco" for COCO's own 80 and their
    numbers. Objects with only a name need it to have a number; those with only a number are named
    by it. The vocabulary has the labels that occur. Raises InputError for anything else that an
    entry holds, for a name or a number alone that is not listed, and for a number with two names.
    """
    # a chunk's worth of texts in memory at a time
    batches = samples.select(["metadata"]).to_batches(max_chunksize=1024)
    texts = (text for batch in batches for text in batch.column(0).to_pylist())
    addresses = zip(samples["shard"].to_pylist(), samples["row"].to_pylist(), strict=True)
    lists = (
        _entries(text, f"shard {shard}, row {row}")
        for text, (shard, row) in zip(texts, addresses, strict=True)
    )
    return objects_of_entries(samples, lists, names=names)


def objects_of_entries(
    samples: pa.Table, lists: Iterable[list[Any]], *, names: Sequence[str] | None
) -> tuple[pa.Table, pa.Table]:
    """Return the OBJECTS of `samples` and their VOCABULARY, given a list of objects per sample.

    An object has the form of `objects_of_dataset`, and the same errors are raised.
    """
    numbered = _numbered_classes(names)
    numbers = _numbers_by_name(numbered)
    shards, rows = (np.asarray(samples[name].to_numpy(), np.int32) for name in ("shard", "row"))
    assert np.all(np.diff(sample_addresses(samples)) > 0), "samples come sorted by (shard, row)"
    owners, stated = [], []
    first_named: dict[int, tuple[str, str]] = {}  # of each label, its name and where it comes first
    for at, entries in enumerate(lists):
        place = f"shard {shards[at]}, row {rows[at]}"
        for entry in entries:
            found = _stated(entry, numbers, names is None, place)
            _note_name(first_named, found, numbered, place)
            owners.append(at)
            stated.append(found)
    table = objects_table(
        shards,
        rows,
        np.array(owners, np.int64),
        labels=np.array([each.label for each in stated], np.int32),
        scores=np.array([each.score for each in stated], np.float32),
        boxes=_box_rows([each.box for each in stated]),
    )
    vocabulary = {label: first_named.get(label, (None,))[0] for label in {s.label for s in stated}}
    _log.info("%d of %d images state no object", pictures_without_objects(table), len(table))
    return table, vocabulary_table(vocabulary)


# --- names ----------------------------------------------------------------------------------------


def _numbered_classes(names: Sequence[str] | None) -> Mapping[int, str]:
    if names is None:
        return {}
    if isinstance(names, str):
        if names == COCO:
            return COCO_CLASSES
        raise ConfigError(
            f"{_NAMES} is {names!r}: give the names as a list (settings: a text file with one a "
            f"line), or the word {COCO!r}"
        )
    return dict(enumerate(names))


def _numbers_by_name(numbered: Mapping[int, str]) -> Mapping[str, list[int]]:
    """Return each name's numbers; several if the name is listed repeatedly, like "crane"."""
    numbers: dict[str, list[int]] = {}
    for number, name in numbered.items():
        numbers.setdefault(name, []).append(number)
    return numbers


def _note_name(
    first_named: dict[int, tuple[str, str]],
    found: _Stated,
    numbered: Mapping[int, str],
    place: str,
) -> None:
    """Keep the label's first name; raises InputError for another one."""
    if found.label in numbered:
        first_named.setdefault(found.label, (numbered[found.label], _NAMES))
    if found.name is None:
        _refuse_unlisted(found.label, numbered, place)
        return
    name, source = first_named.setdefault(found.label, (found.name, place))
    if name != found.name:
        raise InputError(
            f"{place}: category_id {found.label} is named {found.name!r}, but {name!r} in "
            f"{source}: {SAME_NUMBER}"
        )


def _refuse_unlisted(label: int, numbered: Mapping[int, str], place: str) -> None:
    if numbered and label not in numbered:
        raise InputError(
            f"{place}: category_id {label} has no name among the {len(numbered)} of {_NAMES}, "
            f"whose numbers are {min(numbered)} to {max(numbered)}. Add it there, or correct the "
            "number."
        )


# --- a sample's JSON ------------------------------------------------------------------------------


def _entries(text: str | None, place: str) -> list[Any]:
    fields = stated_fields(text, place)
    for field in _FIELDS:
        entries = fields.get(field)
        if isinstance(entries, list):
            return entries
        if entries is not None:
            raise InputError(
                f"{place}: {field} is {shown_value(entries)}: make it a list of objects"
            )
    return []


def _stated(entry: Any, numbers: Mapping[str, list[int]], unlisted: bool, place: str) -> _Stated:  # noqa: ANN401
    """Return one entry of the list; raises InputError."""
    fields = {"name": entry} if isinstance(entry, str) else entry
    if not isinstance(fields, dict):
        raise _malformed(place, "an object", entry)
    name = next((fields[key] for key in _NAME_FIELDS if fields.get(key) is not None), None)
    if name is not None and not (is_text(name) and name):
        raise _malformed(place, "a class name", name)
    label = fields.get("category_id")
    if label is None:
        if name is None:
            raise _malformed(place, "an object", entry)
        label = _listed(name, numbers, unlisted, place)
    if isinstance(label, bool) or not isinstance(label, int) or not 0 <= label <= _MAX_LABEL:
        raise _malformed(place, "category_id", label)
    score = fields.get("score")
    if not is_finite(1.0 if score is None else score):
        raise _malformed(place, "score", score)
    box = fields.get("bbox")
    if box is not None and not (
        isinstance(box, list) and len(box) == 4 and all(map(is_finite, box)) and min(box[2:]) >= 0
    ):
        raise _malformed(place, "bbox", box)
    return _Stated(label, name, 1.0 if score is None else score, box)


def _listed(name: str, numbers: Mapping[str, list[int]], unlisted: bool, place: str) -> int:
    if unlisted:
        raise InputError(
            f"{place}: the object {name!r} has a name but no number. List the names in "
            f"{_NAMES}: a name's line, from 0, is its number; {COCO!r} stands for COCO's."
        )
    if name not in numbers:
        raise InputError(
            f"{place}: the object {name!r} is not among the {len(numbers)} names of {_NAMES}. "
            "Add it there, or correct the JSON."
        )
    if len(numbers[name]) > 1:
        raise InputError(
            f"{place}: the object {name!r} may be any of the classes {numbers[name]}, which share "
            "the name. Give its number as category_id, or each class a name of its own."
        )
    return numbers[name][0]


def _malformed(place: str, what: str, value: Any) -> InputError:  # noqa: ANN401
    return InputError(f"{place}: {what} is {shown_value(value)}: {_FORMS}")


def _box_rows(boxes: Sequence[Sequence[float] | None]) -> Float32[np.ndarray, "m 4"]:
    absent = (math.nan,) * 4
    rows = np.array([absent if box is None else box for box in boxes], np.float32)
    return rows.reshape(-1, 4)
