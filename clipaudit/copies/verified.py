"""Verifies candidate pairs by their pixels: which are copies, and of what kind."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice

import numpy as np
import pyarrow as pa

from clipaudit.copies.candidates import CANDIDATES
from clipaudit.copies.compared import Compared
from clipaudit.copies.kinds import IDENTICAL_BYTES, IDENTICAL_PIXELS, REENCODED
from clipaudit.copies.verification import Verdict, verify_compared
from clipaudit.copies.views import DIRECT, reduced
from clipaudit.corpora.addresses import sample_addresses
from clipaudit.corpora.images import open_picture
from clipaudit.models.spread import spread

BLOCK = 500  # candidates whose image files are held at once: memory, never results
HELD = 200  # images that are held decoded, some 1.5 MB each
WORTH_A_PROCESS = 300  # candidates: some five seconds
COMPARED_SIDE = 512  # pixels of the longer side that images are compared at

PAIRS = pa.schema(
    [
        *CANDIDATES,
        pa.field("kind", pa.string(), nullable=False),  # see clipaudit.copies.kinds
        pa.field("edits", pa.string(), nullable=False),  # names, with commas between them
        # what decided the kind; null if digests did
        pa.field("method", pa.string()),
        pa.field("agreement", pa.float64()),  # share of the content that agrees
        pa.field("covered_other", pa.float64()),  # share of the area that the other image shows
        pa.field("covered", pa.float64()),
        pa.field("correlation", pa.float64()),
        pa.field("inliers", pa.int32()),
    ]
)

# The image files of some samples, by address.
Read = Callable[[Iterable[int]], Mapping[int, bytes]]
Columns = tuple[object, ...]  # those of PAIRS that CANDIDATES lacks


def verify_candidates(
    candidates: pa.Table, others: Read, own: Read, *, workers: int = 1
) -> Iterator[pa.Table]:
    """Yield CANDIDATES as PAIRS, in their order, BLOCK rows at a time.

    Pairs of equal bytes or pixels are decided without opening them. `others` reads the images that
    are searched for, `own` the training images. Up to `workers` processes compare.
    """

    def verdicts(rows: Sequence[int]) -> Iterator[Columns]:
        some, opened = candidates.take(pa.array(rows, pa.int64())), lru_cache(HELD)(_opened)
        for start in range(0, len(some), BLOCK):
            yield from _verdicts(some.slice(start, BLOCK), others, own, opened)

    found = spread(verdicts, len(candidates), workers=workers, each=WORTH_A_PROCESS)
    for start in range(0, len(candidates), BLOCK):
        block = candidates.slice(start, BLOCK)
        yield _pairs(block, list(islice(found, len(block))))


def _verdicts(
    block: pa.Table, others: Read, own: Read, opened: Callable[[bytes], Compared]
) -> Iterator[Columns]:
    rows = block.to_pylist()
    other_addresses = sample_addresses(block, "other_shard", "other_row").tolist()
    own_addresses = sample_addresses(block).tolist()
    open_ones = [not (row["same_bytes"] or row["same_pixels"]) for row in rows]
    left, right = (
        read({address for address, is_open in zip(each, open_ones, strict=True) if is_open})
        for read, each in ((others, other_addresses), (own, own_addresses))
    )
    for row, other, mine in zip(rows, other_addresses, own_addresses, strict=True):
        if row["same_bytes"] or row["same_pixels"]:
            yield _by_digests(same_bytes=row["same_bytes"])
        else:
            directly = row["encoder"] is None and row["view"] in DIRECT
            pair = opened(left[other]), opened(right[mine])
            yield _by_pixels(verify_compared(*pair, directly=directly))


def _pairs(block: pa.Table, verdicts: Sequence[Columns]) -> pa.Table:
    columns = [pa.array(column) for column in zip(*verdicts, strict=True)]
    table = pa.table(dict(zip(PAIRS.names[len(CANDIDATES) :], columns, strict=True)))
    arrays = [block[name] for name in CANDIDATES.names]
    arrays += [table[field.name].cast(field.type) for field in list(PAIRS)[len(CANDIDATES) :]]
    return pa.Table.from_arrays(arrays, schema=PAIRS)


def _by_digests(*, same_bytes: bool) -> Columns:
    return (IDENTICAL_BYTES if same_bytes else IDENTICAL_PIXELS, "", *[None] * 6)


def _by_pixels(verdict: Verdict) -> Columns:
    """Return the columns of a verdict; images that are equal only when reduced were resized."""
    return (
        REENCODED if verdict.kind == IDENTICAL_PIXELS else verdict.kind,
        ", ".join(verdict.edits),
        verdict.method,
        verdict.agreement,
        verdict.covered_first,
        verdict.covered_second,
        verdict.correlation,
        verdict.inliers,
    )


def _opened(image: bytes) -> Compared:
    """Return an opened image; its file is the key, as both sides may hold it (repeats)."""
    shown = np.asarray(open_picture(image, as_shown=True).rgb)
    return Compared(reduced(shown, COMPARED_SIDE))
