"""Declarations of the report's tables and figures, and the relations that many of them share.

Paths are pointers relative to results/; the SQL of a table sees its inputs as views.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clipaudit.config.pictures import has_pictures
from clipaudit.config.settings import Settings
from clipaudit.reports.gallery_options import CorpusTars, Sources
from clipaudit.reports.leftout import untrained
from clipaudit.steps import paths

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

NOT_SHOWN = "Images are not shown; the uids of their samples, or the first digits, replace them."

Relation = Sequence[Mapping[str, object]]
RelationRow = dict[str, object]  # of a relation under construction


@dataclass(frozen=True)
class ReportTable:
    """A table: its SQL, its inputs by view name, small relations from the settings, parameters.

    `notes` are the last sentences of its caption.
    """

    sql: str  # <sql>.sql in the folder sql/ of the audit that its name begins with
    inputs: Mapping[str, Sequence[str]]
    relations: Mapping[str, Relation] = field(default_factory=dict)
    parameters: Mapping[str, object] = field(default_factory=dict)
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class ReportFigure:
    """A figure: its table, and the form that draws it, a module of `reports/forms/`.

    `options` go to the drawing; the caption explains the figure in print. The title says what the
    figure shows, without a full stop.
    """

    table: ReportTable
    form: str
    caption: str
    options: Mapping[str, str] = field(default_factory=dict)
    title: str = ""


@dataclass(frozen=True)
class Gallery:
    """A figure of images, which are looked up in the shards.

    Picking and drawing need only `options`, a dataclass of plain values, `sources`, and the inputs:
    pointers by name, relative to results/, and the tars of the corpora in `shown`. Create it with
    `gallery_of`.
    """

    options: "DataclassInstance"
    sources: Sources
    inputs: Mapping[str, Sequence[str]]
    caption: str
    shown: Sequence[str]  # the corpora whose images it shows
    title: str = ""  # what it shows, without a full stop
    says: tuple[str, ...] = ()  # columns of its table whose values appear below each sample


def gallery_of(
    run: Settings,
    corpora: Sequence[str],
    *,
    options: "DataclassInstance",
    inputs: Mapping[str, Sequence[str]],
    caption: str,
    title: str = "",
    says: tuple[str, ...] = (),
) -> Gallery:
    """Return a gallery of samples of some corpora.

    It reads their tars. For corpora whose images are missing or may not be shown, it reads uids
    from their `samples` instead.
    """
    allowed = run.report.pictures
    shown = [name for name in corpora if allowed and has_pictures(run, name)]
    hidden = [name for name in corpora if name not in shown]
    if hidden:
        inputs = {**inputs, "samples": part_files(run, "samples", hidden)}
        why = _no_pictures([run.title(name) for name in hidden]) if allowed else NOT_SHOWN
        caption = f"{caption} {why}"
    tars = tuple(CorpusTars(name, len(run.shards(name))) for name in shown)
    return Gallery(options, Sources(allowed, tars), inputs, caption, shown, title, says)


def _no_pictures(titles: Sequence[str]) -> str:
    have = "has" if len(titles) == 1 else "have"
    return (
        f"{', '.join(titles)} {have} no images; the uids of samples, or the first digits, "
        "replace them."
    )


def numbered(rows: Iterable[Mapping[str, object]]) -> list[RelationRow]:
    """Return the rows of a relation, each with its `position`, from 0."""
    return [{"position": position, **row} for position, row in enumerate(rows)]


def in_run(
    rows: Iterable[RelationRow], name: Callable[[RelationRow], str]
) -> tuple[list[RelationRow], str]:
    """Return the rows whose models are trained, and the end of a caption that names the others.

    The end is "" if all are trained, and names no model that has a row.
    """
    rows = list(rows)
    found = [row for row in rows if row["in_grid"]]
    shown = {name(row) for row in found}
    said = untrained(each for each in map(name, rows) if each not in shown)
    return found, f" {said}" if said else ""


def titled(column: str, titles: Iterable[tuple[str, str]]) -> list[RelationRow]:
    """Return a relation of names and their titles: position, `column`, title."""
    return numbered({column: name, "title": title} for name, title in titles)


def corpus_rows(run: Settings, column: str, names: Iterable[str]) -> list[RelationRow]:
    """Return a relation of corpora, such as `testsets`: position, `column`, title."""
    return titled(column, ((name, run.title(name)) for name in names))


def encoder_title(run: Settings, name: str) -> str:
    """Return an encoder's title in tables and figures."""
    return run.encoders[name].title or name


def members(run: Settings, manifest: str) -> list[dict[str, object]]:
    """Return the relation `members` of one manifest: its corpora and their prunings."""
    return [
        {"manifest": manifest, "corpus": corpus, "pruning": pruning}
        for corpus, pruning in run.manifests()[manifest].items()
    ]


def manifest_files(run: Settings, made_of: Relation) -> list[str]:
    """Return the parts of all member manifests, each once."""
    return once(
        paths.manifest(str(member["corpus"]), str(member["pruning"]), part)
        for member in made_of
        for part in run.parts(str(member["corpus"]))
    )


def part_files(run: Settings, folder: str, corpora: Sequence[str], suffix: str = "") -> list[str]:
    """Return the parts of a folder of each corpus: `<folder>/<corpus><suffix>/<part>`."""
    return [
        paths.of_part(folder, f"{corpus}{suffix}", part)
        for corpus in corpora
        for part in run.parts(corpus)
    ]


def encoder_files(
    run: Settings, folder: str, encoders: Sequence[str], corpora: Sequence[str]
) -> list[str]:
    """Return the parts of each corpus by each encoder: `<folder>/<encoder>/<corpus>/<part>`."""
    return [path for each in encoders for path in part_files(run, f"{folder}/{each}", corpora)]


def prediction_files(models: Iterable[tuple[str, str]], test_sets: Sequence[str]) -> list[str]:
    """Return the predictions of models, each (recipe, manifest), on some test sets."""
    return once(
        paths.predictions(recipe, manifest, test_set)
        for recipe, manifest in models
        for test_set in test_sets
    )


def once(named: Iterable[str]) -> list[str]:
    """Return names without repetition, in the order of their first occurrence.

    >>> once(["b", "a", "b"])
    ['b', 'a']
    """
    return list(dict.fromkeys(named))
