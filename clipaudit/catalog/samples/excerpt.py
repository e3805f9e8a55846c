"""A catalog of few samples, asked about all of them: each view is read once."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache

import duckdb

from clipaudit.catalog.samples.catalog import Address, SampleCatalog
from clipaudit.plaindata import Row

_ASKED = "corpus that is asked for"  # a column beside those of the view


class Excerpt(SampleCatalog):
    """Answers as `SampleCatalog` does; memory grows with the rows of all views."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Read nothing yet."""
        super().__init__(connection)
        self._once = cache(self._read)

    def about(self, address: Address, view: str, *order: str) -> list[Row]:
        """Return the rows of a view about one sample, in the order of those columns it has."""
        has_samples = self.has(view, "shard", "row")
        return self._once(view, order).get(address, []) if has_samples else []

    def _read(self, view: str, order: Sequence[str]) -> Mapping[Address, list[Row]]:
        found: dict[Address, list[Row]] = defaultdict(list)
        corpus = f'{self.corpus(view)} as "{_ASKED}"'
        ordered = self.ordered(view, order)
        for asked in self.ask(f"select {corpus}, {self.shown(view)} from {view}{ordered}"):
            row = {column: value for column, value in asked.items() if column != _ASKED}
            found[Address(asked[_ASKED], row["shard"], row["row"])].append(row)
        return found
