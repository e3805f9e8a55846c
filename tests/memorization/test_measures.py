import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clipaudit.memorization.measures import (
    AttackedPart,
    in_one_corpus,
    kept_in_one_corpus,
    measure,
)
from clipaudit.memorization.recall import RECALLS
from clipaudit.store.actions import LabelledFile


def recalls(*correct, k=10):
    """Recalls of rows 0, 1, ...: each image has two labels, each model predicts four."""
    rows = [(0, row, k, 0.5, 2, 4, right, 4, right) for row, right in enumerate(correct)]
    columns = zip(*rows, strict=True)
    return pa.table(dict(zip(RECALLS.names, columns, strict=True)), schema=RECALLS)


def kept(*rows, of=6):
    return pa.table(
        {
            "shard": pa.array([0] * of, pa.int32()),
            "row": pa.array(range(of), pa.int32()),
            "kept": [row in rows for row in range(of)],
        }
    )


SAMPLES = pa.table(
    {
        "shard": pa.array([0] * 6, pa.int32()),
        "row": pa.array(range(6), pa.int32()),
        "uid": [f"{row:032x}" for row in range(6)],
    }
)
# rows 0 and 1 are A, 2 and 3 are B, 4 and 5 the hold-out
SETS = {"a": kept(0, 1), "b": kept(2, 3), "holdout": kept(4, 5)}


def attacked(models, sets=SETS, *, neighbors=(10,)):
    part = AttackedPart("scenes", models, sets, SAMPLES)
    return measure([part], neighbors=neighbors, shards={"scenes": 1}, seed=0)


def values(gaps, measure_name):
    rows = gaps.to_pylist()
    return {row["target"]: row["value"] for row in rows if row["measure"] == measure_name}


@pytest.fixture
def models():
    return {"a": recalls(2, 1, 0, 1, 1, 1), "b": recalls(1, 1, 1, 2, 1, 1)}


def test_each_set_is_attacked_with_its_own_model_as_the_target(models):
    gaps = attacked(models).gaps

    assert values(gaps, "prg") == {"a": 0.5, "b": 1.0, "control": 0.0, "mean": 0.75}
    assert values(gaps, "aucg") == {"a": 0.25, "b": 0.5, "control": 0.0, "mean": 0.375}


def test_swapping_the_models_negates_the_gaps_of_each_set(models):
    swapped = {"a": models["b"], "b": models["a"]}

    one = attacked(models).gaps
    other = attacked(swapped).gaps

    for name in ("ppg", "prg"):
        negated = {target: -value + 0.0 for target, value in values(one, name).items()}
        assert values(other, name) == negated


def test_without_a_holdout_there_is_no_control(models):
    sets = {"a": SETS["a"], "b": SETS["b"]}

    gaps = attacked(models, sets).gaps

    assert set(gaps["target"].to_pylist()) == {"a", "b", "mean"}


def test_every_number_of_neighbours_has_rows():
    models = {"a": pa.concat_tables([recalls(2, 1, 0, 1, 1, 1), recalls(*[2] * 6, k=100)])}
    models["b"] = pa.concat_tables([recalls(1, 1, 1, 2, 1, 1), recalls(*[2] * 6, k=100)])

    found = attacked(models, neighbors=[10, 100])

    for table in (found.gaps, found.survival, found.sample_gaps):
        assert set(table["k"].to_pylist()) == {10, 100}
    assert values(found.gaps.filter(found.gaps["k"].to_numpy() == 100), "prg")["a"] == 0.0


def test_addresses_are_distinct_across_sources():
    rows = pa.table({"shard": pa.array([1], pa.int32()), "row": pa.array([0], pa.int32())})

    joined = in_one_corpus([("web", rows), ("coco", rows)], {"web": 2, "coco": 2})

    assert joined["shard"].to_pylist() == [1, 3]


def test_manifests_of_several_sources_give_the_samples_they_keep(tmp_path):
    files = [LabelledFile(tmp_path / name, {"corpus": name}) for name in ("web", "coco")]
    for file, rows in zip(files, (kept(0, 2), kept(5)), strict=True):
        pq.write_table(rows, file.path)

    found = kept_in_one_corpus(files, {"web": 2, "coco": 2})

    assert found["shard"].to_pylist() == [0, 0, 2]
    assert found["row"].to_pylist() == [0, 2, 5]
