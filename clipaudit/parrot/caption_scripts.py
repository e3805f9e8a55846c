"""Find the scripts of a corpus's captions."""

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import pyarrow as pa

from clipaudit.parrot.unicode_scripts import NO_SCRIPTS, script_of

CAPTIONS = 1000  # captions read per shard
LEAST_SHARE = 0.01  # of the letters: English captions have some Chinese ones too

# One row per script, by its share of the letters, the largest first, then by name.
CAPTION_SCRIPTS = pa.schema(
    [
        pa.field("script", pa.string(), nullable=False),  # as Unicode names it: Latin
        pa.field("letters", pa.int64(), nullable=False),
        pa.field("share", pa.float64(), nullable=False),  # of the letters of all scripts
    ]
)


def caption_scripts(samples: Iterable[pa.Table], *, captions: int = CAPTIONS) -> pa.Table:
    """Return CAPTION_SCRIPTS of the first captions of each shard, up to `captions` of each.

    Only shard and caption of SAMPLES are read, ascending by (shard, row), with each shard in one
    table. If no caption has a letter, there are no rows.
    """
    letters: Counter[str] = Counter()
    for table in samples:
        shards = table["shard"].to_numpy()
        starts = np.flatnonzero(np.diff(shards, prepend=-1))
        for start, end in pairwise([*starts, len(shards)]):
            texts = table["caption"].slice(start, end - start).drop_null().slice(0, captions)
            letters.update(filter(str.isalpha, "".join(texts.to_pylist())))
    return _table(letters)


def counted_scripts(scripts: pa.Table) -> tuple[str, ...]:
    """Return the scripts whose letters count, from CAPTION_SCRIPTS; () means all."""
    shares = zip(scripts["script"].to_pylist(), scripts["share"].to_pylist(), strict=True)
    return tuple(script for script, share in shares if share >= LEAST_SHARE)


def _table(letters: Counter[str]) -> pa.Table:
    found: Counter[str] = Counter()
    for letter, count in letters.items():
        script = script_of(letter)
        if script not in NO_SCRIPTS:
            found[script] += count
    ordered = sorted(found.items(), key=lambda each: (-each[1], each[0]))
    columns = [
        [name for name, _ in ordered],
        [count for _, count in ordered],
        [count / found.total() for _, count in ordered],
    ]
    return pa.table([pa.array(each) for each in columns], schema=CAPTION_SCRIPTS)
