import subprocess
import sys
import time

import pytest

from clipaudit.steps.gpus import VISIBLE, held_gpus, visible_gpus

HOLD = """
import sys
from clipaudit.steps.gpus import held_gpus, visible_gpus
with held_gpus({count}):
    print(*visible_gpus(), flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def locks(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv(VISIBLE, "0,3")


def start(count=1):
    program = [sys.executable, "-c", HOLD.format(count=count)]
    return subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def holder():
    process = start()
    return process, process.stdout.readline().strip()


def end(process):
    process.communicate("")


def test_jobs_hold_different_gpus():
    (one, first), (other, second) = holder(), holder()

    end(one)
    end(other)
    assert [first, second] == ["0", "3"]


def test_a_gpu_of_a_killed_job_is_free_again():
    one, first = holder()
    one.kill()
    one.communicate()

    with held_gpus(1):
        assert visible_gpus() == [first]


def test_a_job_waits_for_as_many_gpus_as_it_requests():
    one, _ = holder()
    waiting = start(2)
    time.sleep(0.5)
    assert waiting.poll() is None
    end(one)

    assert waiting.communicate("")[0].split() == ["0", "3"]


@pytest.mark.parametrize(
    ("visible", "gpus"),
    [
        ("-1", []),
        ("NoDevFiles", []),
        ("0,2,-1,1", ["0", "2"]),
        (" 0, GPU-8932f937 ", ["0", "GPU-8932f937"]),
        ("MIG-GPU-8932f937/1/2", ["MIG-GPU-8932f937/1/2"]),
    ],
)
def test_gpus_are_visible_up_to_the_first_name_that_is_none(monkeypatch, visible, gpus):
    monkeypatch.setenv(VISIBLE, visible)

    assert visible_gpus() == gpus


def test_jobs_hold_different_instances_of_a_gpu(monkeypatch):
    instances = ["MIG-GPU-8932f937/1/0", "MIG-GPU-8932f937/2/0"]
    monkeypatch.setenv(VISIBLE, ",".join(instances))
    one, first = holder()

    with held_gpus(1):
        assert [first, *visible_gpus()] == instances
    end(one)


@pytest.mark.parametrize(("visible", "count"), [("0,3", 2), ("7", 1), ("", 1), ("0,3", 0)])
def test_nothing_is_held_if_no_gpu_is_spare(monkeypatch, tmp_path, visible, count):
    monkeypatch.setenv(VISIBLE, visible)

    with held_gpus(count):
        assert ",".join(visible_gpus()) == visible
    assert not list(tmp_path.iterdir())
