from dataclasses import replace

import pytest

from clipaudit.lineage.planning.costs import Cost, History
from clipaudit.store.actions import ActionOutput, Ingredients
from clipaudit.store.packing import pack
from clipaudit.store.records import Execution, Record, write_record
from clipaudit.store.store import Pointer, Store

RAN = Execution(
    started="2026-01-01T00:00:00.000+00:00",
    seconds=3600.0,
    host="here",
    peak_memory_mb=1,
    threads=2,
    versions={},
    written={},
)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def write(
    store, action, step="train", device="", code="c", wildcards=None, size=10, **circumstances
):
    write_record(
        store,
        Record(
            action=action * 64,
            ingredients=Ingredients(step, code, {}, {}, {"device": device} if device else {}),
            outputs={"model": ActionOutput(Pointer("f" * 64, 0, 10, "x"), ".bin")},
            wildcards=wildcards or {"manifest": "all"},
            execution=replace(RAN, **circumstances),
        ),
    )


def test_a_job_costs_what_its_last_run_took(store):
    write(store, "a", seconds=1.0)
    write(store, "b", started="2026-01-02T00:00:00.000+00:00")

    cost = History(store, ["train"]).cost("train", {"manifest": "all"}, gpus=0)

    assert cost == Cost(jobs=1, cpu_hours=2.0, gpu_hours=0.0, bytes=10, unknown=0)


@pytest.mark.parametrize("packed", [False, True])
def test_a_run_that_knew_a_part_of_its_outputs_counts_as_one_of_all(store, packed):
    write(store, "a", device="cuda", seconds=400.0, share=0.1)
    if packed:
        pack(store)

    cost = History(store, ["train"]).cost("train", {"manifest": "all"}, gpus=1)

    assert cost.gpu_hours == pytest.approx(4000 / 3600)
    assert cost.cpu_hours == pytest.approx(2 * 4000 / 3600)


def test_a_new_job_costs_the_median_of_its_step(store):
    for action, seconds in (("a", 1800.0), ("b", 3600.0), ("c", 36000.0)):
        write(store, action, seconds=seconds, wildcards={"manifest": action})

    cost = History(store, ["train"]).cost("train", {"manifest": "new"}, gpus=0)

    assert (cost.cpu_hours, cost.typical) == (2.0, 1)


def test_gpu_hours_count_if_the_step_ran_on_a_gpu(store):
    write(store, "a", device="cuda")
    write(store, "b", device="cpu avx2", step="embed")
    history = History(store, ["train", "embed"])

    assert history.cost("train", {"manifest": "all"}, gpus=4).gpu_hours == 4.0
    assert history.cost("embed", {"manifest": "all"}, gpus=0).gpu_hours == 0.0


def test_a_step_without_a_record_has_an_unknown_cost(store):
    write(store, "a")

    cost = History(store, ["gap"]).cost("gap", {}, gpus=0)

    assert cost == Cost(jobs=1, unknown=1)


def test_costs_add_up():
    one = Cost(1, 0.5, 0.25, 10, 0)

    assert one + Cost(2, 1.0, 0.0, 5, 1) == Cost(3, 1.5, 0.25, 15, 1)


def test_actions_are_found_by_step_and_code(store):
    write(store, "b")
    write(store, "a")
    write(store, "c", code="other")
    history = History(store, [])

    assert history.actions([("train", "c")]) == ["a" * 64, "b" * 64]
    assert history.actions([("train", "other"), ("gap", "c")]) == ["c" * 64]
    assert history.actions([]) == []


def test_no_records_are_read_if_no_step_is_given(tmp_path):
    history = History(Store(tmp_path / "gone"), [])

    assert history.last("train", {}) is None
