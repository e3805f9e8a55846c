import shutil
from types import SimpleNamespace

import pytest

from clipaudit.errors import StepError
from clipaudit.steps import allowance
from clipaudit.steps.allowance import RUN_VARIABLE, Allowance, name_run

LIMITS = {"keep_free_gigabytes": 0.0, "store_gigabytes": None, "gpu_hours": 2.0}


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that a test sets, in hours."""
    clock = SimpleNamespace(hours=0.0)
    monkeypatch.setattr(allowance.time, "time", lambda: clock.hours * 3600)
    monkeypatch.setenv(RUN_VARIABLE, "this")
    return clock


@pytest.fixture
def allowed(clock, tmp_path):
    return Allowance(LIMITS, tmp_path / "results", tmp_path)


def test_hours_of_all_gpus_are_added_up(allowed, clock):
    with allowed.spent("a", 4):
        clock.hours = 0.25
    with allowed.spent("b", 1):
        clock.hours = 0.75

    assert allowed.gpu_hours() == 1.5


def test_a_running_job_counts_until_now(allowed, clock):
    with allowed.spent("a", 2):
        clock.hours = 0.5
        assert allowed.gpu_hours() == 1.0


def test_a_killed_job_counts_until_it_starts_again(allowed, clock):
    killed = allowed.spent("a", 1)
    killed.__enter__()
    clock.hours = 1.0
    with allowed.spent("a", 1):
        clock.hours = 1.5
    clock.hours = 9.0

    assert allowed.gpu_hours() == 1.5


def test_a_failed_job_is_counted_too(allowed, clock):
    def fail():
        with allowed.spent("a", 1):
            clock.hours = 1.0
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    assert allowed.gpu_hours() == 1.0


def test_a_line_that_a_full_disk_cut_off_stops_no_later_job(allowed, clock, tmp_path):
    with allowed.spent("a", 1):
        clock.hours = 0.5
    (ledger,) = tmp_path.glob("results/.runs/*.jsonl")
    ledger.write_text(ledger.read_text() + '{"action": "b", "ti')

    for action in ("c", "d"):
        with allowed.spent(action, 1):
            clock.hours += 0.5

    assert allowed.gpu_hours() == 1.5


def test_no_job_starts_on_gpus_once_the_hours_are_used(allowed, clock):
    with allowed.spent("a", 1):
        clock.hours = 2.0

    said = r"limits\.gpu_hours: this run has used 2 GPU h and the limit is 2"
    with pytest.raises(StepError, match=said), allowed.spent("b", 1):
        pass
    with allowed.spent("c", 0):
        pass


def test_another_run_starts_with_no_hours_used(allowed, clock, monkeypatch, tmp_path):
    with allowed.spent("a", 1):
        clock.hours = 2.0
    monkeypatch.setenv(RUN_VARIABLE, "next")

    assert Allowance(LIMITS, tmp_path / "results", tmp_path).gpu_hours() == 0


@pytest.mark.parametrize(("spared", "refused"), [(5.0, True), (3.0, False), (0.0, False)])
def test_no_job_starts_on_a_disk_filled_to_its_limit(tmp_path, monkeypatch, spared, refused):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=4_000_000_000))
    allowed = Allowance({**LIMITS, "keep_free_gigabytes": spared}, tmp_path, tmp_path)

    if refused:
        said = "has 4 GB free, but 5 GB must stay free"
        with pytest.raises(StepError, match=said), allowed.spent("a", 0):
            pass
    else:
        with allowed.spent("a", 0):
            pass


def test_nothing_is_written_without_limits(clock, tmp_path):
    with Allowance(None, tmp_path / "results", tmp_path).spent("a", 8):
        pass

    assert not list(tmp_path.iterdir())


def test_jobs_keep_the_name_of_their_run(monkeypatch):
    monkeypatch.setenv(RUN_VARIABLE, "this")

    name_run()

    assert allowance.os.environ[RUN_VARIABLE] == "this"
