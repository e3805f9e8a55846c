import pytest

from clipaudit.lineage.planning.observations import observations
from clipaudit.store.actions import ActionCache, ActionInput, ActionOutput, Ingredients
from clipaudit.store.records import Execution, Record, write_record
from clipaudit.store.store import Pointer, Store

GIVEN = {"samples": ActionOutput(Pointer("d" * 64, 40, 100, "samples"), ".parquet")}


@pytest.mark.parametrize("share", [1.0, 0.25, 0.0])
def test_an_execution_counts_for_its_share_of_the_work(tmp_path, share):
    store = Store(tmp_path)
    ActionCache(store).record("a" * 64, GIVEN)
    read = {"samples": [ActionInput("d" * 64, "results/samples.json", action="a" * 64)]}
    ran = Execution("2026-01-01T00:00:00", 2.0, "host", 100, 1, {}, {}, share=share)
    asked = Ingredients("keep_all", "c" * 64, {}, read, {})
    write_record(store, Record("b" * 64, asked, GIVEN, {}, ran))

    (observed,) = observations(store, {"keep_all": "keep_all"})

    assert (observed.work, observed.device_seconds) == (40 * share, 2.0)
