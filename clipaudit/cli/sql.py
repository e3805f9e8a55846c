"""`clipaudit sql`: SQL over every table of a run."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from clipaudit.cli.options import results_option


@click.command()
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
