"""The digest of the code that a rule runs.

SHA-256 over the syntax trees, docstrings and comments left out, of the rule's workflow script and
of every clipaudit module that it imports, transitively (imports inside functions too), and over
the data files that those modules declare to read in a module-level tuple READS. The serialisation
of the tree is our own: `ast.dump` differs between Python versions. Plumbing carries results but
does not make them; it is listed in PLUMBING and left out.
"""

import ast
import hashlib
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from clipaudit.errors import ConfigError

PACKAGE = Path(__file__).parent
SCRIPTS = Path("workflow_scripts")
PLUMBING = {
    "clipaudit",
    "clipaudit.actions",
    "clipaudit.cli",
    "clipaudit.codedigest",
    "clipaudit.config",
    "clipaudit.environment",
    "clipaudit.errors",
    "clipaudit.filedigests",
    "clipaudit.lineage",
    "clipaudit.parquet",
    "clipaudit.slowimports",
    "clipaudit.step",
    "clipaudit.store",
    "clipaudit.suggestions",
    "clipaudit.workflow",
}


def code_digest(script: Path, extra_files: Iterable[Path] = ()) -> str:
    """Return the hex digest of a workflow script and all it imports of clipaudit.

    `extra_files` are read besides (the SQL of a report table). Raise ConfigError for a file that
    does not exist or does not parse.
    """
    parts = code_parts(script, extra_files)
    text = "".join(f"{name} {digest}\n" for name, digest in sorted(parts.items()))
    return hashlib.sha256(text.encode()).hexdigest()


def code_parts(script: Path, extra_files: Iterable[Path] = ()) -> dict[str, str]:
    """Return what `code_digest` digests: the digest of each script, module and file, by name."""
    parts = {f"script {script.name}": _tree_digest(script)}
    for name in _reachable(script):
        path = _module_file(name)
        if path is not None:
            parts[f"module {name}"] = _tree_digest(path)
            parts |= {f"file {file.name}": _file_digest(file) for file in _declared_files(path)}
    parts |= {f"file {file.name}": _file_digest(file) for file in extra_files}
    return parts


def code_modules(script: Path) -> list[str]:
    """Return the names of the clipaudit modules that `code_digest` covers, sorted."""
    return sorted(_reachable(script))


def _is_plumbing(name: str) -> bool:
    return name in PLUMBING or any(
        name.startswith(f"{room}.") for room in PLUMBING if room != "clipaudit"
    )


@cache
def _reachable(script: Path) -> set[str]:
    """Walk the imports from `script`; plumbing is neither counted nor entered."""
    found: set[str] = set()
    waiting = list(_imports(script))
    while waiting:
        name = waiting.pop()
        path = _module_file(name)
        if name in found or path is None or _is_plumbing(name):
            continue
        found.add(name)
        waiting.extend(_imports(path))
    return found


@cache
def _imports(path: Path) -> tuple[str, ...]:
    """Return the clipaudit modules that one file names in import statements, anywhere in it."""
    names: list[str] = []
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return tuple(name for name in names if name.partition(".")[0] == "clipaudit")


@cache
def _module_file(name: str) -> Path | None:
    """Return the file of a clipaudit module or package, or None when `name` is not a module."""
    base = PACKAGE.joinpath(*name.split(".")[1:])
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None


def _declared_files(path: Path) -> list[Path]:
    """Return the files that a module's READS tuple names, relative to the module's folder."""
    for node in _tree(path).body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == "READS" for target in targets):
            assert isinstance(node, ast.Assign)
            return [path.parent / name for name in ast.literal_eval(node.value)]
    return []


@cache
def _tree(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_text(), filename=str(path))
    except (OSError, SyntaxError) as error:
        raise ConfigError(f"{path}: cannot be read as Python code: {error}") from error


@cache
def _tree_digest(path: Path) -> str:
    return hashlib.sha256("".join(_serialise(_tree(path), [])).encode()).hexdigest()


@cache
def _file_digest(path: Path) -> str:
    """Hash a declared file; SQL without its comments and spacing, other files as they are."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    if path.suffix == ".sql":
        bare = re.sub(r"--[^\n]*", "", content.decode())
        content = " ".join(bare.split()).encode()
    return hashlib.sha256(content).hexdigest()


def _serialise(node: object, parts: list[str]) -> list[str]:
    """Append a tree as text: node types and fields in name order, positions left out.

    Fields that are empty or None are left out too: newer Pythons add such fields.
    """
    if isinstance(node, ast.AST):
        parts.append(f"({type(node).__name__}")
        for field in _counting(node._fields):
            value = _without_docstring(node) if field == "body" else getattr(node, field, None)
            if value is None or value == []:
                continue
            parts.append(f" {field}=")
            _serialise(value, parts)
        parts.append(")")
    elif isinstance(node, list):
        parts.append("[")
        for item in node:
            _serialise(item, parts)
            parts.append(",")
        parts.append("]")
    else:
        parts.append(repr(node))
    return parts


@cache
def _counting(fields: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in sorted(fields) if name not in {"kind", "type_comment"})


def _without_docstring(node: ast.AST) -> object:
    body = getattr(node, "body", None)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    if not (isinstance(node, documented) and isinstance(body, list) and body):
        return body
    first = body[0]
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return body[1:] if is_text and isinstance(first.value.value, str) else body
