"""Query a catalog about one sample: find it by a name, and read the rows of any view about it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from clipaudit.catalog.sqltext import identifier
from clipaudit.catalog.tables import view_columns
from clipaudit.catalog.view_parts import corpus_of
from clipaudit.errors import InputError
from clipaudit.plaindata import Row
from clipaudit.suggestions import did_you_mean

if TYPE_CHECKING:
    import duckdb

LISTED = 12  # samples listed in a message or a list of duplicates
_PREFIX_DIGITS = 6  # digits of a uid; shorter prefixes would match by chance
_UID_DIGITS = 32
_PLACE = r"(\d{1,9}):(\d{1,9})"  # SHARD:ROW


@dataclass(frozen=True)
class Address:
    """The address of a sample: its corpus, shard and row."""

    corpus: str
    shard: int
    row: int


class SampleCatalog:
    """The views of a catalog, any of which may be missing."""

    def __init__(self, connection: "duckdb.DuckDBPyConnection") -> None:
        """Look up the existing views."""
        self.connection = connection
        self.columns = view_columns(connection)

    def ask(self, query: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Return the rows of a query by column name."""
        answer = self.connection.execute(query, list(parameters))
        names = [column[0] for column in answer.description]
        return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]

    def has(self, view: str, *columns: str) -> bool:
        """Return whether there is a view with these columns."""
        return view in self.columns and set(columns) <= set(self.columns[view])

    def corpus(self, view: str) -> str:
        """Return SQL for the corpus of a view's rows; for `scenes.drawn` it is `scenes`."""
        return corpus_of(self.columns[view])

    def rows_of(self, address: Address) -> Callable[..., list[Row]]:
        """Return `about`, bound to one sample."""
        return partial(self.about, address)

    def about(self, address: Address, view: str, *order: str) -> list[Row]:
        """Return the rows of a view about one sample, ordered by the given columns it has."""
        if not self.has(view, "shard", "row"):
            return []
        return self.ask(
            f"select {self.shown(view)} from {view} where {self.corpus(view)} = ? "
            f"and shard = ? and row = ?{self.ordered(view, order)}",
            [address.corpus, address.shard, address.row],
        )

    def shown(self, view: str) -> str:
        """Return SQL for the readable columns of a view."""
        return "* exclude (embedding)" if self.has(view, "embedding") else "*"

    def ordered(self, view: str, order: Sequence[str]) -> str:
        """Return SQL that sorts by the given columns that a view has."""
        known = [identifier(name) for name in order if name in self.columns[view]]
        return f" order by {', '.join(known)}" if known else ""

    # --- which sample ----------------------------------------------------------------------------

    def find(self, corpus: str, name: str) -> Address:
        """Return the address of the only sample with this name."""
        self._require_corpus(corpus)
        for found in (self._named(corpus, name), self._dropped(corpus, name)):
            if len(found) == 1:
                return Address(corpus, found[0]["shard"], found[0]["row"])
            if found:
                raise InputError(_several(corpus, name, found))
        near = self._outside(corpus, name) or did_you_mean(name, self._near(corpus, name))
        raise InputError(f"{corpus}: no sample {name!r}.{near}")

    def _require_corpus(self, corpus: str) -> None:
        if not self.has("samples", "corpus"):
            raise InputError(
                "The catalog has no samples. Run `clipaudit run SETTINGS all_tables` first."
            )
        found = self.ask(f"select distinct corpus from ({self._indexed()})")
        names = [row["corpus"] for row in found if row["corpus"]]
        if corpus not in names:
            raise InputError(f"no corpus {corpus!r} in the catalog.{did_you_mean(corpus, names)}")

    def _indexed(self) -> str:
        """Return SQL for the corpora, shards and rows of all samples, dropped ones included."""
        views = [view for view in ("samples", "drops_index") if self.has(view, "corpus")]
        return " union all ".join(f"select corpus, shard, row from {view}" for view in views)

    def _named(self, corpus: str, name: str) -> list[Row]:
        """Return the samples with a name, by the first kind of name that matches any."""
        lower = name.lower()
        ways: list[tuple[str, list[object]]] = [("uid = ?", [lower]), ("key = ?", [name])]
        if re.fullmatch(f"[0-9a-f]{{{_PREFIX_DIGITS},{_UID_DIGITS - 1}}}", lower):
            ways.append(("starts_with(uid, ?)", [lower]))
        if place := re.fullmatch(_PLACE, name):
            ways.append(("shard = ? and row = ?", [int(place[1]), int(place[2])]))
        for condition, values in ways:
            found = self.ask(
                "select shard, row, key, uid, caption from samples "
                f"where corpus = ? and {condition} order by shard, row limit {LISTED + 1}",
                [corpus, *values],
            )
            if found:
                return found
        return []

    def _dropped(self, corpus: str, name: str) -> list[Row]:
        if not self.has("drops_index", "corpus"):
            return []
        return self.ask(
            "select shard, row, key, null as uid, null as caption from drops_index "
            "where corpus = ? and (key = ? or shard || ':' || row = ?) "
            f"order by shard, row limit {LISTED + 1}",
            [corpus, name, name],
        )

    def _outside(self, corpus: str, name: str) -> str:
        """Return a sentence with the valid range of SHARD:ROW; "" for another kind of name."""
        place = re.fullmatch(_PLACE, name)
        if not place:
            return ""
        shard = int(place[1])
        (last,) = self.ask(
            "select max(shard) as shard, max(row) filter (shard = ?) as row "
            f"from ({self._indexed()}) where corpus = ?",
            [shard, corpus],
        )
        if last["row"] is None:
            return f" Its shards are 0 to {last['shard']}."
        return f" Rows of its shard {shard} are 0 to {last['row']}."

    def _near(self, corpus: str, name: str) -> list[str]:
        """Return keys and uids close to a name, computed in SQL because Python is too slow."""
        found = self.ask(
            "select key as name, levenshtein(key, ?) as distance from samples where corpus = ? "
            "union select uid, levenshtein(left(uid, ?), ?) from samples where corpus = ? "
            "order by distance, length(name), name limit 3",
            [name, corpus, max(_PREFIX_DIGITS, len(name)), name.lower(), corpus],
        )
        return [row["name"] for row in found]

    # --- one sample ------------------------------------------------------------------------------

    def sample(self, address: Address) -> Row:
        """Return the row of the index, and the path of its tar."""
        place = [address.corpus, address.shard, address.row]
        wanted = (
            "corpus, shard, row, key, uid, caption, label, width, height, image_format, "
            "image_bytes, image_sha256"
        )
        found = self.ask(
            f"select {wanted} from samples where corpus = ? and shard = ? and row = ?", place
        ) or self.ask(
            "select corpus, shard, row, key from drops_index "
            "where corpus = ? and shard = ? and row = ?",
            place,
        )
        tar: list[Row] = []
        if self.has("shard_files", "sha256"):
            tar = self.ask(
                "select path as shard_path, sha256 as shard_sha256 from shard_files "
                "where corpus = ? and shard = ? limit 1",
                place[:2],
            )
        return {**found[0], **(tar[0] if tar else {"shard_path": None, "shard_sha256": None})}

    def named(self, address: Address) -> Row | None:
        """Return shard, row, key, uid and caption of a sample; None if there is none."""
        found = self.ask(
            "select shard, row, key, uid, caption from samples "
            "where corpus = ? and shard = ? and row = ?",
            [address.corpus, address.shard, address.row],
        )
        return found[0] if found else None


def _several(corpus: str, name: str, found: Sequence[Row]) -> str:
    shown = "\n".join(
        f"  {row['shard']}:{row['row']}  {row['key']}  {row['uid'] or 'dropped'}"
        for row in found[:LISTED]
    )
    more = "\n  ... and more" if len(found) > LISTED else ""
    by = "uid or SHARD:ROW" if len({row["uid"] for row in found}) == len(found) else "SHARD:ROW"
    return f"{corpus}: several samples are called {name!r}. Choose one by {by}:\n{shown}{more}"
