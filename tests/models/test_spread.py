import os
import signal
import subprocess
import sys

import pytest

from clipaudit.errors import InputError, StepError
from clipaudit.models.spread import BATCH, spread

COUNT = 5 * BATCH + 3


def doubled(numbers):
    return ((2 * number, os.getpid()) for number in numbers)


@pytest.mark.parametrize("workers", [0, 1, 2, 3, 9])
def test_items_keep_their_order_with_any_number_of_processes(workers):
    items = list(spread(doubled, COUNT, workers=workers, each=1))

    assert [value for value, _ in items] == [2 * number for number in range(COUNT)]
    assert len({process for _, process in items}) == min(max(workers, 1), 6)


def test_no_process_is_started_for_too_few_items():
    (process,) = {process for _, process in spread(doubled, COUNT, workers=4, each=COUNT)}

    assert process == os.getpid()


def test_no_input_gives_no_items():
    assert list(spread(doubled, 0, workers=4, each=1)) == []


def test_an_error_of_a_process_is_raised_unchanged():
    def fail(_):
        yield 1
        raise InputError("shard 3 is broken")

    with pytest.raises(InputError, match=r"^shard 3 is broken$"):
        list(spread(fail, COUNT, workers=2, each=1))


def test_a_killed_process_gives_an_error_that_says_so():
    def killed(_):
        yield 1
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(StepError, match=r"ended with -9, expected 0"):
        list(spread(killed, COUNT, workers=2, each=1))


def test_items_no_longer_requested_are_not_computed():
    items = spread(doubled, 100 * COUNT, workers=2, each=1)

    _, process = next(items)
    items.close()

    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_processes_start_without_torch():
    line = "from clipaudit.models.spread import spread; list(spread(list, 9, workers=2, each=1))"
    code = f"{line}; import sys; sys.exit('torch' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
