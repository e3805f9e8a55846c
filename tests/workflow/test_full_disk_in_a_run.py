"""A run whose disk is full, and the same command again after space is freed."""

import sys

from smalldisks import needs_mounts, on_a_small_disk

TWICE = """
import subprocess, sys

room, *command = sys.argv[1:]
first = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
subprocess.run(["mount", "-o", "remount,size=100m", room], check=True)
second = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
verify = [sys.executable, "-c", "from clipaudit.cli import main; main()", "verify"]
subprocess.run([*verify, "--results", "results_micro", "--store", "store_micro"])
print(first.returncode, second.returncode)
print(first.stdout if second.returncode == 0 else second.stdout)
"""


@needs_mounts
def test_a_full_store_stops_a_run_that_continues_after_space_is_freed(fresh):
    command = fresh.command(target="results_micro/samples/large/00000.json")
    twice = [sys.executable, "-c", TWICE, fresh.store, *command]

    done = on_a_small_disk(fresh.store, 24_576, *twice, cwd=fresh.folder, env=fresh.environment())

    assert "all as they were written\n1 0\n" in done.stdout, done.stdout + done.stderr
    assert "No space left on device" in done.stdout
    assert "Free some space" in done.stdout or "the disk some space" in done.stdout
    assert "OSError" not in done.stdout
