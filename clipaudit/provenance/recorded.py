"""Collect a run's records of its tables and figures for both provenance formats."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from clipaudit.errors import ConfigError, InputError
from clipaudit.lineage.graph import flat
from clipaudit.lineage.walk import actions_below
from clipaudit.store.actions import ActionInput, ActionOutput
from clipaudit.store.placements import placements
from clipaudit.store.records import Record
from clipaudit.store.store import Pointer, Store
from clipaudit.suggestions import did_you_mean

REPORTED = ("tables", "figures")  # folders of results for readers


@dataclass(frozen=True)
class Target:
    """A file of a report table or figure: its path below the results, its content, its maker."""

    name: str
    pointer: Pointer
    action: str


@dataclass(frozen=True)
class Recorded:
    """The actions behind some targets, by key in order of start, and the paths of their files.

    `places` are by output of an action, `names` by digest of the content: paths below the results
    with the ending of the content. Content that is nowhere now has a path made from its digest.
    """

    targets: Sequence[Target]
    records: Mapping[str, Record]
    places: Mapping[tuple[str, str], Sequence[str]]
    names: Mapping[str, Sequence[str]]

    def input_name(self, file: ActionInput) -> str:
        """Return the name of an input: below the results, or the path of a user's file."""
        names = self.names.get(file.digest)
        if not names:
            return file.path
        stem = file.path.removesuffix(".json")
        lies = (name for name in names if stem.endswith(name.rpartition(".")[0]))
        return next(lies, names[0])

    def outputs(self, record: Record) -> Iterator[tuple[str, str, ActionOutput]]:
        """Yield an action's outputs by name: the path, the name, and the output.

        An output at several paths comes once for each.
        """
        for output, given in sorted(record.outputs.items()):
            for place in self.places[record.action, output]:
                yield place, output, given


def recorded(results: Path, store: Store, names: Sequence[str] = ()) -> Recorded:
    """Return the actions behind report tables and figures with these names; without names, all.

    Targets are sorted by name. Raise InputError, with similar names, for one that the results do
    not have, and StoreError if a record is missing.
    """
    placed = placements(results)
    chosen = _chosen(results, list(placed), names)
    wanted = set(chosen)
    found = actions_below(results, store, chosen)
    by_start = dict(sorted(found.items(), key=lambda item: (item[1].execution.started, item[0])))
    targets = []
    places: dict[tuple[str, str], list[str]] = {}
    for path, placement in placed.items():
        if placement.action not in found:
            continue  # from an earlier run, or for tables not requested
        output = found[placement.action].outputs[placement.output]
        stem = path.relative_to(results).as_posix().removesuffix(".json")
        name = stem.removesuffix(output.extension) + output.extension
        places.setdefault((placement.action, placement.output), []).append(name)
        if path in wanted:
            targets.append(Target(name, output.pointer, placement.action))
    return Recorded(targets, by_start, places, _by_content(by_start, places))


def _by_content(
    records: Mapping[str, Record], places: dict[tuple[str, str], list[str]]
) -> dict[str, list[str]]:
    """Return the paths of each digest; an output without a path also gets one in `places`."""
    names: dict[str, list[str]] = {}
    for key, record in records.items():
        for output, given in sorted(record.outputs.items()):
            digest = given.pointer.digest
            lost = f"{record.ingredients.step}/{output}/{digest}{given.extension}"
            names.setdefault(digest, []).extend(places.setdefault((key, output), [lost]))
    return names


def _chosen(results: Path, pointers: Sequence[Path], names: Sequence[str]) -> list[Path]:
    known: dict[str, list[Path]] = {}
    for path in pointers:
        inside = path.relative_to(results)
        if inside.parts[0] in REPORTED:
            known.setdefault(inside.name.partition(".")[0], []).append(path)
    for name in names:
        if name not in known:
            raise InputError(f"{results}: no table or figure {name!r}.{did_you_mean(name, known)}")
    if not known:
        raise InputError(
            f"{results}: no tables or figures yet. Run `clipaudit run SETTINGS all_tables` first."
        )
    return [path for name in dict.fromkeys(names or known) for path in known[name]]


def title(record: Record) -> str:
    """Return a title of an action: its step, and its job's wildcards.

    `nearest corpus=large encoder=own part=00000`
    """
    labels = (f"{name}={value}" for name, value in sorted(record.wildcards.items()))
    return " ".join([record.ingredients.step, *labels])


def parameters(record: Record) -> dict[str, str]:
    """Return an action's settings, environment and versions as texts by dotted name.

    Text is unchanged, everything else JSON; unset settings are omitted.
    """
    around = record.ingredients.environment
    versions = record.execution.versions
    return {
        **{name: _text(value) for name, value in flat(record.ingredients.settings)},
        **{f"environment.{name}": str(around[name]) for name in sorted(around)},
        **{f"library.{name}": versions[name] for name in sorted(versions)},
    }


def ended(record: Record) -> str:
    """Return when an action ended, as ISO 8601."""
    start = datetime.fromisoformat(record.execution.started)
    return (start + timedelta(seconds=record.execution.seconds)).isoformat(timespec="milliseconds")


def needs_extra(library: str, error: ImportError) -> ConfigError:
    """Return the error for a missing library of the extra `prov`."""
    return ConfigError(
        f"{library} is not installed ({error}). "
        "Run `pip install 'clipaudit[prov]'` in this environment."
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
