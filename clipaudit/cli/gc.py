"""`clipaudit gc`: give back the disk that nothing named any more occupies."""

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clipaudit.cli.options import format_option, store_option
from clipaudit.plaintext import plain

if TYPE_CHECKING:
    from clipaudit.lineage.keeping.collection import Collection

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}  # in seconds
_KINDS = {
    "objects": "objects that nothing names",
    "actions": "stored actions that placed no pointer of now",
    "unfinished": "leftovers of steps that were killed",
    "seen": "memos of objects that are gone",
    "pieces": "notes of what actions that are gone hold",
    "files": "memos of users' files that are gone",
    "quarantine": "damaged objects that were put aside",
}


def _seconds(context: click.Context, option: click.Parameter, value: str) -> float:
    """Return the seconds of a time such as 7d, 12h or 90s."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", value)
    if not found:
        message = f"{value!r} is no time. Write 7d, 12h, 30m or 90s."
        raise click.BadParameter(message, context, option)
    return float(found[1]) * _UNITS[found[2]]


@click.command()
@click.option("--delete", is_flag=True, help="Remove it; without this, only say what would go.")
@click.option("--dry-run", is_flag=True, help="Only say what would go: the default, by its name.")
@click.option(
    "--grace",
    metavar="DURATION",
    callback=_seconds,
    default="7d",
    show_default=True,
    help="What was written or used within this time stays.",
)
@click.option(
    "--results",
    "folders",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    multiple=True,
    help="A results folder that uses the store, besides those that lie beside it or that runs "
    "have registered.",
)
@click.option(
    "--forget-missing",
    is_flag=True,
    help="Let go of what registered results folders named that are not there any more.",
)
@click.option(
    "--no-lock",
    is_flag=True,
    help="Go on where the disk cannot lock files; never run two at once then.",
)
@format_option("text", "json", help="How to print what goes and what stays.")
@store_option()
def gc(
    delete: bool,
    dry_run: bool,
    grace: float,
    folders: tuple[Path, ...],
    forget_missing: bool,
    no_lock: bool,
    form: str,
    store: Path,
) -> None:
    """Remove objects that no results folder and no pin names any more.

    A dry run unless --delete is given. Runs may go on meanwhile: what they wrote or took within
    the grace period stays. Lineage records, and what was read in pictures, always stay.

    \b
    Example:
      clipaudit gc
      clipaudit gc --delete --grace 30d
    """
    if delete and dry_run:
        raise click.UsageError("Give --delete or --dry-run, and not both.")
    from clipaudit.lineage.keeping.collection import collect
    from clipaudit.store.store import Store

    done = collect(
        Store(store),
        grace=grace,
        folders=folders,
        delete=delete,
        forget_missing=forget_missing,
        lock=not no_lock,
    )
    if form == "json":
        click.echo(json.dumps({"deleted": delete, **asdict(done)}, indent=1, default=str))
    else:
        _tell(done, delete)


def _tell(done: "Collection", delete: bool) -> None:
    for name, pointers in done.roots.items():
        click.echo(f"{plain(name)}: {pointers} pointers")
    for folder in done.gone:
        lost = "forgotten" if delete else "--delete will ask for it, or for --forget-missing"
        click.echo(f"{plain(folder)}: not there: {lost}", err=True)
    if done.running:
        click.echo(f"{done.running} steps at work: what they may have written stays")
    click.echo(f"kept: {done.kept.files} objects, {done.kept.bytes:,} bytes")
    if done.young.files:
        click.echo(f"kept for now: {done.young.files} objects, {done.young.bytes:,} bytes, young")
    for name, amount in sorted(done.pins.items()):
        click.echo(f"pin {name} alone keeps {amount.files} objects, {amount.bytes:,} bytes")
    verb = "removed" if delete else "would be removed"
    for kind, amount in done.garbage.items():
        if amount.files:
            click.echo(f"{verb}: {amount.files} {_KINDS[kind]}, {amount.bytes:,} bytes")
    total = sum(amount.bytes for amount in done.garbage.values())
    hint = "" if delete or not total else "; run again with --delete"
    click.echo(f"{verb} in all: {total:,} bytes{hint}")
