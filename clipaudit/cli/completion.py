"""Shell completion of the names in a run, read without a lock and without computing.

Without a run nothing is completed. No message is ever printed.
"""

import re
from collections.abc import Iterable
from pathlib import Path

import click

_MOST_SAMPLES = 50  # offered to the shell; more would fill the screen
_PREFIX_DIGITS = 2  # of a uid; fewer would match too many


def tables(context: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of report tables and figures."""
    files = (file for each in ("tables", "figures") for file in _results(context, f"{each}/*.json"))
    return _begun(incomplete, {file.name.partition(".")[0] for file in files})


def columns(context: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the columns of the table that the command names."""
    import pyarrow.parquet as pq

    # click has not parsed the arguments yet if an option waits for its value
    name = context.params.get("table") or next(iter(context.args), None)
    files = [
        file
        for each in ("tables", "figures")
        for file in _results(context, f"{each}/{name}.parquet")
    ]
    return _begun(incomplete, pq.read_schema(files[0]).names if files else ())


def corpora(context: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of corpora."""
    return _begun(incomplete, {folder.name for folder in _results(context, "samples/*")})


def manifests(context: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of manifests: `corpus/name`, and sealed ones."""
    own = {f"{each.parent.name}/{each.name}" for each in _results(context, "manifests/*/*")}
    return _begun(incomplete, own | {each.stem for each in _results(context, "sealed/*.json")})


def samples(context: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return uids of the corpus that the command names, once two of their digits are typed."""
    from clipaudit.catalog.views import CATALOG, open_catalog

    results = _folder(context)
    if (
        not re.fullmatch(f"[0-9a-f]{{{_PREFIX_DIGITS},32}}", incomplete)
        or not (results / CATALOG).is_file()
    ):
        return []
    with open_catalog(results) as connection:
        found = connection.execute(
            "select distinct uid from samples where corpus = ? and starts_with(uid, ?) "
            f"order by uid limit {_MOST_SAMPLES}",
            [context.params.get("corpus"), incomplete],
        ).fetchall()
    return [uid for (uid,) in found]


def pins(context: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of pinned runs."""
    store = Path(context.params.get("store") or "store")
    return _begun(incomplete, (each.stem for each in store.glob("pins/*.json")))


def examples(context: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of example settings."""
    from clipaudit.config.examples import examples as known

    return _begun(incomplete, known())


def targets(context: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the usual targets and the settings files of the current folder."""
    from clipaudit.steps.command import EVERYTHING

    return _begun(incomplete, EVERYTHING) + settings_files(context, param, incomplete)


def settings_files(context: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the settings files of the current folder."""
    return _begun(incomplete, map(str, Path().glob("*.y*ml")))


def _folder(context: click.Context) -> Path:
    return Path(context.params.get("results") or "results")


def _results(context: click.Context, pattern: str) -> list[Path]:
    return list(_folder(context).glob(pattern))


def _begun(incomplete: str, names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))
