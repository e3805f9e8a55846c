"""Find plug-ins by name: entry points of the installed distributions.

A name is looked up only when the settings use it, so settings without plug-ins import none.
"""

import logging
import sys
from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, TypeVar

from clipaudit.config.shipped import PACKAGE
from clipaudit.errors import ClipauditError, ConfigError

Kind = Literal["encoders", "spotters", "annotators", "audits"]

T = TypeVar("T")
_log = logging.getLogger(__name__)


def offered(kind: Kind) -> list[EntryPoint]:
    """Return the plug-ins of a kind in all installed distributions, sorted by name.

    Raise ConfigError if two distributions offer the same name, which would be ambiguous.
    """
    found: dict[str, EntryPoint] = {}
    for entry in _look_up(kind):
        other = found.setdefault(entry.name, entry)
        if other != entry:
            raise ConfigError(
                f"clipaudit.{kind}: {distribution_of(other)} and {distribution_of(entry)} both "
                f"offer {entry.name}. Uninstall one of them."
            )
    return list(found.values())


def registered(kind: Kind) -> tuple[EntryPoint, ...]:
    """Return the entry points of a kind, sorted by name; two distributions may share a name.

    They are looked up once, which takes ten milliseconds; a process keeps what it found first.
    """
    return _registered(kind, tuple(sys.path))


@cache
def _registered(kind: Kind, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    return _look_up(kind)


def _look_up(kind: Kind) -> tuple[EntryPoint, ...]:
    return tuple(sorted(entry_points(group=f"clipaudit.{kind}"), key=lambda each: each.name))


def plugin_entry(kind: Kind, name: str) -> EntryPoint:
    """Return the entry point of a plug-in; raise ConfigError for an unknown name."""
    entries = {entry.name: entry for entry in offered(kind)}
    if name not in entries:
        raise ConfigError(
            f"{name!r} is not a plug-in of clipaudit.{kind}; installed: "
            f"{', '.join(entries) or 'none'}. Install its distribution into clipaudit's "
            "environment with pip (docs/plugins.md), or name another"
        )
    return entries[name]


def distribution_of(entry: EntryPoint) -> str:
    """Return the name and version of the distribution of an entry point, as `glyphtools 1.0`."""
    assert entry.dist is not None, "importlib.metadata finds entry points in distributions"
    return f"{entry.dist.name} {entry.dist.version}"


def imported(entry: EntryPoint, name: str, load: Callable[[], T]) -> T:
    """Return the result of importing `name` for a plug-in; any error becomes a ConfigError."""
    try:
        return load()
    except ClipauditError:
        raise
    except Exception as error:
        _log.info("importing %s failed", name, exc_info=True)
        raise ConfigError(
            f"the plug-in {entry.name} ({entry.value} of {distribution_of(entry)}) failed while "
            f"importing {name}: {type(error).__name__}: {error}. Correct the plug-in, or report "
            "this to its authors."
        ) from error


def package_place(package: str) -> Path:
    """Return the folder of a package, such as `colourtools.colours`, without importing it.

    Raise ConfigError if there is none, or no `__init__.py` in the outermost folder.
    """
    top, *inner = package.split(".")
    if top == "clipaudit":
        return PACKAGE.joinpath(*inner)
    spec = find_spec(top)
    for place in map(Path, (spec and spec.submodule_search_locations) or ()):
        if (place / "__init__.py").is_file() and place.joinpath(*inner).is_dir():
            return place.joinpath(*inner)
    raise ConfigError(
        f"{package}: no such package, or no `__init__.py` in the folder {top}. Install its "
        "distribution again, or add the file."
    )
