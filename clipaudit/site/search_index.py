"""The index of the sample search: captions, facets and numbers, as a script.

A page opened from disk may not fetch, so the index is a script that sets one constant. It stores
columns, not rows, and repeated texts once.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from clipaudit.catalog.parts import AuditPart, audit_parts
from clipaudit.catalog.tables import view_columns
from clipaudit.config.settings import Settings
from clipaudit.plaintext import plain
from clipaudit.site.content import json_value
from clipaudit.site.samples import SamplePage

MOST = 100_000  # samples in the search

_GENERAL = {
    "Corpus": "[corpus]",
    "Kept or removed": "case when len(pruned_from) > 0 then ['removed from a set'] "
    "when len(kept_by) > 0 then ['kept in all sets'] end",
    "Why removed": "list_sort(list_distinct(pruned_because))",
}


@dataclass(frozen=True)
class Facet:
    """A question that selects samples: its answers, and how many samples have each."""

    title: str
    answers: tuple[tuple[str, int], ...]

    @property
    def name(self) -> str:
        """Return its name in the fragment of the page's address."""
        return slug(self.title)


@dataclass(frozen=True)
class SearchIndex:
    """The sample search: the page's choices, and the script that it reads."""

    facets: tuple[Facet, ...]
    orders: tuple[str, ...]
    samples: int  # in the index
    total: int  # of the run
    script: str


def slug(title: str) -> str:
    """Return a title as a name in the fragment of an address.

    >>> slug("Why removed"), slug("Caption's words")
    ('why-removed', 'caption-s-words')
    """
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def search_index(
    connection: duckdb.DuckDBPyConnection,
    run: Settings,
    pages: Sequence[SamplePage],
    most: int = MOST,
) -> SearchIndex:
    """Return the index of a catalog's samples: those with a page first, in the order of `pages`.

    The samples covered by most audits follow, by corpus and address, up to `most` in all. Facets
    and orders without any value are left out.
    """
    if "corpus" not in view_columns(connection).get("audit", ()):
        return _index([], [], [], 0, pages)
    parts = {
        audit.name.capitalize(): part
        for audit, part in zip(run.known_audits(), audit_parts(_on(run)), strict=True)
    }
    facets = {"Audit": _speaking(parts), **_GENERAL}
    facets |= {name: f"[{sql}]" for part in parts.values() for name, sql in part.facets.items()}
    orders = {name: sql for part in parts.values() for name, sql in part.orders.items()}
    connection.register("with_page", _with_page(pages))
    columns = [f"{sql} as facet_{n}" for n, sql in enumerate(facets.values())]
    columns += [f"({sql})::double as order_{n}" for n, sql in enumerate(orders.values())]
    asked = ", ".join(columns)
    query = (
        f"select audit.corpus, audit.shard, audit.row, uid, caption, place, {asked} "
        "from audit left join with_page using (corpus, shard, row) order by place nulls last, "
        "len(list_filter(facet_0, lambda audit: audit is not null)) desc, "  # that speak of it
        "corpus, shard, row limit $most"
    )
    rows = connection.sql(query, params={"most": most}).to_arrow_table().to_pylist()
    (total,) = connection.execute("select count(*) from audit").fetchone() or (0,)
    return _index(rows, list(facets), list(orders), total, pages)


def _on(run: Settings) -> list[str]:
    return [audit.name for audit in run.known_audits()]


def _speaking(parts: dict[str, AuditPart]) -> str:
    """Return SQL that lists the audits with a value for a sample."""
    said = (
        f"if(coalesce({', '.join(f'({sql})::varchar' for sql in columns)}) is null, null, '{name}')"
        for name, part in parts.items()
        if (columns := [*part.facets.values(), *part.orders.values()])
    )
    return f"[{', '.join(said)}]"


def _with_page(pages: Sequence[SamplePage]) -> pa.Table:
    return pa.table(
        {
            "corpus": pa.array([page.corpus for page in pages], pa.string()),
            "shard": pa.array([page.shard for page in pages], pa.int32()),
            "row": pa.array([page.row for page in pages], pa.int32()),
            "place": pa.array(range(len(pages)), pa.int32()),
        }
    )


def _index(
    rows: Sequence[dict[str, Any]],
    facets: Sequence[str],
    orders: Sequence[str],
    total: int,
    pages: Sequence[SamplePage],
) -> SearchIndex:
    asked = [_facet(title, [row[f"facet_{n}"] for row in rows]) for n, title in enumerate(facets)]
    told = [each for each in asked if each["values"]]
    shown = tuple(Facet(each["title"], tuple(each.pop("counts").items())) for each in told)
    numbers = [
        {
            "name": slug(title),
            "title": title,
            "values": [json_value(row[f"order_{n}"]) for row in rows],
        }
        for n, title in enumerate(orders)
    ]
    corpora = list(dict.fromkeys(row["corpus"] for row in rows))
    place = {name: number for number, name in enumerate(corpora)}
    ordered = [each for each in numbers if any(value is not None for value in each["values"])]
    names = {each["name"] for each in ordered}
    content = {
        "corpora": corpora,
        "corpus": [place[row["corpus"]] for row in rows],
        "shard": [row["shard"] for row in rows],
        "row": [row["row"] for row in rows],
        "uid": [row["uid"] or "" for row in rows],
        "caption": [plain(row["caption"] or "") for row in rows],
        "pages": [_page(pages[row["place"]]) for row in rows if row["place"] is not None],
        "facets": told,
        "orders": ordered,
    }
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    offered = tuple(title for title in orders if slug(title) in names)
    return SearchIndex(shown, offered, len(rows), total, f"const SAMPLES = {text};\n")


def _facet(title: str, answers: Iterable[Sequence[str | None] | None]) -> dict[str, Any]:
    """Return a facet: its answers, the sets of answers, and each sample's set."""
    sets = [tuple(plain(each) for each in of or () if each is not None) for of in answers]
    counts = Counter(answer for of in sets for answer in of)
    values = sorted(counts)
    kinds = list(dict.fromkeys(sets))
    number = {answers: place for place, answers in enumerate(kinds)}
    return {
        "name": slug(title),
        "title": title,
        "values": values,
        "sets": [[values.index(answer) for answer in of] for of in kinds],
        "of": [number[of] for of in sets],
        "counts": {value: counts[value] for value in values},
    }


def _page(page: SamplePage) -> list[object]:
    picture = page.picture
    return [page.page, picture.path, picture.width, picture.height]
