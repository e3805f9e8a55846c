"""`clipaudit why`: trace a number to its sources."""

import json
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clipaudit.cli import completion
from clipaudit.cli.options import format_option, results_option, store_option
from clipaudit.errors import InputError
from clipaudit.plaintext import plain
from clipaudit.suggestions import folder_options

if TYPE_CHECKING:
    from clipaudit.store.store import Store

PIPED_WIDTH = 120  # columns if standard output is not a terminal


@click.command()
@click.argument("table", shell_complete=completion.tables)
@click.option("--where", help="SQL condition on the table's columns; all rows if absent.")
@click.option(
    "--column",
    shell_complete=completion.columns,
    help="Column to trace; whole rows if absent.",
)
@click.option(
    "--cell",
    nargs=2,
    metavar="ROW COLUMN",
    help="Cell to trace, by the row and column names in the printed table.",
)
@click.option(
    "--rows",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    help="Show this many of the rows used from each input.",
)
@format_option("text", "json", "mermaid", help="How to print the answer.")
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    help="Levels of actions to show; shards are the last level.  [default: 2]",
)
@click.option("--settings", is_flag=True, help="Show each action's settings and environment.")
@click.option(
    "--all", "every", is_flag=True, help="Show SQL, settings, all levels, and every file."
)
@click.option("--code", is_flag=True, help="Name the modules and files behind each code digest.")
@click.option("--sql", is_flag=True, help="Show the SQL that made the table.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0),
    help="Time limit for finding the rows used.  [default: 0.8]",
)
@results_option()
@store_option()
def why(
    table: str,
    where: str | None,
    column: str | None,
    cell: tuple[str, str] | None,
    rows: int,
    form: str,
    depth: int | None,
    settings: bool,
    every: bool,
    code: bool,
    sql: bool,
    seconds: float | None,
    results: Path,
    store: Path,
) -> None:
    """Trace a table's cells to their sources: rows of the inputs, actions, shards, code, SQL.

    TABLE is a name such as similarity_table1 or parrot_fig7, or the path of any of its files. The
    rows used are found by recomputing: from them alone the SQL gives the same cells. Below them
    come the actions that made their files, two levels deep unless --depth or --all says otherwise.
    Files that differ only in numbers (part, group, epoch) are shown once.

    JSON is one object: table, where, column, meaning, rows, count; sql (name, text, origin);
    parts (of each input of the SQL: files, of_files, rows, of_rows, by, sample); verified; notes;
    actions by key; edges (to, input, from, path, digest, labels, more); code. Mermaid is a flow
    chart.

    \b
    Example:
      clipaudit why similarity_table1 --column accuracy \\
        --where "dataset = 'sketch-pruned' and testset = 'sketch'"
      clipaudit why parrot_table1 --cell "CoTR, %" "glyph posters"
    """
    if cell is not None and (where or column):
        raise click.UsageError("Give either --cell, or --where and --column.")
    from clipaudit.lineage.why.answer import SECONDS
    from clipaudit.lineage.why.answer import why as answered
    from clipaudit.lineage.why.tree_text import Shown, why_mermaid, why_text
    from clipaudit.store.store import Store

    opened = Store(store)
    if cell is not None:
        where, column = _asked(results, opened, table, *cell)
        quoted = shlex.quote(where) if set(where) & set('"$`\\!') else f'"{where}"'
        click.echo(f"Equivalent: --column {column} --where {plain(quoted)}", err=True)
    answer = answered(
        results,
        opened,
        table,
        where,
        column,
        sample=rows,
        fold=not every,
        modules=code,
        seconds=SECONDS if seconds is None else seconds,
    )
    if form == "json":
        click.echo(json.dumps(answer, indent=1, ensure_ascii=True, allow_nan=False))
    elif form == "mermaid":
        click.echo("\n".join(why_mermaid(answer)))
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPED_WIDTH
        shown = Shown(
            sql=sql or every,
            settings=settings or every,
            depth=None if every else depth or 2,
            every=every,
            options=folder_options(results, store),
        )
        click.echo("\n".join(why_text(answer, width, shown)))


def _asked(results: Path, store: "Store", table: str, row: str, column: str) -> tuple[str, str]:
    """Return the condition and the column that a printed cell stands for."""
    from clipaudit.lineage.why.named_tables import find_table
    from clipaudit.reports.rendering import layouts
    from clipaudit.site.asked_cells import asked_cell

    found = find_table(results, store, table)
    name = found.path.stem
    layout = layouts(name).get(name) if found.path.parent.name == "tables" else None
    if layout is None or found.object is None:
        raise InputError(
            f"{found.path}: not printed as a table, or not available. Use --where and --column."
        )
    try:
        return asked_cell(found.object, layout, row, column)
    except InputError as error:
        raise InputError(f"{found.path}: {error}") from error
