import subprocess
import sys

ENDING = """
import atexit, multiprocessing.util, sys  # its own way to end processes comes too late then
from clipaudit.steps.workflow import ending_at_once


class Held:
    def __del__(self):
        print("taken apart")


held = Held()
with ending_at_once():
    atexit.register(print, "called at exit")
    print("worked", end=" and ")
    {last}
"""


def ran(last, within=None):
    command = [sys.executable, "-c", ENDING.format(last=last)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=within)


def test_what_ends_well_ends_at_once_after_what_was_registered():
    process = ran("pass")

    assert (process.returncode, process.stdout) == (0, "worked and called at exit\n")


def test_what_ends_otherwise_keeps_its_status():
    process = ran("sys.exit(3)")

    assert process.returncode == 3
    assert process.stdout == "worked and called at exit\ntaken apart\n"


def test_an_error_is_no_good_end():
    process = ran("raise KeyError(3)")

    assert process.returncode == 1
    assert "KeyError: 3" in process.stderr


def test_worker_processes_end_with_it():
    forked = "Worker = multiprocessing.get_context('fork').Process"
    start = "Worker(target=time.sleep, args=(60,), daemon=True).start()"

    process = ran(f"import multiprocessing, time; {forked}; {start}", within=30)

    assert process.returncode == 0  # and in time: who lives on would hold the output open
