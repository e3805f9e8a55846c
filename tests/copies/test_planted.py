import pyarrow as pa
import pytest
from test_groups import pair, pairs

from clipaudit.copies.planted import compare_planted

COLUMNS = {
    "shard": pa.int32(),
    "row": pa.int32(),
    "duplicate_of_corpus": pa.string(),
    "duplicate_of_shard": pa.int32(),
    "duplicate_of_row": pa.int32(),
    "copy_of_row": pa.int32(),
}


def truth(*rows):
    """Rows of shard 0: a test image of `val` that each repeats, and an earlier row."""
    return pa.Table.from_pylist(
        [
            {
                "shard": 0,
                "row": row,
                "duplicate_of_corpus": None if test is None else "val",
                "duplicate_of_shard": None if test is None else 0,
                "duplicate_of_row": test,
                "copy_of_row": earlier,
            }
            for row, test, earlier in rows
        ],
        pa.schema(COLUMNS),
    )


@pytest.fixture
def world():
    return truth((0, None, None), (1, 7, None), (2, None, 1), (3, None, 0), (4, None, None))


def test_copies_of_copies_are_planted_too(world):
    resized = "re-encoded or resized"
    found = {
        "val": pairs(pair(7, 1, resized), pair(7, 2, "edited"), pair(6, 4, "lookalike")),
        "web": pairs(pair(0, 3, resized), pair(1, 4, "edited")),
    }

    val, web = compare_planted(world, found, "web").to_pylist()

    assert val == {
        "searched": "val", "planted": 2, "candidates": 2, "verified": 2, "named": 1,
        "candidates_besides": 1, "verified_besides": 0,
    }  # fmt: skip
    assert (web["planted"], web["verified"], web["named"]) == (2, 1, 1)
    assert (web["candidates_besides"], web["verified_besides"]) == (1, 1)


def test_without_planted_copies_every_pair_counts_as_additional():
    found = {"val": pairs(pair(7, 0))}

    (row,) = compare_planted(truth((0, None, None)), found, "web").to_pylist()

    assert (row["planted"], row["verified_besides"]) == (0, 1)
