"""Step calls: what a workflow script says of its step, read without running it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clipaudit.errors import ConfigError

_WRITERS = {"adopt", "write_bytes", "write_table", "write_tables"}  # the methods of a Step


@dataclass(frozen=True)
class StepCall:
    """The arguments of `run_step`, and the labels that the script gives its outputs by name.

    `labels` is None where it gives some that only a run knows: `**labels`.
    """

    numeric: tuple[str, ...] = ()
    reads_labels: bool = True
    labels: frozenset[str] | None = frozenset()


def step_call(script: Path) -> StepCall | None:
    """Return what a workflow script says of its step; None where it calls no `run_step`.

    Raises ConfigError where it cannot be read, or hands over more than plain values.
    """
    try:
        tree = ast.parse(script.read_text(), filename=str(script))
    except (OSError, SyntaxError) as error:
        raise ConfigError(f"{script}: cannot be read as Python code: {error}") from error
    for call in _calls(tree):
        if isinstance(call.func, ast.Name) and call.func.id == "run_step":
            try:
                return StepCall(**_arguments(call, tree), labels=_labels(tree))
            except (TypeError, ValueError) as error:
                raise ConfigError(
                    f"{script}, line {call.lineno}: cannot be planned ({error}). Give run_step "
                    "plain values, or names that the script sets to plain values."
                ) from error
    return None


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _arguments(call: ast.Call, tree: ast.Module) -> dict[str, Any]:
    """Return the keyword arguments of a call, names of the module looked up."""
    values = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }

    def value_of(given: ast.expr) -> Any:  # noqa: ANN401
        return ast.literal_eval(
            values.get(given.id, given) if isinstance(given, ast.Name) else given
        )

    return {str(each.arg): value_of(each.value) for each in call.keywords}


def _labels(tree: ast.Module) -> frozenset[str] | None:
    named = {
        each.arg
        for call in _calls(tree)
        if isinstance(call.func, ast.Attribute) and call.func.attr in _WRITERS
        for each in call.keywords
    }
    return None if None in named else frozenset(str(name) for name in named)
