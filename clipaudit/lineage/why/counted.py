"""Suggest which rows a count counts, for the SQL to confirm."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from clipaudit.lineage.why.parts import Restriction

MOST_COUNTED = 1000  # rows to search for
_FEW_VALUES = 10  # per column; each value is tried


def of_one_value(view: str, rows: pa.Table) -> Iterator[list[Restriction]]:
    """Yield, for each column with few values, a restriction to each value, in order.

    Columns of floating-point numbers and null values are skipped.
    """
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        if pa.types.is_floating(column.type) or pa.types.is_nested(column.type):
            continue
        texts = pc.unique(column.cast(pa.string())).drop_null().to_pylist()
        if 1 < len(texts) <= _FEW_VALUES:
            yield [_only(view, name, {text}) for text in sorted(texts)]


def extremes(view: str, rows: pa.Table, count: int) -> Iterator[Restriction]:
    """Yield restrictions to the `count` highest and to the `count` lowest rows of number columns.

    A column where ties give more or fewer rows is skipped. Null is neither high nor low.
    """
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
            continue
        values = column.drop_null()
        if len(values) <= count:
            continue
        ordered = values.take(pc.sort_indices(values))
        for end, bound, admits in (
            ("highest", ordered[len(ordered) - count], pc.greater_equal),
            ("lowest", ordered[count - 1], pc.less_equal),
        ):
            passing = ordered.filter(admits(ordered, bound))
            if len(passing) == count:
                texts = set(passing.cast(pa.string()).to_pylist())
                yield _only(view, name, texts, f"the {count} {end}")


def _only(view: str, column: str, texts: set[str], told: str = "") -> Restriction:
    values = frozenset((text,) for text in texts)
    return Restriction(view, (column,), (values,), of_labels=False, told=told)
