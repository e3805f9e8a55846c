import pyarrow as pa
import pytest

from clipaudit.copies.groups import group_repeats, without_copies, without_repeats
from clipaudit.copies.verified import PAIRS
from clipaudit.corpora.manifests import keep_all


def pair(other, own, kind="edited", **more):
    """A row of PAIRS of rows of shard 0."""
    empty = dict.fromkeys(PAIRS.names) | {"same_bytes": False, "same_pixels": False, "edits": ""}
    address = {"other_shard": 0, "other_row": other, "shard": 0, "row": own}
    return {**empty, **address, "kind": kind, **more}


def pairs(*rows):
    return pa.Table.from_pylist(list(rows), PAIRS)


@pytest.fixture
def base():
    rows = pa.array(range(8), pa.int32())
    return keep_all(pa.table({"shard": pa.array([0] * 8, pa.int32()), "row": rows}))


def kept(manifest):
    return [row["row"] for row in manifest.to_pylist() if row["kept"]]


def test_copies_of_copies_share_a_group_across_parts():
    groups = group_repeats([pairs(pair(1, 2), pair(4, 6)), pairs(pair(2, 5))]).to_pylist()

    assert [(row["row"], row["first_row"], row["size"]) for row in groups] == [
        (1, 1, 3),
        (2, 1, 3),
        (4, 4, 2),
        (5, 1, 3),
        (6, 4, 2),
    ]


def test_lookalikes_belong_to_no_group():
    assert len(group_repeats([pairs(pair(1, 2, "lookalike")), pairs()])) == 0


def test_one_image_of_each_group_is_kept(base):
    groups = group_repeats([pairs(pair(1, 2), pair(2, 5))])

    manifest = without_repeats(base, groups)

    assert kept(manifest) == [0, 1, 3, 4, 6, 7]
    left = manifest.to_pylist()[5]
    assert (left["duplicate_row"], left["reason"]) == (1, "repeats another image")


def test_copies_of_test_images_are_removed_and_lookalikes_are_kept(base):
    found = pairs(pair(7, 2, "lookalike"), pair(3, 4, "edited"), pair(9, 4, "identical bytes"))
    found = found.append_column("testset", pa.array(["val", "val", "a"]))

    manifest = without_copies(base, found)

    assert kept(manifest) == [0, 1, 2, 3, 5, 6, 7]
    left = manifest.to_pylist()[4]
    assert (left["testset"], left["test_row"]) == ("a", 9)
    assert left["reason"] == "copy of a test image: identical bytes"


def test_without_pairs_every_image_is_kept(base):
    nothing = pairs().append_column("testset", pa.array([], pa.string()))

    assert kept(without_copies(base, nothing)) == list(range(8))
    assert kept(without_repeats(base, group_repeats([pairs()]))) == list(range(8))
