"""Give rules what plug-ins add: their identity as a param, files of their options, libraries."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from clipaudit.config.plugins import Kind
from clipaudit.steps.plugins import libraries_of, planned
from clipaudit.wiring.wildcards import Paths


def plugin_param(kind: Kind, name: str | None) -> dict[str, dict[str, str]]:
    """Return the param `plugin` of a rule, which enters keys; nothing without a plug-in."""
    return {} if name is None else {"plugin": asdict(planned(kind, name))}


def plugin_libraries(kind: Kind, name: str, *others: str) -> list[str]:
    """Return the libraries that affect a plug-in's results, with `others`, each once."""
    return sorted({*libraries_of(kind, name), *others})


def files_of_options(options: Mapping[str, object]) -> Paths:
    """Return the files that a plug-in's options name, and files in the folders they name."""
    named = [Path(value) for value in options.values() if isinstance(value, str)]
    return [
        file
        for path in named
        for file in (files_within(str(path)) if path.is_dir() else [str(path)])
        if Path(file).is_file()
    ]


def files_within(folder: str) -> Paths:
    """Return the files of a folder, sorted, without subfolders; none if it is missing.

    The step that loads the folder reports that it is missing.
    """
    if not Path(folder).is_dir():
        return []
    return sorted(str(path) for path in Path(folder).iterdir() if path.is_file())
