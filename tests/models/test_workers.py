import gc
import shutil
import subprocess
import sys
from multiprocessing import active_children
from types import SimpleNamespace
from typing import NamedTuple

import pytest
import torch

from clipaudit.errors import InputError
from clipaudit.models.workers import Workers

# some tests use more workers than cores, and torch warns of that
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")


class Item(NamedTuple):
    number: int
    data: torch.Tensor


def count(worker, workers):
    for number in range(worker, 7, workers):
        yield Item(number, torch.full((2,), number))


def fail(worker, workers):
    yield Item(0, torch.zeros(2))
    raise InputError("shard 3 is broken")


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_items_keep_their_order_at_every_iteration(workers):
    items = Workers(count, workers=workers)

    for _ in range(2):
        assert [item.number for item in items] == list(range(7))


@pytest.mark.parametrize("workers", [0, 2])
def test_an_error_of_a_worker_is_raised_unchanged(workers):
    with pytest.raises(InputError, match=r"^shard 3 is broken$"):
        list(Workers(fail, workers=workers))


@pytest.mark.parametrize(("free", "shared"), [(10**9, True), (0, False)])
def test_tensors_are_copied_if_shared_memory_lacks_room(monkeypatch, free, shared):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))

    items = list(Workers(count, workers=2))

    assert [item.data.tolist() for item in items] == [[number, number] for number in range(7)]
    assert [item.data.is_shared() for item in items] == [shared] * 7


def test_all_workers_end_with_the_error_of_one():
    gc.collect()  # what earlier tests left
    with pytest.raises(InputError):
        list(Workers(fail, workers=2))

    assert active_children() == []


def test_the_random_state_of_the_process_is_unchanged():
    before = torch.get_rng_state()

    list(Workers(count, workers=1))

    assert torch.equal(torch.get_rng_state(), before)


def test_workers_start_by_fork_whatever_pythons_default_is(tmp_path):
    """Python 3.14 would pickle what they hold, and run the script of the job once more."""
    script = tmp_path / "job.py"
    script.write_text(
        "import multiprocessing\n"
        "from clipaudit.models.workers import Workers\n"
        "multiprocessing.set_start_method('forkserver')\n"
        "print(list(Workers(lambda worker, workers: iter([worker]), workers=2)))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)

    assert (done.stdout, done.returncode) == ("[0, 1]\n", 0)
