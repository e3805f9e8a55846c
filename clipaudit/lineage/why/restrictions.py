"""Suggest restrictions: files and rows of a view that agree with the chosen rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from clipaudit.lineage.why.bindings import Bindings
from clipaudit.lineage.why.parts import PassingFiles, Restriction, Views

LEVELS = (0, 1, 2)  # values bound by a label's name; also the row's own texts; also all others

_Allowed = frozenset[tuple[str, ...]]


def label_restrictions(views: Views, found: Sequence[Bindings]) -> list[list[Restriction]]:
    """Return label restrictions from the chosen rows' bindings: three levels, strictest first.

    A label is restricted to the values bound by its name; at the next level also to the row's own
    texts; at the last to all values that concern the row. If a level has no value for a label, the
    next one is used. A chosen row without values admits no file, at the last level all files.
    Restrictions that every file passes are omitted. Within a level, those that keep the smallest
    share of files come first.
    """
    return [_sorted(views, _level(views, found, level)) for level in LEVELS]


def row_restrictions(
    views: Views, found: Sequence[Bindings], parts: Mapping[str, PassingFiles]
) -> list[Restriction]:
    """Return the restrictions of the columns in a view's files that are bound by name.

    Parts without a file have none. Raise StoreError for a file that cannot be opened.
    """
    columns = [
        (view, name)
        for view, part in sorted(parts.items())
        for name in (views.columns(part.files[0]) if part.files else [])
    ]
    suggested = [
        _restriction(view, (name,), [_tuples(each.by_name.get(name, ())) for each in found])
        for view, name in columns
    ]
    return [each for each in suggested if any(each.values)]


def _level(views: Views, found: Sequence[Bindings], level: int) -> Iterator[Restriction]:
    silent_ask_all = level == LEVELS[-1]
    for view in views.names():
        domains = sorted(views.domain(view).items())
        bound = [
            {name: _bound(each, name, domain, level) for name, domain in domains} for each in found
        ]
        for name, _ in domains:
            values = [_tuples(each[name]) for each in bound]
            yield _restriction(view, (name,), values, True, silent_ask_all)
        for relation in sorted(found[0].agreeing[level]):
            agreeing = [each.agreeing[level][relation] for each in found]
            columns = {name for rows in agreeing for row in rows for name in row}
            order = tuple(name for name, _ in domains if name in columns)
            values = [_combined(rows, order) for rows in agreeing]
            lost = level > 0 and not all(map(partial(_is_complete, order), values, bound))
            if len(order) > 1 and not lost:
                yield _restriction(view, order, values, True, silent_ask_all)


def _bound(found: Bindings, name: str, domain: set[str], level: int) -> set[str]:
    """Return the values of a label that concern a row at a level, or at the next one with any."""
    named = found.by_name.get(name, frozenset())
    by_level = (
        named,
        named | (found.own & domain) | _values(found.agreeing[1], name),
        (named | found.own | found.by_value) & domain,
    )
    return set(next((values for values in by_level[level:] if values), ()))


def _values(agreeing: Mapping[str, Sequence[Mapping[str, str]]], name: str) -> frozenset[str]:
    return frozenset(row[name] for rows in agreeing.values() for row in rows if name in row)


def _is_complete(
    columns: tuple[str, ...], combinations: _Allowed, bound: Mapping[str, set[str]]
) -> bool:
    """Return whether all values bound in some columns are combined: else some would be lost.

    The relation of rows and manifests combines the manifest of the chosen row, not its baseline.
    """
    combined = zip(*combinations, strict=True) if combinations else [()] * len(columns)
    return all(bound[name] <= set(values) for name, values in zip(columns, combined, strict=True))


def _combined(rows: Sequence[Mapping[str, str]], columns: tuple[str, ...]) -> _Allowed:
    complete = [row for row in rows if row.keys() >= set(columns)]
    return frozenset(tuple(row[name] for name in columns) for row in complete)


def _tuples(values: Iterable[str]) -> _Allowed:
    return frozenset((value,) for value in values)


def _restriction(
    view: str,
    columns: tuple[str, ...],
    values: Sequence[_Allowed],
    of_labels: bool = False,
    silent_ask_all: bool = True,
) -> Restriction:
    """Return a restriction; a chosen row without values admits all rows of the view or none."""
    asked = tuple(each or (None if silent_ask_all else each) for each in values)
    return Restriction(view, columns, asked, of_labels)


def _sorted(views: Views, restrictions: Iterator[Restriction]) -> list[Restriction]:
    shares = {}
    for each in restrictions:
        part = views.part(each.view, [each], len(each.values))
        share = len(part.files) / len(views.inputs[each.view])
        if any(each.values) and share < 1:
            shares[each] = share
    return sorted(shares, key=lambda each: shares[each])
