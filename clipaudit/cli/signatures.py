"""Write docs/signatures.md: the public names of `clipaudit`, with signature and docstring."""

import ast
import inspect
from importlib import import_module

PUBLIC = import_module("clipaudit")  # a plain import would make cli depend on the audits
OPENING = """# Python signatures

The public names of `clipaudit`, from their code. [In a notebook](api.md) shows how to use them.
`python -m clipaudit.cli.pages` writes this page.
"""


def signatures_page() -> str:
    """Return the page: the functions and classes of `clipaudit.__all__`, in its order."""
    named = [name for name in PUBLIC.__all__ if not name.startswith("__")]
    return "\n".join([OPENING, *(_entry(name, getattr(PUBLIC, name)) for name in named)])


def _entry(name: str, thing: object) -> str:
    source = inspect.getsource(thing)  # type: ignore[arg-type]
    about = _examples_fenced(inspect.getdoc(thing) or "")
    return f"## {name}\n\n```python\n{_defined(source)}\n```\n\n{about}\n"


def _defined(source: str) -> str:
    """Return a definition without decorators and body; a class keeps its fields.

    >>> print(_defined("@cache\\ndef one() -> int:\\n    return 1"))
    def one() -> int: ...
    >>> print(_defined("class Point:\\n    x: int\\n    y: int"))
    class Point:
        x: int
        y: int
    """
    (node,) = ast.parse(source).body
    assert isinstance(node, ast.FunctionDef | ast.ClassDef)
    head = "\n".join(source.splitlines()[node.lineno - 1 : node.body[0].lineno - 1])
    fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
    if isinstance(node, ast.FunctionDef) or not fields:
        return f"{head} ..."
    return "\n    ".join([head, *(ast.get_source_segment(source, each) or "" for each in fields)])


def _examples_fenced(text: str) -> str:
    """Return a docstring with each example in a block of code."""
    return "\n\n".join(
        f"```python\n{each}\n```" if each.startswith(">>> ") else each
        for each in text.split("\n\n")
    )
