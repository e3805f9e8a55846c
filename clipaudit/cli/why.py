"""`clipaudit why`: what a number comes from."""

from pathlib import Path

import click

from clipaudit.cli.options import results_option, store_option


@click.command()
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
    from clipaudit.lineage.why import why_rows
    from clipaudit.store import Store

    for line in why_rows(table, where, results, Store(store)):
        click.echo(line)
