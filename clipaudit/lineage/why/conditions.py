"""Parse users' SQL conditions: the columns they name, the values they require."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import duckdb


@dataclass(frozen=True)
class Equation:
    """A column and the constant that a condition compares it with."""

    column: str
    value: str


def columns_named(condition: str) -> list[str]:
    """Return the names of columns in a condition, in order; none if it cannot be parsed.

    >>> columns_named("dataset = 'x' and accuracy > 0.5")
    ['dataset', 'accuracy']
    """
    columns = (node for node in _nodes(_parsed(condition)) if node.get("class") == "COLUMN_REF")
    return list(dict.fromkeys(node["column_names"][-1] for node in columns))


def equations(condition: str) -> list[Equation]:
    """Return each `column = constant` that a condition implies.

    >>> equations("dataset = 'x' and (k = 10 or k = 20) and accuracy > 0.5")
    [Equation(column='dataset', value='x')]
    """
    return list(_equations(_parsed(condition)))


def comparisons(condition: str) -> list[Equation]:
    """Return every `column = constant` in a condition, whether implied or not.

    >>> comparisons("not (dataset = 'x' or k = 10)")
    [Equation(column='dataset', value='x'), Equation(column='k', value='10')]
    """
    return [equation for node in _nodes(_parsed(condition)) for equation in _equation(node)]


def _parsed(condition: str) -> dict[str, Any]:
    """Return the syntax tree of a condition; an empty one if DuckDB cannot parse it."""
    with duckdb.connect() as connection:
        query = f"select 1 from t where {condition}"
        row = connection.execute("select json_serialize_sql($query)", {"query": query}).fetchone()
    tree = json.loads(row[0]) if row else {}
    statements = tree.get("statements") or [{}]
    where = statements[0].get("node", {}).get("where_clause")
    return where if isinstance(where, dict) else {}


def _nodes(node: object) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        for child in node.values():
            yield from _nodes(child)
    elif isinstance(node, list):
        for child in node:
            yield from _nodes(child)


def _equations(node: dict[str, Any]) -> Iterator[Equation]:
    if node.get("type") == "CONJUNCTION_AND":
        for child in node["children"]:
            yield from _equations(child)
    else:
        yield from _equation(node)


def _equation(node: dict[str, Any]) -> Iterator[Equation]:
    if node.get("type") != "COMPARE_EQUAL":
        return
    sides = {side.get("class"): side for side in (node["left"], node["right"])}
    if sides.keys() == {"COLUMN_REF", "CONSTANT"} and "literal" in sides["CONSTANT"]:
        value = sides["CONSTANT"]["literal"].get("text")
        if value is not None:
            yield Equation(sides["COLUMN_REF"]["column_names"][-1], value)
