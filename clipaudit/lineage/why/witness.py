"""Find a cell's witness: input rows that alone, recomputed, give the same value.

A row's own values (`testset = sketch`) and its settings (its manifest, that manifest's corpora)
suggest which files and rows of each view concern it. A suggestion is kept only if the SQL, run on
these alone, still gives the asked cells exactly. So a witness is verified, but not necessarily the
smallest.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from clipaudit.errors import ClipauditError
from clipaudit.lineage.why.bindings import bindings
from clipaudit.lineage.why.cells import Cells
from clipaudit.lineage.why.counted import MOST_COUNTED, extremes, of_one_value
from clipaudit.lineage.why.parts import PassingFiles, Restriction, Views
from clipaudit.lineage.why.recomputing import given_tables, gives_again
from clipaudit.lineage.why.restrictions import label_restrictions, row_restrictions
from clipaudit.plaindata import Json
from clipaudit.reports.tables import report_table
from clipaudit.store.actions import LabelledFile

CLOCK_PER_WORK = 4  # wall-clock seconds allowed per second of work: disks and other users
FILES_PER_SECOND = 3000  # files that one attempt may open per second of the limit
MANY_FILES = 200  # with more in a view, first test whether the cells need it at all
BYTES_PER_SECOND = 256 << 20  # bytes that one attempt may read per second of the limit
MOST_FILTERED = 2_000_000  # rows of one view held in memory for filtering


@dataclass
class Witness:
    """The part of each view that gives the asked cells, its restrictions, and whether verified.

    `verified` says whether the SQL, run on these parts alone, gave the cells: None if it was not
    run, False if it gave others even from all rows. `not_tried` are restrictions not tried for lack
    of time.
    """

    settings: Json
    views: Views
    cells: Cells
    naming: Sequence[str]
    seconds: float
    verified: bool | None = None
    not_tried: list[str] = field(default_factory=list)
    kept: list[Restriction] = field(default_factory=list)
    emptied: list[str] = field(default_factory=list)
    refuted: list[Mapping[str, PassingFiles]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Start the clocks."""
        # process time, so that a busy machine finds what an idle one does; and wall-clock time
        self._work_until = time.process_time() + self.seconds
        self._wait_until = time.monotonic() + self.seconds * CLOCK_PER_WORK
        self._given = given_tables(self.settings)

    def search(self) -> None:
        """Search for the smallest verified part of the views, for about `seconds`.

        First, all label restrictions of a level are tried together, the strictest level first; then
        those of stricter levels, and those of rows, one by one. A file or row stays if it concerns
        one of the chosen rows.
        """
        asked, settings = {self.cells.column}, self.settings
        rows = [{name: row[name] for name in row if name not in asked} for row in self.cells.rows]
        found = [bindings(row, settings["relations"], settings["parameters"]) for row in rows]
        levels = label_restrictions(self.views, found)
        # all of the first level that holds; first omit the views with many files
        attempts = ((level, without) for without in (True, False) for level in levels)
        any(self._keep(level, without_large=without) for level, without in attempts)
        self._empty_each()
        for level in levels:
            self._keep_each(level)
        self._keep_each(self._small(row_restrictions(self.views, found, self.parts())))
        if self.verified is None:
            self._holds([], [])  # of everything: whether the result is still the same
        self._narrow_to_counted()
        self._leave_needless()

    def words(self, view: str) -> list[str]:
        """Return the restrictions of a view as text."""
        return [each.words for each in self.kept if each.view == view]

    def parts(self) -> dict[str, PassingFiles]:
        """Return the parts of all views under the restrictions so far."""
        return self._parts(self.kept, self.emptied)

    def _keep(self, restrictions: Sequence[Restriction], *, without_large: bool = False) -> bool:
        """Keep these restrictions if the asked cells stay the same under all of them together.

        `without_large` omits the views with many remaining files; return False if there are none.
        """
        kept = [*self.kept, *(each for each in restrictions if each not in self.kept)]
        large = self._large(kept) if without_large else []
        emptied = [*self.emptied, *large]
        if (kept, emptied) == (self.kept, self.emptied) or (without_large and not large):
            return False
        if self._holds(kept, emptied):
            self.kept, self.emptied = kept, emptied
            return True
        return False

    def _large(self, kept: Sequence[Restriction]) -> list[str]:
        parts = self._parts(kept, self.emptied).items() if self._may_empty() else []
        return [view for view, part in parts if len(part.files) > MANY_FILES]

    def _keep_each(self, restrictions: Sequence[Restriction]) -> None:
        """Keep, one by one, the restrictions under which the asked cells stay the same."""
        for each in restrictions:
            if self._changes(each):
                self._keep([each])

    def _empty_each(self) -> None:
        """Omit each view without which the asked cells stay the same.

        This is not done for zero, false and nothing: they also result from no rows at all.
        """
        if not self._may_empty():
            return
        for view, part in self.parts().items():
            if part.files and self._holds(self.kept, [*self.emptied, view]):
                self.emptied.append(view)

    def _small(self, restrictions: Sequence[Restriction]) -> list[Restriction]:
        """Return the restrictions whose view is small enough to hold in memory."""
        parts = self.parts()
        sizes = {
            view: self.views.count(parts[view].files) for view in {r.view for r in restrictions}
        }
        return [each for each in restrictions if sizes[each.view] <= MOST_FILTERED]

    def _leave_needless(self) -> None:
        """Drop restrictions that the other kept ones imply; prefer short ones."""
        needed = [each for each in self.kept if each.view not in self.emptied]
        for each in sorted(needed, key=lambda each: -len(each.columns)):
            fewer = [other for other in needed if other is not each]
            if each.of_labels and self._parts(fewer, self.emptied) == self.parts():
                needed = fewer
        self.kept = needed

    def _narrow_to_counted(self) -> None:
        """If a single count is asked for, omit rows that it does not count.

        Untried restrictions are not noted: the result is correct without them.
        """
        count, tried = self._count(), len(self.not_tried)
        if count is None or not self.verified:
            return
        for view, part in self.parts().items():
            if part.files and count < self.views.count(part.files) <= MOST_FILTERED:
                self._narrow(view, count)
        del self.not_tried[tried:]

    def _narrow(self, view: str, count: int) -> None:
        def rows() -> pa.Table:
            return self.views.rows(view, self.parts()[view])

        for values in of_one_value(view, rows()):
            any(self._keep([each]) for each in values)
        any(self._keep([each]) for each in extremes(view, rows(), count))

    def _count(self) -> int | None:
        """Return the count that is asked for; None if something else is."""
        if self.cells.column is None or len(self.cells.rows) != 1:
            return None
        value = self.cells.rows[0][self.cells.column]
        is_count = isinstance(value, int) and not isinstance(value, bool)
        return value if is_count and 0 < value <= MOST_COUNTED else None

    def _may_empty(self) -> bool:
        column = self.cells.column
        return column is not None and all(_is_something(row[column]) for row in self.cells.rows)

    def _parts(
        self, kept: Sequence[Restriction], emptied: Sequence[str]
    ) -> dict[str, PassingFiles]:
        chosen = len(self.cells.rows)
        return {
            view: PassingFiles([], []) if view in emptied else self.views.part(view, kept, chosen)
            for view in self.views.names()
        }

    def _changes(self, restriction: Restriction) -> bool:
        """Return whether a restriction would remove anything that is still present."""
        view = restriction.view
        before = self.parts()[view]
        after = self._parts([*self.kept, restriction], self.emptied)[view]
        if restriction.of_labels or not before.files:
            return after.passed != before.passed
        return len(self.views.rows(view, after)) < len(self.views.rows(view, before))

    def _holds(self, kept: Sequence[Restriction], emptied: Sequence[str]) -> bool:
        """Return whether the SQL, run on these parts alone, gives the asked cells."""
        new = [each for each in kept if each not in self.kept]
        words = [f"{each.view}, {each.words}" for each in new] or [
            f"{view} omitted" for view in emptied if view not in self.emptied
        ]
        parts, restricted = self._parts(kept, emptied), bool(kept or emptied)
        if restricted and parts in self.refuted:
            return False
        # all rows are run even late: without them nothing is verified
        if (restricted and self._is_late()) or self._is_dear(parts):
            self.not_tried += words or ["all rows"]
            return False
        try:
            holds = gives_again(self._recomputed(parts), self.cells, self.naming)
        except ClipauditError:
            if not restricted:
                raise
            holds = False  # the SQL may need what was omitted
        if holds or not restricted:
            self.verified = holds
        if not holds:
            self.refuted.append(parts)
        return holds

    def _recomputed(self, parts: Mapping[str, PassingFiles]) -> pa.Table:
        """Return the SQL's result for these parts; raise StoreError or StepError if it fails."""
        sources = {view: self.views.source(view, part) for view, part in parts.items()}
        nothing: dict[str, pa.Table | list[LabelledFile]] = {view: [] for view in self.views.inputs}
        views = {**nothing, **sources, **self._given}
        return report_table(self.settings["sql"], views, self.settings["parameters"])

    def _is_late(self) -> bool:
        return time.process_time() > self._work_until or time.monotonic() > self._wait_until

    def _is_dear(self, parts: Mapping[str, PassingFiles]) -> bool:
        return (
            sum(len(part.files) for part in parts.values()) > self.seconds * FILES_PER_SECOND
            or sum(self.views.bytes(part) for part in parts.values())
            > self.seconds * BYTES_PER_SECOND
        )


def _is_something(value: object) -> bool:
    """Return whether a value is not zero, false, null or NaN."""
    return bool(value) and value == value
