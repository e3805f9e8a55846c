"""Reuses the rows of test sets that an earlier search of the same part has computed.

In SIMILARITIES and NEIGHBORS the rows of a test set do not depend on other test sets. So joining
the rows of earlier searches and of a new one gives the tables of one search for all sets.
"""

import hashlib
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clipaudit.corpora.vectors import as_table
from clipaudit.neighbors.backends import BLOCK_ROWS
from clipaudit.plaindata import Json
from clipaudit.similarity.nearest import NEIGHBORS, SIMILARITIES, PartSearch
from clipaudit.store.parquet import in_groups

logger = logging.getLogger(__name__)


class EarlierSearch(NamedTuple):
    """The tables of an earlier search of a part, and the test sets whose rows are used."""

    names: set[str]
    similarities: Iterable[pa.RecordBatch]
    neighbors: pa.Table

    def blocks(self) -> Iterator[pa.Table]:
        """Yield the SIMILARITIES of the sets, in order."""
        for batch in self.similarities:
            yield _of_sets(as_table(batch), self.names)


def deciding_sets(
    tests: Mapping[str, Sequence[str]], gaps: pa.Table | None, **common: object
) -> dict[str, Json]:
    """Return, by name, everything that decides the result of a part's search for a test set.

    `tests` are the digests of their EMBEDDINGS, `common` decides the rows of all. In a NEIGHBORS
    table of `gaps`, as in `query_sets`, only a set's own rows at rank 0 count.
    """
    return {
        name: {"test_set": name, "tests": list(digests), "gaps": _gap_digest(gaps, name), **common}
        for name, digests in tests.items()
    }


def _gap_digest(gaps: pa.Table | None, name: str) -> str | None:
    if gaps is None:
        return None
    nearest = _of_sets(gaps.filter(pc.equal(gaps["rank"], 0)), [name])
    digest = hashlib.sha256()
    for column in ("test_shard", "test_row", "similarity"):
        digest.update(nearest[column].to_numpy().tobytes())
    return digest.hexdigest()


class JoinedSearch:
    """SIMILARITIES and NEIGHBORS of a part for test sets, some of them from earlier searches."""

    def __init__(
        self,
        names: Sequence[str],
        earlier: Sequence[EarlierSearch],
        new: PartSearch | None,
        *,
        block_rows: int = BLOCK_ROWS,
    ) -> None:
        """Join the test sets `names`, each with samples, in this order.

        `new` searches for those that `earlier` lacks, and is None if there are none. `block_rows`
        train samples are held at once; this does not affect the tables.
        """
        self._names = tuple(names)
        self._earlier = earlier
        self._new = new
        self._block_rows = block_rows
        known = set[str]().union(*(each.names for each in earlier))
        searched = [name for name in names if name not in known]
        self._searched = len(searched)
        logger.info(
            "%d of %d test sets are taken from earlier searches of this part; searched now: %s",
            len(known), len(names), ", ".join(searched) or "none",
        )  # fmt: skip

    def similarities(self, blocks: Iterable[pa.Table | pa.RecordBatch]) -> Iterator[pa.Table]:
        """Yield the SIMILARITIES of EMBEDDINGS, given as for `PartSearch.similarities`.

        They must be those that the earlier searches read; if all sets are known, none are read.
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
        """Return the NEIGHBORS, once `similarities` is exhausted."""
        tables = [_of_sets(each.neighbors, each.names) for each in self._earlier]
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
