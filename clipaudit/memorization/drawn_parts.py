"""Find overlaps of one part's samples with all drawn samples, reading one part at a time."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clipaudit.ahead import one_ahead
from clipaudit.corpora.addresses import sample_addresses
from clipaudit.corpora.splits import select_rows
from clipaudit.memorization.fixed import RECORD_SETS
from clipaudit.memorization.membership import add_sets
from clipaudit.memorization.overlaps import OVERLAPS, near_duplicates, shared_keys
from clipaudit.neighbors.interface import Queries, Search


@dataclass(frozen=True)
class DrawnPart:
    """One part of a source; each function reads its files again, so nothing is held in memory."""

    source: str
    part: str
    members: Callable[[], pa.Table]  # MEMBERS
    samples: Callable[[], pa.Table]  # SAMPLES of the members at least
    embeddings: Callable[[], Iterable[pa.RecordBatch]] | None = None  # of the members at least


def overlaps_of_part(
    own: DrawnPart,
    parts: Sequence[DrawnPart],
    *,
    distance: float,
    start: Callable[[Queries], Search],
) -> pa.Table:
    """Return the OVERLAPS of the members of `own` with the records of all `parts`, including `own`.

    Samples are matched by uid and by caption; if the parts have embeddings, also by `distance`
    between images, for which `start` starts searches as for `near_duplicates`.
    """
    others = ((part.source, _keys(part)) for part in parts)
    found = shared_keys(_keys(own), others, corpus=own.source)
    if own.embeddings is None or not len(own.members()):
        return found
    members = own.members()
    blocks = [pa.Table.from_batches([batch]) for batch in own.embeddings()]
    pictures = add_sets(pa.concat_tables(blocks), members)
    sources = dict.fromkeys(part.source for part in parts)
    sets = [
        (source, name, one_ahead(_of_set(parts, source, name)))
        for source in sources
        for name in RECORD_SETS
    ]
    near = near_duplicates(pictures, sets, corpus=own.source, distance=distance, start=start)
    both = pa.concat_tables([found, near])  # those by similarity come last: the order of HOWS
    return both.take(np.argsort(sample_addresses(both), kind="stable")).cast(OVERLAPS)


def _keys(part: DrawnPart) -> pa.Table:
    """Return shard, row, set, uid and caption of a part's members."""
    return add_sets(part.samples(), part.members())


def _of_set(parts: Sequence[DrawnPart], source: str, name: str) -> Iterator[pa.Table]:
    """Yield the embeddings of a source's members of one set."""
    for part in parts:
        if part.source != source or part.embeddings is None:
            continue
        members = part.members()
        wanted = members.filter(pc.equal(members["set"], name))
        if len(wanted):
            yield from (
                select_rows(pa.Table.from_batches([batch]), wanted) for batch in part.embeddings()
            )
