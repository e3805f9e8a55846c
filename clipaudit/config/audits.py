"""List the audits and define what an audit declares to the settings.

An audit is one folder with a module `audit` that declares it. Only this list names the folders: all
other packages use the declarations and import no module of an audit. Further audits are plug-ins. A
plug-in is imported only if the settings have its section, or if all audits are requested.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from clipaudit.config.plugins import (
    distribution_of,
    imported,
    package_place,
    plugin_entry,
    registered,
)
from clipaudit.errors import ConfigError

if TYPE_CHECKING:
    from clipaudit.config.corpora import Corpus
    from clipaudit.config.deduplication import Deduplication
    from clipaudit.config.settings import Settings
    from clipaudit.config.training import Encoder, Recipe

AUDITS = ("clipaudit.copies", "clipaudit.similarity", "clipaudit.memorization", "clipaudit.parrot")

_NAMES = {folder.rpartition(".")[2]: folder for folder in AUDITS}
_NAME = re.compile(r"[a-z][a-z0-9]*")  # table names are split at their first underscore

S = TypeVar("S")  # a section; unbound, because jobs do not need pydantic
Where = tuple[str, str]  # a setting, such as `parrot.corpora`, and what it names


def _nothing(*_: object) -> dict[str, Any]:
    return {}


class Asked(NamedTuple):
    """The least number of samples that a setting needs from a corpus."""

    setting: str  # such as `parrot.curations.sizes`
    corpus: str
    samples: int
    what: str  # a description, such as `a set of 8 samples`


@dataclass(frozen=True)
class AskedData:
    """The data of a `clipaudit audit` call: names of corpora, and what these have."""

    train: str
    tests: tuple[str, ...]
    captioned: bool  # whether `train` has captions
    reads_text: bool  # whether to read text in images, the slowest part
    sample: int | None  # images of `train` that are searched; None: all
    encoder: str | None  # a name under `encoders`; None: no encoder


@dataclass(frozen=True)
class Audit(Generic[S]):
    """What an audit declares. Planning and commands read it, steps never do.

    The functions get the settings and the audit's section, which is present. Checking functions
    raise ValueError. `derived` names hold a dot, which names in a settings file cannot.

    Declarations that need more imports are in modules of the audit's folder, read on demand by
    `said_by`: CONTENTS in `reports/contents.py` (see `clipaudit.reports.contents`), PART in
    `reports/samples.py` (`clipaudit.catalog.parts`), LAWS in `laws.py`
    (`clipaudit.lineage.planning.scaling`), LAYOUTS in `reports/layouts.py`. Only a plug-in may lack
    PART and LAWS.
    """

    name: str  # name of its section; the names of its tables and figures begin with it
    title: str
    rules: tuple[str, ...]  # files of rules/ (a plug-in's own), included when the audit is on
    question: str  # the question that it answers
    section: type[S]
    check: Callable[["Settings", S], None]
    manifests: Callable[["Settings", S], dict[str, dict[str, str]]]
    pictured: Callable[[S], Iterable[Where]]  # the corpora that must have images
    takes: tuple[str, ...]  # its settings that name corpora, where users add a corpus
    derived_corpora: Callable[["Settings", S], Mapping[str, "Corpus"]] = _nothing
    derived_recipes: Callable[["Settings", S], Mapping[str, "Recipe"]] = _nothing
    derived_encoders: Callable[["Settings", S], Mapping[str, "Encoder"]] = _nothing
    # by corpus: how it is deduplicated, and with which encoder
    deduplications: Callable[[S], Mapping[str, tuple["Deduplication", str]]] = _nothing
    # encoders used to find copies, which have `paths.calibration_thresholds`
    calibrated_encoders: Callable[[S], Iterable[str]] = _nothing
    asks: Callable[["Settings", S], Iterable[Asked]] = lambda *_: ()  # samples needed
    draws_sets: bool = False  # whether its manifests are drawn sets, not prunings of corpora
    files: Callable[[S], Mapping[str, str]] = _nothing  # the user's files, by setting
    folders: Callable[[S], Mapping[str, str]] = _nothing
    # its section for `clipaudit audit`, which has no other settings; None: the audit needs more
    of_data: Callable[[AskedData], Mapping[str, Any] | None] = lambda _: None
    left_out: Callable[["Settings", S], Iterable[str]] = _nothing  # results omitted, and why


def audits(names: Iterable[str] = ()) -> tuple[Audit[Any], ...]:
    """Return the declarations of our audits, in reading order, then the plug-ins among `names`.

    Plug-ins are sorted by name. Raise ConfigError for an unknown name, and for a plug-in that
    cannot be imported or declares no audit of its name.
    """
    return (*_own_audits(), *map(_plugged, sorted(set(names) - _NAMES.keys())))


@cache
def _own_audits() -> tuple[Audit[Any], ...]:
    return tuple(import_module(f"{folder}.audit").AUDIT for folder in AUDITS)


@cache
def _plugged(name: str) -> Audit[Any]:
    entry = plugin_entry("audits", name)
    audit = imported(entry, entry.module, entry.load)
    found = repr(audit.name) if isinstance(audit, Audit) else type(audit).__name__
    if found != repr(name) or not _NAME.fullmatch(name) or "." not in entry.module:
        raise ConfigError(
            f"{entry.value} of {distribution_of(entry)}: expected an Audit named {name!r}, in "
            f"lowercase letters and digits, in a module of the audit's folder; found {found} in "
            f"{entry.module}. Correct the plug-in, or report this to its authors."
        )
    return audit  # type: ignore[no-any-return]


def plugged_audits() -> list[str]:
    """Return the names of all audit plug-ins without importing them."""
    return list(dict.fromkeys(entry.name for entry in registered("audits")))


def plugged_among(names: Iterable[str]) -> list[str]:
    """Return the names of plug-ins that begin some names of tables, views or scripts."""
    beginnings = {name.partition("_")[0] for name in names}
    return [name for name in plugged_audits() if name in beginnings and name not in _NAMES]


def folder_of(name: str) -> str:
    """Return the package of the audit that a name, such as a table's, begins with.

    If no audit has the name, the package does not exist.

    >>> folder_of("copies_summary")
    'clipaudit.copies'
    """
    audit = name.partition("_")[0]
    if audit in _NAMES or audit not in plugged_audits():
        return f"clipaudit.{audit}"
    return plugin_entry("audits", audit).module.rpartition(".")[0]


def rules_of(audit: Audit[Any]) -> list[str]:
    """Return the files of an audit's rules, as the Snakefile includes them."""
    folder = Path() if audit.name in _NAMES else package_place(folder_of(audit.name))
    return [str(folder / "rules" / f"{file}.smk") for file in audit.rules]


def said_by(audit: Audit[Any], module: str, name: str, default: object = None) -> Any:  # noqa: ANN401
    """Return the attribute `name` of a module in an audit's folder.

    For a plug-in without such a module, return `default` if one is given.
    """
    place = f"{folder_of(audit.name)}.{module}"
    if audit.name in _NAMES:
        return getattr(import_module(place), name)
    file = package_place(folder_of(audit.name)).joinpath(*module.split("."))
    if default is not None and not file.with_suffix(".py").is_file():
        return default
    entry = plugin_entry("audits", audit.name)
    return imported(entry, place, lambda: getattr(import_module(place), name))
