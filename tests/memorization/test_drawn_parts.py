from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from clipaudit.memorization.drawn_parts import DrawnPart, overlaps_of_part
from clipaudit.memorization.membership import MEMBERS, without_overlaps
from clipaudit.neighbors.backends import search

NUMPY = partial(search, k=2, backend="numpy")

# row, set, uid, caption, image (a direction)
WEB = [
    (0, "a", "u0", "a cat", 0),
    (1, "b", "u1", "a cat", 1),  # the caption of row 0
    (2, "public", "u2", "a hat", 1),  # the image of row 1
    (3, "public", "u3", "a bat", 2),
]
COCO = [
    (0, "a", "u4", "a dog", 2),  # the image of web's row 3
    (1, "holdout", "u3", "a fox", 3),  # the uid of web's row 3
]


def column(rows, place, kind):
    return pa.array([row[place] for row in rows], kind)


def part(source, rows, *, pictures=True):
    address = {"shard": pa.array([0] * len(rows), pa.int32()), "row": column(rows, 0, pa.int32())}
    own = {"set": column(rows, 1, pa.string()), "uid": column(rows, 2, pa.string())}
    places = {"place": pa.array(range(len(rows)), pa.int64())}
    members = pa.table(address | own | places).select(MEMBERS.names).cast(MEMBERS)
    samples = pa.table(address | {"uid": own["uid"], "caption": column(rows, 3, pa.string())})
    vectors = np.eye(4, dtype=np.float16)[[row[4] for row in rows]]
    pixels = pa.array([vector.tobytes() for vector in vectors], pa.binary(8))
    embeddings = pa.table(address | {"embedding": pixels})
    batches = embeddings.to_batches(1)
    return DrawnPart(
        source, "00000", lambda: members, lambda: samples, (lambda: batches) if pictures else None
    )


def found(own, parts):
    table = overlaps_of_part(own, parts, distance=0.01, start=NUMPY)
    names = ["row", "how", "other_corpus", "other_row", "other_set"]
    return [tuple(row[name] for name in names) for row in table.to_pylist()]


@pytest.fixture
def parts():
    return [part("web", WEB), part("coco", COCO)]


def test_repeated_records_and_public_samples_that_repeat_a_record_are_removed(parts):
    assert found(parts[0], parts) == [
        (0, "caption", "web", 1, "b"),
        (1, "caption", "web", 0, "a"),
        (2, "near duplicate", "web", 1, "b"),
        (3, "uid", "coco", 1, "holdout"),
        (3, "near duplicate", "coco", 0, "a"),
    ]
    assert found(parts[1], parts) == []


def test_without_embeddings_images_are_not_compared():
    parts = [part("web", WEB, pictures=False), part("coco", COCO, pictures=False)]

    assert found(parts[0], parts) == [
        (0, "caption", "web", 1, "b"),
        (1, "caption", "web", 0, "a"),
        (3, "uid", "coco", 1, "holdout"),
    ]


def test_removal_leaves_no_overlap(parts):
    kept = []
    for each, rows in zip(parts, (WEB, COCO), strict=True):
        overlaps = overlaps_of_part(each, parts, distance=0.01, start=NUMPY)
        stay = without_overlaps(each.members(), overlaps)["row"].to_pylist()
        kept.append(part(each.source, [row for row in rows if row[0] in stay]))

    assert [found(each, kept) for each in kept] == [[], []]
