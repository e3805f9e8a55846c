"""Find the values in other tables that correspond to the values of a chosen row.

A row of a report table names a data set. The settings of its SQL hold small tables, *relations*,
that give its manifest and the manifest's corpora. Following them from the row's own values gives,
for each column that the inputs may have, the values that concern the row.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from clipaudit.plaindata import Json, Row

_OF_EACH_TABLE = {"position", "title"}  # every table numbers and names its own rows

Relations = Mapping[str, Sequence[Row]]


@dataclass(frozen=True)
class Bindings:
    """The values that concern a row, as text, and the rows of each relation that agree with them.

    `by_name`: a value concerns the row in columns of one name. `own` and `by_value`: in any column,
    because the manifest in a row's `baseline` is a manifest too. `own` has only the row's own
    texts, `by_value` also those of agreeing relations and of parameters.
    """

    by_name: Mapping[str, frozenset[str]]
    own: frozenset[str]
    by_value: frozenset[str]
    agreeing: Sequence[Mapping[str, Sequence[Mapping[str, str]]]]  # by name, own, by value


def bindings(row: Row, relations: Relations, parameters: Json) -> Bindings:
    """Return what a row's texts, integers and booleans bind, through `relations`.

    A relation's rows that agree with all bound columns bind its others. A relation without a
    bound column, or without an agreeing row, binds nothing. Parameters concern every row, loosely.
    Columns called `position` or `title` bind nothing strictly: every table has its own.

    >>> found = bindings(
    ...     {"dataset": "pruned", "baseline": "all"},
    ...     {"rows": [{"dataset": "pruned", "manifest": "p"}, {"dataset": "x", "manifest": "q"}]},
    ...     {},
    ... )
    >>> sorted(found.by_name["manifest"]), sorted(found.by_value)
    (['p'], ['all', 'p', 'pruned'])
    """
    texts = {name: [_texts(each) for each in rows] for name, rows in relations.items()}
    strict = _strictly(_texts(row), texts)
    own = {value for value in row.values() if isinstance(value, str) and value}
    given = {value for value in parameters.values() if isinstance(value, str) and value}
    widely = _widely({*own, *given}, relations)

    def near(values: set[str]) -> dict[str, list[Mapping[str, str]]]:
        return {
            name: [_texts(each) for each in _near(rows, values)] for name, rows in relations.items()
        }

    return Bindings(
        by_name={name: frozenset(values) for name, values in strict.items()},
        own=frozenset(own),
        by_value=frozenset(widely),
        agreeing=[
            {name: _agreeing(rows, strict) for name, rows in texts.items()},
            near(own),
            near(widely),
        ],
    )


def as_text(value: object) -> str | None:
    """Return a label-like value as labels and Arrow's casts write it; None for any other.

    >>> [as_text(value) for value in ("val", 10, True, 0.5, None)]
    ['val', '10', 'true', None, None]
    """
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int) else None


def _texts(row: Row) -> dict[str, str]:
    found = {name: as_text(value) for name, value in row.items()}
    return {
        name: text
        for name, text in found.items()
        if text is not None and name not in _OF_EACH_TABLE
    }


def _strictly(
    row: Mapping[str, str], relations: Mapping[str, Sequence[Mapping[str, str]]]
) -> dict[str, set[str]]:
    bound = {name: {value} for name, value in row.items()}
    news = True
    while news:
        news = False
        for rows in relations.values():
            agreeing = _agreeing(rows, bound)
            new = {name for each in agreeing for name in each} - bound.keys()
            for name in new:
                bound[name] = {each[name] for each in agreeing if name in each}
            news = news or bool(new)
    return bound


def _agreeing(
    rows: Iterable[Mapping[str, str]], bound: Mapping[str, Iterable[str]]
) -> list[Mapping[str, str]]:
    """Return the rows that have a bound column and only bound values in these."""
    shared = [(each, bound.keys() & each.keys()) for each in rows]
    return [each for each, names in shared if names and all(each[n] in bound[n] for n in names)]


def _widely(values: set[str], relations: Relations) -> set[str]:
    size = -1
    while size != len(values):
        size = len(values)
        for rows in relations.values():
            values |= {
                value
                for each in _near(rows, values)
                for value in each.values()
                if isinstance(value, str) and value
            }
    return values


def _near(rows: Sequence[Row], values: set[str]) -> list[Row]:
    """Return the rows that have a known value, or none, in each column with known values."""
    domains: dict[str, set[str]] = {}
    for each in rows:
        for name, value in each.items():
            if isinstance(value, str):
                domains.setdefault(name, set()).add(value)
    anchors = [name for name, domain in domains.items() if domain & values]
    if not anchors:
        return []
    return [each for each in rows if all((each.get(a) or "") in {"", *values} for a in anchors)]
