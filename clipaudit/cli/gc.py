"""`clipaudit gc`: free the disk space of objects that nothing names any more."""

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
    "actions": "stored actions that placed no current pointer",
    "unfinished": "leftovers of killed steps",
    "seen": "memos of missing objects",
    "pieces": "notes of what missing actions hold",
    "files": "memos of missing user files",
    "quarantine": "damaged objects in quarantine",
}


def _seconds(context: click.Context, option: click.Parameter, value: str) -> float:
    """Return the seconds of a time such as 7d, 12h or 90s."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", value)
    if not found:
        message = f"{value!r} is not a duration. Write 7d, 12h, 30m or 90s."
        raise click.BadParameter(message, context, option)
    return float(found[1]) * _UNITS[found[2]]


@click.command()
@click.option("--delete", is_flag=True, help="Remove the files; without this, only list them.")
@click.option("--dry-run", is_flag=True, help="Only list what would be removed: the default.")
@click.option(
    "--grace",
    metavar="DURATION",
    callback=_seconds,
    default="7d",
    show_default=True,
    help="Keep files that were written or used within this time.",
)
@click.option(
    "--results",
    "folders",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    multiple=True,
    help="Another results folder that uses the store, besides those next to it and those that runs "
    "registered.",
)
@click.option(
    "--forget-missing",
    is_flag=True,
    help="Stop keeping what registered results folders named if the folders no longer exist.",
)
@click.option(
    "--no-lock",
    is_flag=True,
    help="Continue on a disk that cannot lock files; then never run two at the same time.",
)
@format_option("text", "json", help="How to print what is removed and what stays.")
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

    This is a dry run unless --delete is given. Other runs may continue: what they wrote or used
    within the grace period stays. Lineage records and texts read in images always stay.

    \b
    Example:
      clipaudit gc
      clipaudit gc --delete --grace 30d
    """
    if delete and dry_run:
        raise click.UsageError("Give either --delete or --dry-run.")
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
        lost = "forgotten" if delete else "--delete will need it, or --forget-missing"
        click.echo(f"{plain(folder)}: missing: {lost}", err=True)
    if done.running:
        click.echo(f"{done.running} steps running: what they may have written stays")
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
    click.echo(f"{verb} in total: {total:,} bytes{hint}")
