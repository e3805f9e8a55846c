"""`clipaudit sql`: query the tables of a run with SQL."""

import sys
from dataclasses import dataclass
from pathlib import Path
from sqlite3 import complete_statement
from typing import Any

import click

from clipaudit.cli.options import form_of, output_option, results_option, store_option
from clipaudit.errors import ClipauditError, InputError

FORMATS = ("table", "csv", "json", "jsonl", "parquet", "markdown")
_ENDINGS = {
    ".txt": "table", ".csv": "csv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".parquet": "parquet", ".md": "markdown",
}  # fmt: skip
_HELP = """\
End a statement with a semicolon. Other commands:
  .tables         list the views, and what a row of each is
  .schema VIEW    list a view's columns, and what they mean
  .quit           quit; Ctrl-D does the same"""


@click.command()
@click.argument("query", required=False)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="Format of the rows; by default from the ending of --output, else a table.",
)
@output_option("File to write; required for Parquet.")
@results_option()
@store_option("Folder of the content-addressed store, for the view `records`.", exists=False)
def sql(
    query: str | None, form: str | None, output: Path | None, results: Path, store: Path
) -> None:
    """Query the tables of a run with SQL; without QUERY, start a shell.

    The shell reads statements, typed or piped in; if the pipe is empty, it lists the tables. The
    view `audit` has one row per sample across the audits, `records` one per lineage record.
    `.schema audit` shows what each column means. A query can write only its answer and read no
    other file. QUERY may also be .tables, or .schema VIEW.

    \b
    Example:
      clipaudit sql "select testset, accuracy from similarity_table1 where baseline is null"
      clipaudit sql "from audit where recall_gap > 0.5" --output recall_gaps.csv
      clipaudit sql ".schema audit"
    """
    form = form or form_of(output, _ENDINGS, "table")
    if form == "parquet" and output is None:
        raise click.UsageError("Parquet needs a file. Give --output FILE.")
    if output is not None and query is None:
        raise click.UsageError("--output needs a QUERY.")
    if query is not None and not query.strip():
        raise click.UsageError("QUERY is empty. Is a variable of the shell not set?")
    is_command = query is not None and query.lstrip().startswith(".")
    if output is not None and is_command:
        raise click.UsageError(f"{query} can only be printed. Remove --output.")
    from clipaudit.catalog.answers import write_answers
    from clipaudit.catalog.views import open_catalog

    with open_catalog(results, store) as connection:
        if query is not None and is_command:
            _Shell(connection, form, store).take(query)
        elif query is not None:
            write_answers(connection, query, form, output, store)
        elif sys.stdin.isatty():
            _Shell(connection, form, store).run()
        else:
            _Shell(connection, form, store).script(sys.stdin.read())


@dataclass
class _Shell:
    """A shell that answers statements; the last one may still lack its semicolon."""

    connection: Any  # DuckDB's, which `--help` must not import
    form: str
    store: Path
    waiting: str = ""

    def script(self, text: str) -> None:
        """Answer a text; list the tables if it is empty. The first error ends it."""
        for line in text.split("\n") if text.strip() else [".tables"]:
            if not self.take(line):
                return
        if self.waiting:
            self._answer(self.waiting)

    def run(self) -> None:
        """Answer typed lines until the end of input; errors are printed and do not end it."""
        import readline  # noqa: F401  # gives `input` line editing and history

        click.echo(_HELP, err=True)
        more = True
        while more:
            try:
                more = self.take(input("   ...> " if self.waiting else "audit> "))
            except EOFError:
                more = False
                click.echo(err=True)
            except KeyboardInterrupt:
                self.waiting = ""
                click.echo(err=True)
            except ClipauditError as error:
                self.waiting = ""
                click.echo(f"Error: {error}", err=True)

    def take(self, line: str) -> bool:
        """Answer the statement that a line completes; False after `.quit`."""
        if line.lstrip().startswith(".") and not self.waiting:
            return self._command(line)
        self.waiting = f"{self.waiting}{line}\n".lstrip()
        if complete_statement(self.waiting):  # not at a semicolon within a text
            self._answer(self.waiting)
        return True

    def _answer(self, text: str) -> None:
        from clipaudit.catalog.answers import write_answers

        self.waiting = ""
        write_answers(self.connection, text, self.form, store=self.store)

    def _command(self, line: str) -> bool:
        from clipaudit.catalog.answers import describe_view, list_tables

        word, _, rest = line.strip().rstrip(";").partition(" ")
        if word == ".tables" and not rest:
            list_tables(self.connection, self.form)
        elif word == ".schema" and rest:
            describe_view(self.connection, rest.strip(), self.store, self.form)
        elif word != ".quit":
            raise InputError(f"{line.strip()}: no such command.\n{_HELP}")
        return word != ".quit"
