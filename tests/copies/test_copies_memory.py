"""Searching candidates and verifying them needs memory only for one block."""

import textwrap

import pytest
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


BLANK = textwrap.dedent(
    """
    import sys

    import pyarrow as pa

    from clipaudit.copies.candidates import Described, find_candidates
    from clipaudit.copies.hashing import HASHES, IMAGES

    def blank(side, count):
        names = [f"{side} {number}" for number in range(count)]
        columns = {"shard": [0] * count, "row": list(range(count)), "image_sha256": names}
        columns |= {"pixels_sha256": names, "quality": [0] * count}
        columns |= {"thumbnail": [bytes([127] * 192)] * count}
        return Described(pa.table(columns, schema=IMAGES), HASHES.empty_table())

    find_candidates(blank("test", int(sys.argv[1])), blank("train", 1_000), distance=31)
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


def test_pairs_of_blank_images_beyond_a_million_add_no_memory():
    grown = peak_memory_mb(BLANK, 4_000) - peak_memory_mb(BLANK, 1_000)

    assert grown < 150


@pytest.mark.long
def test_more_candidates_take_the_memory_of_one_block():
    block, many = 500, 1_250  # images of 27 KB, decoded as much again

    grown = peak_memory_mb(VERIFY, many) - peak_memory_mb(VERIFY, block)

    assert grown < 20
