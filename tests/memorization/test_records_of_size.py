import pyarrow as pa

from clipaudit.memorization.records import records_of_size


def rows(*numbers, **columns):
    address = {"shard": pa.array([0] * len(numbers), pa.int32()), "row": pa.array(numbers, "int32")}
    return pa.table({**address, **columns})


def test_records_of_a_size_are_those_kept_by_one_of_its_manifests():
    samples = rows(0, 1, 2, 3, uid=["w", "x", "y", "z"])
    of_a = rows(0, 1, 2, 3, kept=[False, True, False, False])
    holdout = rows(0, 1, 2, 3, kept=[True, False, False, False])

    found = records_of_size(samples, [of_a, holdout])

    assert found["uid"].to_pylist() == ["w", "x"]


def test_without_manifests_there_are_no_records():
    assert len(records_of_size(rows(0, uid=["w"]), [])) == 0
