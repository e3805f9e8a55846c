"""Test sets that an earlier search of the same part knows: their rows are read, not computed.

In SIMILARITIES and NEIGHBORS the rows of a test set do not depend on other test sets. So the rows
of earlier searches and of a new one, joined, are the tables that one search for all sets gives.
"""

import hashlib
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from clipaudit.corpora.vectors import as_table
from clipaudit.neighbors.backends import BLOCK_ROWS
from clipaudit.similarity.nearest import NEIGHBORS, SIMILARITIES, PartSearch
from clipaudit.store.parquet import in_groups, read_batches

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class EarlierSearch:
    """The tables of an earlier search of a part, and the test sets whose rows count here."""

    names: frozenset[str]
    similarities: Path
    neighbors: Path

    def blocks(self) -> Iterator[pa.Table]:
        """Yield the SIMILARITIES of the sets, in order, some thousands of rows at a time."""
        for batch in read_batches(self.similarities):
            yield _of_sets(as_table(batch), self.names)

    def neighbor_table(self) -> pa.Table:
        """Return the NEIGHBORS of the sets."""
        return _of_sets(pq.ParquetFile(self.neighbors).read(), self.names)


def earlier_searches(known: Mapping[str, Mapping[str, Path]]) -> list[EarlierSearch]:
    """Return the searches that know test sets, given each set's files by the names of outputs."""
    sets: dict[tuple[Path, Path], list[str]] = {}
    for name, files in known.items():
        sets.setdefault((files["similarities"], files["neighbors"]), []).append(name)
    return [EarlierSearch(frozenset(names), *files) for files, names in sets.items()]


def gap_digest(gaps: pa.Table | None, name: str) -> str | None:
    """Return the SHA-256, in hex, of a test set's gaps in a NEIGHBORS table; None where none is.

    As in `query_sets`, rank 0 alone counts, and other test sets do not.
    """
    if gaps is None:
        return None
    nearest = _of_sets(gaps.filter(pc.equal(gaps["rank"], 0)), [name])
    digest = hashlib.sha256()
    for column in ("test_shard", "test_row", "similarity"):
        digest.update(nearest[column].to_numpy().tobytes())
    return digest.hexdigest()


class JoinedSearch:
    """SIMILARITIES and NEIGHBORS of a part for test sets of which earlier searches know some."""

    def __init__(
        self,
        names: Sequence[str],
        earlier: Sequence[EarlierSearch],
        new: PartSearch | None,
        *,
        block_rows: int = BLOCK_ROWS,
    ) -> None:
        """Join the test sets `names`, each with samples, in this order.

        `new` searches for those that `earlier` does not know, and is None if there are none.
        `block_rows` train samples are held at once, which never shows in the tables.
        """
        self._names = tuple(names)
        self._earlier = earlier
        self._new = new
        self._block_rows = block_rows
        known = frozenset[str]().union(*(each.names for each in earlier))
        searched = [name for name in names if name not in known]
        self._searched = len(searched)
        logger.info(
            "%d of %d test sets are known from earlier searches of this part; searched now: %s",
            len(known), len(names), ", ".join(searched) or "none",
        )  # fmt: skip

    def similarities(self, blocks: Iterable[pa.Table | pa.RecordBatch]) -> Iterator[pa.Table]:
        """Yield the SIMILARITIES of EMBEDDINGS that come as for `PartSearch.similarities`.

        They must be those that the earlier searches read; where all sets are known none is read.
        """
        new = self._new.similarities(blocks) if self._new else iter(())
        if not self._earlier:
            yield from new
            return
        sources = [(each.blocks(), len(each.names)) for each in self._earlier]
        sources += [(new, self._searched)] if self._new else []
        aligned = [in_groups(tables, self._block_rows * sets) for tables, sets in sources]
        for tables in zip(*aligned, strict=True):
            yield self._interleaved(tables, [sets for _, sets in sources])

    def neighbors(self) -> pa.Table:
        """Return the NEIGHBORS, after all of `similarities` was taken."""
        tables = [each.neighbor_table() for each in self._earlier]
        tables += [self._new.neighbors()] if self._new else []
        in_order = [_of_sets(table, [name]) for name in self._names for table in tables]
        return pa.concat_tables([NEIGHBORS.empty_table(), *in_order])

    def _interleaved(self, tables: Sequence[pa.Table], counts: Sequence[int]) -> pa.Table:
        """Return SIMILARITIES of the same train samples, each of `counts` test sets, as one."""
        names = pa.array(self._names, pa.string())
        columns = [pc.index_in(_names_of(table), names).to_numpy() for table in tables]
        places = [np.arange(len(table)) // sets for table, sets in zip(tables, counts, strict=True)]
        testset, sample = np.concatenate(columns), np.concatenate(places)
        order = np.lexsort((testset, sample))
        plain = [table.drop_columns("testset").replace_schema_metadata(None) for table in tables]
        joined = pa.concat_tables(plain).combine_chunks().take(pa.array(order))
        named = pa.DictionaryArray.from_arrays(pa.array(testset[order]), names)
        return joined.append_column("testset", named).select(SIMILARITIES.names)


def _of_sets(table: pa.Table, names: Iterable[str]) -> pa.Table:
    """Return the rows of some test sets."""
    wanted = pa.array(sorted(names), pa.string())
    return table.filter(pc.is_in(_names_of(table), value_set=wanted))


def _names_of(table: pa.Table) -> pa.ChunkedArray:
    return table["testset"].cast(pa.string())
