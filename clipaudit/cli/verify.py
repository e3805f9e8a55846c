"""`clipaudit verify`: whether everything that a run's pointers name is as it was written."""

from pathlib import Path

import click

from clipaudit.cli.options import results_option, store_option
from clipaudit.errors import InputError


@click.command()
@results_option
@store_option
def verify(results: Path, store: Path) -> None:
    """Hash every object that a run's pointers name again, and say what is wrong.

    \b
    Example:
      clipaudit verify
    """
    from clipaudit.lineage.verification import verify_results
    from clipaudit.store import Store

    report = verify_results(results, Store(store))
    for fault in report.faults:
        click.echo(f"{fault.pointer}: {fault.what}", err=True)
    click.echo(f"{report.pointers} pointers, {report.objects} objects, {report.bytes:,} bytes")
    if report.faults:
        raise InputError(
            f"{len(report.faults)} pointers cannot be trusted. Remove the altered objects' "
            "pointers and run the same snakemake command again."
        )
    click.echo("all as they were written")
