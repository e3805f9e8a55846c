"""Plug-ins by name: the entry points of the installed distributions.

Nothing is imported here. A name is looked up where the settings use it, so settings without
plug-ins cost nothing.
"""

from importlib.metadata import EntryPoint, entry_points
from typing import Literal

from clipaudit.errors import ConfigError

Kind = Literal["encoders", "spotters", "annotators"]


def offered(kind: Kind) -> list[EntryPoint]:
    """Return the plug-ins of a kind, by name, of all installed distributions.

    Raise ConfigError where two distributions give one name: nobody could say which is meant.
    """
    found: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=f"clipaudit.{kind}"), key=lambda each: each.name):
        other = found.setdefault(entry.name, entry)
        if other != entry:
            raise ConfigError(
                f"clipaudit.{kind}: {distribution_of(other)} and {distribution_of(entry)} both "
                f"offer {entry.name}. Uninstall one of them."
            )
    return list(found.values())


def plugin_entry(kind: Kind, name: str) -> EntryPoint:
    """Return the entry point of a plug-in; raise ConfigError for a name that none has."""
    entries = {entry.name: entry for entry in offered(kind)}
    if name not in entries:
        raise ConfigError(
            f"{name!r} is no plug-in of clipaudit.{kind}; there are: "
            f"{', '.join(entries) or 'none'}. Install the distribution that brings it into "
            "clipaudit's environment by pip (docs/plugins.md), or name another"
        )
    return entries[name]


def distribution_of(entry: EntryPoint) -> str:
    """Return the name and version of the distribution of an entry point, as `glyphtools 1.0`."""
    assert entry.dist is not None, "importlib.metadata finds entry points in distributions"
    return f"{entry.dist.name} {entry.dist.version}"
