"""`clipaudit pin`: keep a run under a name."""

import json
from pathlib import Path

import click

from clipaudit.cli import completion
from clipaudit.cli.options import format_option, results_option, store_option


@click.command()
@click.argument("name", required=False)
@click.option("--list", "listed", is_flag=True, help="Show which runs are kept.")
@click.option(
    "--remove",
    metavar="NAME",
    shell_complete=completion.pins,
    help="Remove the pin of this name.",
)
@format_option("text", "json", help="How to print the list.")
@results_option(exists=False)
@store_option()
def pin(
    name: str | None, listed: bool, remove: str | None, form: str, results: Path, store: Path
) -> None:
    """Keep the current results folder under NAME, to compare a later run with it.

    Its objects stay in the store until the pin is removed. Nothing is copied.

    \b
    Example:
      clipaudit pin before-new-shards
    """
    from clipaudit.lineage.snapshots import check_results, pins, snapshot, unpin
    from clipaudit.lineage.snapshots import pin as keep
    from clipaudit.store.store import Store

    if sum((name is not None, listed, remove is not None)) != 1:
        raise click.UsageError("Give a NAME for the run, or --list, or --remove NAME.")
    if listed and form == "json":
        click.echo(json.dumps(pins(Store(store)), indent=1))
    elif listed:
        for each in pins(Store(store)):
            click.echo(each)
    elif remove is not None:
        unpin(Store(store), remove)
        click.echo(f"pin {remove} removed; it no longer keeps objects", err=True)
    elif name is not None:
        check_results(results)
        kept = snapshot(results)
        keep(Store(store), name, kept)
        click.echo(f"{name} keeps {len(kept.placed)} pointers of {results}", err=True)
