"""Searching near hashes and verifying candidates needs memory only for one block."""

import textwrap

from peakmemory import peak_memory_mb

SEARCH = textwrap.dedent(
    """
    import sys

    import numpy as np

    from clipaudit.copies.search import hash_pairs

    rows = int(sys.argv[1])
    dice = np.random.default_rng(0)
    first, second = (dice.integers(0, 256, (n, 32), dtype=np.uint8) for n in (2_000, rows))
    found = sum(len(pairs.first) for pairs in hash_pairs(first, second, distance=40))
    """
)


VERIFY = textwrap.dedent(
    """
    import io
    import sys

    import numpy as np
    import pyarrow as pa
    from PIL import Image

    from clipaudit.copies.candidates import CANDIDATES
    from clipaudit.copies.verified import verify_candidates

    def files(wanted, brighter):
        found = {}
        for number in wanted:
            dice = np.random.default_rng(number)
            noise = dice.integers(0, 250, (96, 96, 3)) + brighter
            out = io.BytesIO()
            Image.fromarray(noise.astype(np.uint8)).save(out, "PNG", compress_level=0)
            found[number] = out.getvalue()
        return found

    rows = [
        {"other_shard": 0, "other_row": row, "shard": 0, "row": row, "same_bytes": False,
         "same_pixels": False, "distance": 0}
        for row in range(int(sys.argv[1]))
    ]
    candidates = pa.Table.from_pylist(rows, schema=CANDIDATES)
    for table in verify_candidates(candidates, lambda of: files(of, 0), lambda of: files(of, 3)):
        assert set(table["kind"].to_pylist()) == {"re-encoded or resized"}
    """
)


def test_four_times_the_hashes_add_only_their_own_bytes():
    few, many = 500_000, 2_000_000

    grown = peak_memory_mb(SEARCH, many) - peak_memory_mb(SEARCH, few)

    assert grown < 2 * (many - few) * 32 / 2**20


def test_more_candidates_take_the_memory_of_one_block():
    block, many = 500, 1_250  # images of 27 KB, decoded as much again

    grown = peak_memory_mb(VERIFY, many) - peak_memory_mb(VERIFY, block)

    assert grown < 20
