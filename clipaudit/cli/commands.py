"""The commands of `clipaudit`: parse, call the library, print.

Results go to standard output, messages to standard error; exit status 0 done, 1 our error, 2 usage.
"""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from clipaudit.errors import ClipauditError, InputError


class Group(click.Group):
    """A click group that prints our own errors as one message, without a traceback."""

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401
        """Run the command; see the class."""
        try:
            return super().invoke(ctx)
        except ClipauditError as error:
            raise click.ClickException(str(error)) from error


def results_option(command: Any) -> Any:  # noqa: ANN401
    """Add the option that names the folder of a run's results."""
    return click.option(
        "--results",
        type=click.Path(path_type=Path, exists=True, file_okay=False),
        default="results",
        show_default=True,
        help="Folder of the run's results.",
    )(command)


def store_option(command: Any) -> Any:  # noqa: ANN401
    """Add the option that names the store."""
    return click.option(
        "--store",
        type=click.Path(path_type=Path, exists=True, file_okay=False),
        default="store",
        show_default=True,
        envvar="CLIPAUDIT_STORE",
        help="Folder of the content-addressed store.",
    )(command)


@click.group(cls=Group)
@click.version_option(package_name="clipaudit")
def commands() -> None:
    """Audit the training data of CLIP-style models.

    `snakemake --profile profiles/demo all_tables` builds the tables; these commands read them.
    """


@commands.command()
@click.argument("query", required=False)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json"]),
    default="table",
    show_default=True,
    help="How to print the rows.",
)
@results_option
def sql(query: str | None, form: str, results: Path) -> None:
    """Query every table of a run with SQL; without QUERY, list them.

    \b
    Example:
      clipaudit sql "select testset, accuracy from similarity_table1 where baseline is null"
    """
    from clipaudit.catalog import open_catalog

    with open_catalog(results) as connection:
        answer = connection.sql(query or "show tables")
        if form == "table":
            click.echo(str(answer))
        elif form == "csv":
            click.echo(_csv(answer.columns, answer.fetchall()), nl=False)
        else:
            for row in answer.fetchall():
                click.echo(json.dumps(dict(zip(answer.columns, row, strict=True)), default=str))


def _csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


@commands.command()
@results_option
@store_option
def verify(results: Path, store: Path) -> None:
    """Hash every object that a run's pointers name again, and say what is wrong.

    \b
    Example:
      clipaudit verify
    """
    from clipaudit.store import Store
    from clipaudit.verify import verify_results

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


@commands.command()
@click.argument("table", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--where", help="SQL condition on the table's columns; all rows if absent.")
@results_option
@store_option
def why(table: Path, where: str | None, results: Path, store: Path) -> None:
    """Show which actions made a table's rows, down to shards, settings and code.

    \b
    Example:
      clipaudit why results/tables/similarity_table1.parquet --where "dataset = 'sketch-pruned'"
    """
    from clipaudit.store import Store
    from clipaudit.why import why_rows

    for line in why_rows(table, where, results, Store(store)):
        click.echo(line)


@commands.command()
@click.argument("manifest_digest")
@click.argument("shard_number", type=int)
def stream(manifest_digest: str, shard_number: int) -> None:
    """Write the kept samples of one shard of a sealed manifest to standard output, as a tar.

    The store is the folder that CLIPAUDIT_STORE names, else ./store.

    \b
    Example:
      clipaudit stream <manifest digest> 0 | tar --list
    """
    from clipaudit.cli.stream import main

    raise SystemExit(main([manifest_digest, str(shard_number)]))
