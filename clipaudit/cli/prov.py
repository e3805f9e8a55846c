"""`clipaudit prov`: write the provenance of tables and figures in standard formats."""

from pathlib import Path

import click

from clipaudit.cli import completion
from clipaudit.cli.options import force_option, output_option, results_option, store_option


@click.command()
@click.option(
    "--format",
    "form",
    type=click.Choice(["ro-crate", "openlineage"]),
    required=True,
    help="ro-crate: a folder, or a .zip, with the tables and figures; openlineage: events as JSON "
    "lines.",
)
@output_option("File or folder to write.", required=True, folders=True)
@click.option(
    "--table",
    "tables",
    multiple=True,
    shell_complete=completion.tables,
    help="Name of a table or figure; may be repeated. All of them if absent.",
)
@click.option("--summary", is_flag=True, help="One action for each step and its code (ro-crate).")
@click.option(
    "--no-files",
    is_flag=True,
    help="Describe tables and figures without including them; needs no objects (ro-crate).",
)
@click.option("--license", "terms", help="Licence of the crate: a URL or words (ro-crate).")
@force_option
@results_option()
@store_option()
def prov(
    form: str,
    output: Path,
    tables: tuple[str, ...],
    summary: bool,
    no_files: bool,
    terms: str | None,
    force: bool,
    results: Path,
    store: Path,
) -> None:
    """Write the provenance of report tables and figures: actions, settings, code, shards.

    \b
    Example:
      clipaudit prov --format ro-crate --output crate
      clipaudit prov --format openlineage --table similarity_table1 --output events.jsonl
    """
    if form == "openlineage" and (summary or no_files or terms):
        raise click.UsageError("--summary, --no-files and --license need --format ro-crate.")
    from clipaudit.lineage.earlier_tables import earlier, earlier_note
    from clipaudit.plaintext import many, plain
    from clipaudit.provenance.crate import METADATA, write_crate
    from clipaudit.provenance.events import write_events
    from clipaudit.provenance.recorded import recorded
    from clipaudit.store.outputs import whole_output
    from clipaudit.store.store import Store

    opened = Store(store)
    run = recorded(results, opened, tables)
    with whole_output(output, force=force, mark=METADATA if form == "ro-crate" else None) as new:
        if form == "ro-crate":
            zipped = output.suffix == ".zip"
            write_crate(
                run, opened, new, summary=summary, files=not no_files, terms=terms, zipped=zipped
            )
        else:
            write_events(run, opened, new)
    click.echo(
        f"{plain(output)}: {many(len(run.records), 'action')} behind "
        f"{many(len(run.targets), 'file')}",
        err=True,
    )
    tables_of_run = [each.name for each in run.targets if each.name.endswith(".parquet")]
    if others := earlier(results, tables_of_run):
        click.echo(f"{earlier_note(others)} Name those you mean by --table.", err=True)
