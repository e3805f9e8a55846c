"""The audits, and what the settings have to know of one: its declaration.

An audit is one folder with a module `audit` that declares it. This list is the one place that names
the folders: all other rooms ask the declarations, and import no module of an audit.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from clipaudit.config.base import Section

if TYPE_CHECKING:
    from clipaudit.config.corpora import Corpus
    from clipaudit.config.deduplication import Deduplication
    from clipaudit.config.settings import Settings
    from clipaudit.config.training import Encoder, Recipe

AUDITS = ("clipaudit.copies", "clipaudit.similarity", "clipaudit.memorization", "clipaudit.parrot")

S = TypeVar("S", bound=Section)
Where = tuple[str, str]  # a setting, such as `parrot.corpora`, and what it names


def _nothing(*_: object) -> dict[str, Any]:
    return {}


class Asked(NamedTuple):
    """Samples that a setting asks of a corpus: fewer cannot give what it says."""

    setting: str  # such as `parrot.curations.sizes`
    corpus: str
    samples: int
    what: str  # in words, such as `a set of 8 samples`


@dataclass(frozen=True)
class AskedData:
    """What `clipaudit audit` is asked about: names of corpora, and what these have."""

    train: str
    tests: tuple[str, ...]
    captioned: bool  # whether `train` has captions
    reads_text: bool  # whether text in pictures is to be read, which takes longest
    sample: int | None  # images of `train` that are searched; None: all
    encoder: str | None  # a name under `encoders`; None: none is asked


@dataclass(frozen=True)
class Audit(Generic[S]):
    """What an audit declares. It is read when planning and by commands, never by steps.

    The functions get the settings and the audit's section of them, which is there. Those that check
    raise ValueError; `derived` names hold a dot, which names in a settings file cannot.

    What else there is to say takes more imports, so it stands in modules of the audit's folder that
    are read when somebody asks (`said_by`): CONTENTS in `reports/contents.py` (see
    `clipaudit.reports.contents`), PART in `reports/samples.py` (`clipaudit.catalog.parts`), LAWS in
    `laws.py` (`clipaudit.lineage.planning.scaling`), LAYOUTS in `reports/layouts.py`.
    """

    name: str  # of its section in the settings; its tables' and figures' names begin with it
    title: str
    rules: tuple[str, ...]  # the files of rules/ that are included when the audit is on
    question: str  # that it answers
    section: type[S]
    check: Callable[["Settings", S], None]
    manifests: Callable[["Settings", S], dict[str, dict[str, str]]]
    pictured: Callable[[S], Iterable[Where]]  # the corpora that must have pictures
    takes: tuple[str, ...]  # its settings that name corpora: what to add for it to use one
    derived_corpora: Callable[["Settings", S], Mapping[str, "Corpus"]] = _nothing
    derived_recipes: Callable[["Settings", S], Mapping[str, "Recipe"]] = _nothing
    derived_encoders: Callable[["Settings", S], Mapping[str, "Encoder"]] = _nothing
    # by corpus: how it is deduplicated, and by which encoder
    deduplications: Callable[[S], Mapping[str, tuple["Deduplication", str]]] = _nothing
    # by which copies were looked for, so that `paths.calibration_thresholds` is there
    calibrated_encoders: Callable[[S], Iterable[str]] = _nothing
    asks: Callable[["Settings", S], Iterable[Asked]] = lambda *_: ()  # of samples
    draws_sets: bool = False  # whether its manifests are drawn sets, not prunings of corpora
    files: Callable[[S], Mapping[str, str]] = _nothing  # that the user brings, by setting
    folders: Callable[[S], Mapping[str, str]] = _nothing
    # its section for data without any other settings; None: it needs more than these
    of_data: Callable[[AskedData], Mapping[str, Any] | None] = lambda _: None
    left_out: Callable[["Settings", S], Iterable[str]] = _nothing  # for want of what is not there


@cache
def audits() -> tuple[Audit[Any], ...]:
    """Return the declarations of all audits, in the order in which people read of them."""
    return tuple(import_module(f"{folder}.audit").AUDIT for folder in AUDITS)


def said_by(audit: Audit[Any], module: str, name: str) -> Any:  # noqa: ANN401
    """Return what a module of an audit's folder calls `name`."""
    return getattr(import_module(f"clipaudit.{audit.name}.{module}"), name)
