"""Plug-ins in use: what enters keys, and how a step loads and checks a plug-in.

A plug-in's name, distribution, version and code digest are params of the rules that use it. A step
loads only the plug-in that the run was planned with.
"""

import importlib.util
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

from clipaudit.config.plugins import Kind, plugin_entry
from clipaudit.errors import ClipauditError, ConfigError, StepError
from clipaudit.steps.codedigest import package_digest

T = TypeVar("T")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Plugin:
    """A plug-in's part of keys; `code` is the digest of its package's Python files."""

    kind: Kind
    name: str
    target: str  # module:object
    distribution: str
    version: str
    code: str

    def __str__(self) -> str:
        """Return the plug-in's name and origin, for messages."""
        return (
            f"the plug-in {self.name} of clipaudit.{self.kind} ({self.target} of "
            f"{self.distribution} {self.version})"
        )

    def make(self, options: Mapping[str, Any], **given: object) -> Any:  # noqa: ANN401
        """Return an object of the plug-in's class, made with the options and `given`.

        Raise StepError if it is not the plug-in of the plan, or cannot be imported or made.
        """
        entry = plugin_entry(self.kind, self.name)
        now = _identity(self.kind, entry)
        if now != self:
            raise StepError(
                f"{self} was changed after the run was planned: it is {now.distribution} "
                f"{now.version} with code {now.code[:12]}... now, {self.distribution} "
                f"{self.version} with {self.code[:12]}... then. Start the same command again."
            )
        loaded = self.called("importing it", entry.load)
        return self.called("making it", lambda: loaded(**options, **given))

    def called(self, doing: str, call: Callable[[], T]) -> T:
        """Return the result of a call of the plug-in; any error becomes one StepError.

        The log has its traceback. Our own errors, which already say what to do, pass through.
        """
        try:
            return call()
        except ClipauditError:
            raise
        except Exception as error:
            _log.info("%s failed while %s", self, doing, exc_info=True)
            raise StepError(
                f"{self} failed while {doing}: {type(error).__name__}: {error}. The step's log has "
                "the traceback. Correct the options or the plug-in, or report it to its authors."
            ) from error

    def fault(self, expected: str, found: str) -> StepError:
        """Return the error for a plug-in that returned something unexpected."""
        return StepError(
            f"{self}: expected {expected}, found {found}. Correct the plug-in, or report this to "
            "its authors."
        )


def planned(kind: Kind, name: str) -> Plugin:
    """Return the plug-in that a name means now; raise ConfigError if there is none."""
    return _identity(kind, plugin_entry(kind, name))


def libraries_of(kind: Kind, name: str) -> list[str]:
    """Return the installed distributions whose versions a plug-in's numbers may depend on.

    They are those that its distribution requires. clipaudit requires more than any of its own
    plug-ins uses, so its plug-ins have the name of the library that they use.
    """
    entry = plugin_entry(kind, name)
    assert entry.dist is not None, "importlib.metadata finds entry points in distributions"
    if entry.module.partition(".")[0] == "clipaudit":
        return [name]
    asked = (re.match(r"[\w.-]+", each) for each in entry.dist.requires or [])
    return sorted({found[0] for found in asked if found and _is_installed(found[0])})


def _is_installed(distribution: str) -> bool:
    try:
        version(distribution)
    except PackageNotFoundError:  # required by an extra, or for another Python
        return False
    return True


def _identity(kind: Kind, entry: EntryPoint) -> Plugin:
    assert entry.dist is not None, "importlib.metadata finds entry points in distributions"
    package = entry.module.partition(".")[0]
    spec = importlib.util.find_spec(package)
    files = [*(spec.submodule_search_locations or ()), spec.origin] if spec else []
    if not files:
        raise ConfigError(
            f"{entry.dist.name} {entry.dist.version}: its entry point {entry.name} = {entry.value} "
            f"names the package {package}, which does not exist. Install the distribution again."
        )
    code = package_digest(entry.module, [Path(file) for file in files if file])
    return Plugin(kind, entry.name, entry.value, entry.dist.name, entry.dist.version, code)
