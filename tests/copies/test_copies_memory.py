"""The memory of a search for near hashes: by its blocks, beside the hashes themselves."""

import subprocess
import sys
import textwrap

JOB = textwrap.dedent(
    """
    import sys

    import numpy as np

    from clipaudit.copies.search import hash_pairs

    rows = int(sys.argv[1])
    dice = np.random.default_rng(0)
    first, second = (dice.integers(0, 256, (n, 32), dtype=np.uint8) for n in (2_000, rows))
    found = sum(len(pairs.first) for pairs in hash_pairs(first, second, distance=40))
    (peak,) = (line.split()[1] for line in open("/proc/self/status") if line[:6] == "VmHWM:")
    print(int(peak) // 1024)
    """
)


def peak_memory_mb(rows):
    done = subprocess.run(
        [sys.executable, "-c", JOB, str(rows)], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def test_four_times_the_hashes_take_no_more_than_their_own_bytes():
    few, many = 500_000, 2_000_000

    grown = peak_memory_mb(many) - peak_memory_mb(few)

    assert grown < 2 * (many - few) * 32 / 2**20
