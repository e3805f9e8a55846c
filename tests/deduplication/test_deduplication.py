import pyarrow as pa
import pytest

from clipaudit.corpora.manifests import MANIFEST, NOT_EMBEDDED, keep_all
from clipaudit.deduplication.deduplication import deduplicate
from clipaudit.deduplication.duplicates import DUPLICATES
from clipaudit.similarity.orders import DUPLICATE


def manifest(*rows):
    addresses = pa.table({"shard": [2] * len(rows), "row": rows})
    return keep_all(addresses.cast(pa.schema([MANIFEST.field(0), MANIFEST.field(1)])))


def duplicates(*rows):
    """Each row: shard, row, and its similarity to another unless it is never removed."""
    columns = ["shard", "row", "similarity", "duplicate_shard", "duplicate_row"]
    full = [{"cluster": 0} | dict(zip(columns, row, strict=False)) for row in rows]
    return pa.Table.from_pylist(full, schema=DUPLICATES)


def test_samples_above_the_threshold_are_removed_with_a_reason():
    groups = [
        duplicates((2, 0), (2, 3, 0.75, 2, 0)),
        duplicates((2, 1, 0.5, 2, 0), (9, 9, 0.9, 2, 0)),
    ]

    found = deduplicate(manifest(0, 1, 3), groups, threshold=0.5)

    assert found.schema == MANIFEST
    assert found["kept"].to_pylist() == [True, True, False]  # a tie stays
    told = {name: value for name, value in found.to_pylist()[2].items() if value is not None}
    assert told == {
        "shard": 2,
        "row": 3,
        "kept": False,
        "similarity": 0.75,
        "duplicate_shard": 2,
        "duplicate_row": 0,
        "reason": DUPLICATE,
    }


@pytest.mark.parametrize("groups", [[], [duplicates((2, 1))]])
def test_samples_in_no_group_are_removed_as_not_embedded(groups):
    found = deduplicate(manifest(0), groups, threshold=0.5)

    assert found["reason"].to_pylist() == [NOT_EMBEDDED]
    assert found["kept"].to_pylist() == [False]


def test_rows_keep_the_order_and_the_drops_of_the_base():
    groups = [duplicates((2, 0), (2, 5, 0.75, 2, 0), (2, 7, 0.9, 2, 0))]
    base = deduplicate(manifest(7, 0, 5), groups, threshold=0.8)

    found = deduplicate(base, groups, threshold=0.5)

    assert found["row"].to_pylist() == [7, 0, 5]
    assert found.slice(0, 2) == base.slice(0, 2)
    assert found["similarity"].to_pylist() == [0.9, None, 0.75]
