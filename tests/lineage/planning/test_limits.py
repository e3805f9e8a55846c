import pytest

from clipaudit.errors import StepError
from clipaudit.lineage.planning.costs import Cost
from clipaudit.lineage.planning.estimates import JobEstimate
from clipaudit.lineage.planning.forecast import Planned
from clipaudit.lineage.planning.forecasts import Outlook
from clipaudit.lineage.planning.limits import Room, needs, own_estimates, refuse_excess, room_of
from clipaudit.lineage.planning.rates import Line, Rate
from clipaudit.steps.jobs import Job, Workflow
from clipaudit.store.store import Store

FREE = Rate(Line(0.0, 0.0), records=1, most_work=1.0, peak_memory_mb=1)
NONE = {"keep_free_gigabytes": 0.0, "store_gigabytes": None, "gpu_hours": None}
NEEDED = {
    "embed": Cost(jobs=2, gpu_hours=3.0, bytes=6_000_000_000),
    "nearest": Cost(jobs=1, bytes=2_000_000_000),
    "train": Cost(jobs=4, gpu_hours=20.0, bytes=500_000_000, unknown=1),
}
ROOM = Room("store", held=10_000_000_000, free=9_000_000_000)


def coming(part, cost):
    job = Job("embed", "embed", {"part": part}, {}, {}, {}, threads=1, resources={}, cause="new")
    return Outlook(Planned(job, "certain", None, {}), cost=cost)


def estimated(job, size, rate=FREE):
    return JobEstimate(job, "samples", 1.0, "cpu", rate, size, ())


@pytest.mark.parametrize(
    ("limit", "reached", "passed"),
    [
        ("keep_free_gigabytes", 0.5, 0.500000001),
        ("store_gigabytes", 18.5, 18.499999999),
        ("gpu_hours", 23.0, 22.999999999),
    ],
)
def test_a_limit_may_be_reached_but_not_exceeded(limit, reached, passed):
    assert refuse_excess(NEEDED, {**NONE, limit: reached}, ROOM) is None

    with pytest.raises(StepError, match=limit):
        refuse_excess(NEEDED, {**NONE, limit: passed}, ROOM)


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (
            {"keep_free_gigabytes": 1.0},
            r"needs 8\.5 GB more \(embed 6 GB, nearest 2 GB, train 0\.5 GB\), and the disk of "
            r"store has 9 GB free, of which 1 GB must stay free; without any record, so "
            r"not fully counted: jobs 1 of train\. Free 0\.5 GB there",
        ),
        (
            {"store_gigabytes": 18.0},
            r"store holds 10 GB and the run needs 8\.5 GB more \(embed 6 GB, .*\); the limit is "
            r"18 GB; without any record.* Run `clipaudit gc`",
        ),
        (
            {"gpu_hours": 22.5},
            r"limits\.gpu_hours: the run needs 23 GPU h \(train 20 GPU h, embed 3 GPU h\); the "
            r"limit is 22\.5; without any record.* Raise the limit",
        ),
    ],
)
def test_an_excess_is_reported_by_stage(limits, said):
    with pytest.raises(StepError, match=said):
        refuse_excess(NEEDED, {**NONE, **limits}, ROOM)


def test_a_job_that_never_ran_counts_its_estimate():
    known, typical, new = (
        Cost(jobs=1, bytes=1, **counted) for counted in ({}, {"typical": 1}, {"unknown": 1})
    )
    outlooks = [coming("a", known), coming("b", typical), coming("c", new), coming("d", new)]

    needed = needs(outlooks, [estimated(of.planned.job, 50.0) for of in outlooks[:3]])

    assert needed == {"embed": Cost(jobs=4, bytes=1 + 50 + 50 + 1, unknown=1)}


def test_a_partial_estimate_is_reported_as_unknown():
    (each,) = [coming("a", Cost(jobs=1, unknown=1))]

    needed = needs([each], [estimated(each.planned.job, 50.0, rate=None)])

    assert needed == {"embed": Cost(jobs=1, bytes=50, unknown=1)}


def test_shards_of_unknown_size_give_no_estimate(tmp_path, caplog):
    params = {"shards": ["a.tar"]}
    outputs = {name: [str(tmp_path / f"{name}.json")] for name in ("samples", "drops")}
    index = Job("index", "index", {"corpus": "large"}, params, {"tars": []}, outputs, 1, {}, "new")

    assert own_estimates(Workflow(tmp_path / "results", tmp_path / "store", [index])) == []
    assert "the number of samples in some corpus's shards is unknown" in caplog.text


def test_a_store_holds_the_bytes_of_its_objects(tmp_path):
    Store(tmp_path / "store").put_bytes(b"12345", schema="x")

    assert room_of(tmp_path / "store").held == 5
    assert room_of(tmp_path / "not yet").held == 0
