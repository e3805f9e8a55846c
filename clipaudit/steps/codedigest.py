"""Compute the digest of the code that a rule runs.

It is the SHA-256 of the syntax trees, without docstrings and comments, of the rule's workflow
script and of every clipaudit module that it imports, transitively (also inside functions), and of
the data files that those modules list in a module-level tuple READS. We serialise the tree
ourselves, because `ast.dump` differs between Python versions. Plumbing carries results but does not
make them: modules listed in PLUMBING are excluded, except the module that writes Parquet, which is
part of every digest, and the settings of synthetic worlds, whose methods choose what is drawn.

For an audit that is a plug-in, the modules of its package count like clipaudit's, and so do the
name and version of its distribution.

For a module named `layouts.py::similarity_table1`, only this entry of its dictionary LAYOUTS counts
and everything outside the dictionary: editing another entry does not redraw this one.
"""

import ast
import hashlib
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

from clipaudit.config.audits import folder_of, plugged_among
from clipaudit.config.plugins import package_place, registered
from clipaudit.config.shipped import PACKAGE, workflow_folder
from clipaudit.errors import ConfigError
from clipaudit.steps.codememo import MEMO, CodeMemo, Remembered

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_ENTRIES = "LAYOUTS"
_COMMENTS = {".sql": r"--[^\n]*", ".cpp": r"//[^\n]*", ".h": r"//[^\n]*"}
PLUMBING = {  # modules, and packages with all their modules
    "clipaudit",
    "clipaudit.ahead",
    "clipaudit.cli",
    "clipaudit.config",
    "clipaudit.errors",
    "clipaudit.lineage",
    "clipaudit.remote",
    "clipaudit.steps",
    "clipaudit.store",
    "clipaudit.suggestions",
}
_SECTION = re.compile(r"clipaudit\.\w+\.settings")  # an audit's section; its values enter the key
WRITERS = {"clipaudit.store.parquet"}  # plumbing that makes the bytes of every table
_WORLDS = "clipaudit.config.worlds"  # its methods choose what is drawn


def rule_sources(script: str, extra_files: Iterable[str] = ()) -> tuple[Path, list[Path]]:
    """Return the file of a workflow script, and the files that a rule names as `clipaudit/...`.

    A script that we do not have belongs to the plug-in that its name begins with, if there is one.
    """
    inside = Path("workflow_scripts", f"{script}.py")
    path = workflow_folder() / inside
    if not path.is_file() and plugged_among([script]):
        path = package_place(folder_of(script)) / inside
    return path, [package_place(file.partition("/")[0]).parent / file for file in extra_files]


def code_digest(script: Path, extra_files: Iterable[Path] = ()) -> str:
    """Return the hex digest of a workflow script and everything it imports from clipaudit.

    `extra_files` are read too: the SQL of a report table, or a module imported by name or one entry
    of it (`x.py::entry`), with everything that it imports. Raise ConfigError for a file or entry
    that does not exist and for code that does not parse.
    """
    parts = code_parts(script, extra_files)
    text = "".join(f"{name} {digest}\n" for name, digest in sorted(parts.items()))
    return hashlib.sha256(text.encode()).hexdigest()


def code_parts(script: Path, extra_files: Iterable[Path] = ()) -> dict[str, str]:
    """Return the parts of `code_digest`: the digest of each script, module and file, by name."""
    parts = {f"script {script.name}": _read(script).digest}
    extra_files = list(extra_files)
    for package in {each.name for each in map(_plugged_package, [script, *extra_files]) if each}:
        parts |= _distributions(package)
    modules = [_module_and_entry(file) for file in extra_files if is_module(file)]
    whole = {_module_name(path) for path, entry in modules if not entry}
    named = set().union(*map(_reachable, [script, *(path for path, _ in modules)])) | whole
    for name in named:
        path = _module_file(name)
        if path is not None:
            code = _read(path)
            parts[f"module {name}"] = code.digest
            parts |= {_file_part(file): _file_digest(file) for file in code.files}
    for path, entry in modules:
        if entry:
            parts[f"module {_module_name(path)}::{entry}"] = _entry_digest(path, entry)
    texts = [file for file in extra_files if not is_module(file)]
    return parts | {_file_part(file): _file_digest(file) for file in texts}


def package_digest(module: str, places: Iterable[Path]) -> str:
    """Return the hex digest of the code of a plug-in, whose entry point names `module`.

    It covers every Python file of the package in `places` (folders or a file); for clipaudit, the
    module and everything that it imports.
    """
    own = _module_file(module) if module.partition(".")[0] == "clipaudit" else None
    if own is not None:
        return code_digest(own)
    files = {
        path.relative_to(place if place.is_dir() else place.parent).as_posix(): path
        for place in places
        for path in (place.rglob("*.py") if place.is_dir() else [place])
    }
    text = "".join(f"{name} {_file_digest(path)}\n" for name, path in sorted(files.items()))
    return hashlib.sha256(text.encode()).hexdigest()


def is_module(path: Path) -> bool:
    """Return whether an extra file of a step is Python code, or an entry of it, not data."""
    return _module_and_entry(path)[0].suffix == ".py"


def _module_and_entry(path: Path) -> tuple[Path, str]:
    name, _, entry = str(path).partition("::")
    return Path(name), entry


def _entry_digest(path: Path, entry: str) -> str:
    entries = _read(path).entries
    if entry not in entries:
        raise ConfigError(
            f"{path}: its dictionary {_ENTRIES} has no entry {entry!r}. Add it, or remove what is "
            "named so."
        )
    return entries[entry]


def _file_part(path: Path) -> str:
    """Return a file's name with its place in the package: audits use the same file names."""
    package = _plugged_package(path)
    if package is not None:
        return f"file {path.relative_to(package.parent).as_posix()}"
    parts = path.parts
    inside = parts[len(parts) - parts[::-1].index("clipaudit") :] if "clipaudit" in parts else parts
    return f"file {'/'.join(inside)}"


def _module_name(path: Path) -> str:
    """Return the module name of a file."""
    package = _plugged_package(path)
    if package is not None:
        return ".".join(path.with_suffix("").relative_to(package.parent).parts)
    parts = path.with_suffix("").parts
    start = len(parts) - 1 - parts[::-1].index("clipaudit")
    return ".".join(parts[start:])


@cache
def _is_plumbing(name: str) -> bool:
    rooms = PLUMBING - {"clipaudit"}
    within = name in PLUMBING or any(name.startswith(f"{room}.") for room in rooms)
    counts = name in WRITERS or name.startswith(_WORLDS)
    return (within and not counts) or _SECTION.fullmatch(name) is not None


@cache
def _reachable(script: Path) -> set[str]:
    """Walk the imports from `script`; plumbing is neither counted nor followed."""
    package = _plugged_package(script)
    roots = {"clipaudit"} if package is None else {"clipaudit", package.name}
    found: set[str] = set()
    waiting = [*_imported(script, _module_name(script) if package else ""), *WRITERS]
    while waiting:
        name = waiting.pop()
        path = _module_file(name) if name.partition(".")[0] in roots else None
        if name in found or path is None or _is_plumbing(name):
            continue
        found.add(name)
        waiting.extend(_imported(path, name))
        if name.partition(".")[0] != "clipaudit":  # clipaudit's packages hold no code
            waiting.append(name.rpartition(".")[0])
    return found


@cache
def _imported(path: Path, name: str) -> list[str]:
    """Return the modules that a code file imports; `name` resolves its relative imports."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    modules = _read(path).modules
    return [resolve_name(each, package) if each[0] == "." else each for each in modules]


@cache
def _plugged_package(path: Path) -> Path | None:
    """Return the folder of the outermost package of a plug-in's file; None for our files."""
    if path.is_relative_to(PACKAGE):
        return None
    around = [folder for folder in path.parents if (folder / "__init__.py").is_file()]
    return around[-1] if around and around[-1].name else None


def _distributions(package: str) -> dict[str, str]:
    """Return the versions of the distributions whose audits are in a package."""
    found = (each.dist for each in registered("audits") if each.module.split(".")[0] == package)
    return {f"distribution {dist.name}": dist.version for dist in found if dist is not None}


@cache
def _module_file(name: str) -> Path | None:
    """Return the file of a module or package, or None if `name` is not a module."""
    top, *inner = name.split(".")
    base = (PACKAGE if top == "clipaudit" else package_place(top)).joinpath(*inner)
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None


@dataclass(frozen=True)
class _Code:
    """The relevant content of a code file. Syntax trees are dropped: together they take 50 MB."""

    digest: str
    modules: Sequence[str]  # in all its import statements, relative ones with dots
    files: Sequence[Path]  # in its READS tuple, relative to its folder
    entries: Mapping[str, str]  # in its dictionary LAYOUTS: the digest of each and of the rest


@cache
def _memo() -> CodeMemo:
    return CodeMemo(MEMO, hashlib.sha256(Path(__file__).read_bytes()).hexdigest())


@cache
def _read(path: Path) -> _Code:
    try:
        content = path.read_bytes()
        sha256 = hashlib.sha256(content).hexdigest()
        found = _memo().get(sha256)
        if found is None:
            found = _walked(ast.parse(content, filename=str(path)))
            _memo().put(sha256, found)
    except (OSError, SyntaxError) as error:
        raise ConfigError(f"{path}: cannot be read as Python code: {error}") from error
    files = [path.parent / name for name in found["files"]]
    return _Code(found["digest"], found["modules"], files, found["entries"])


def _walked(tree: ast.Module) -> Remembered:
    imports: list[ast.Import | ast.ImportFrom] = []
    return {
        "digest": _tree_digest(tree, imports),
        "modules": _modules(imports),
        "files": list(_reads(tree)),
        "entries": _entries(tree),
    }


def _tree_digest(tree: object, imports: list[ast.Import | ast.ImportFrom]) -> str:
    parts: list[str] = []
    _serialise(tree, parts, imports)
    return hashlib.sha256("".join(parts).encode()).hexdigest()


def _entries(tree: ast.Module) -> dict[str, str]:
    """Return the digest of each entry of LAYOUTS, combined with the module without entries."""
    entries: dict[str, ast.expr] = {}
    for node in tree.body:
        match node:
            case (
                ast.AnnAssign(target=ast.Name(id=name), value=ast.Dict() as found)
                | ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict() as found)
            ) if name == _ENTRIES:
                for key, value in zip(found.keys, found.values, strict=True):
                    entries[ast.literal_eval(key) if key else ""] = value
                found.keys, found.values = [], []
    around = _tree_digest(tree, []) if entries else ""
    return {
        key: hashlib.sha256(f"{around} {_tree_digest(value, [])}".encode()).hexdigest()
        for key, value in entries.items()
    }


def _modules(imports: Sequence[ast.Import | ast.ImportFrom]) -> list[str]:
    names: list[str] = []
    for node in imports:
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        else:
            module = "." * node.level + (node.module or "")
            inside = f"{module}." if node.module else module
            names += [module, *(f"{inside}{alias.name}" for alias in node.names)]
    return [name for name in names if name.partition(".")[0] not in sys.stdlib_module_names]


def _reads(tree: ast.Module) -> Sequence[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "READS" for target in node.targets
        ):
            return tuple(ast.literal_eval(node.value))
    return ()


@cache
def _file_digest(path: Path) -> str:
    """Hash a declared file; SQL and C++ without comments and spacing, other files unchanged."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    comment = _COMMENTS.get(path.suffix)
    if comment is not None:
        bare = re.sub(comment, "", content.decode())
        content = " ".join(bare.split()).encode()
    return hashlib.sha256(content).hexdigest()


def _serialise(node: object, parts: list[str], imports: list[ast.Import | ast.ImportFrom]) -> None:
    """Append a tree as text: node types and fields in name order, without positions.

    Fields that are empty or None are omitted too: newer Pythons add such fields. Import statements
    are collected in the same walk: every job of a cluster reads all code, so trees are walked once.
    """
    if isinstance(node, ast.AST):
        parts.append(f"({type(node).__name__}")
        for field in _counting(node._fields):
            value = getattr(node, field, None)
            if field == "body" and isinstance(node, _DOCUMENTED):
                value = _without_docstring(node.body)
            if value is None or value == []:
                continue
            parts.append(f" {field}=")
            _serialise(value, parts, imports)
        parts.append(")")
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.append(node)
    elif isinstance(node, list):
        parts.append("[")
        for item in node:
            _serialise(item, parts, imports)
            parts.append(",")
        parts.append("]")
    else:
        parts.append(repr(node))


@cache
def _counting(fields: tuple[str, ...]) -> tuple[str, ...]:
    # `kind` says whether a text was written u"..."
    return tuple(name for name in sorted(fields) if name not in {"kind", "type_comment"})


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest
    return body
