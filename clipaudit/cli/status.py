"""`clipaudit status`: show the progress of a run."""

import time
from pathlib import Path

import click

from clipaudit.cli.options import format_option


@click.command()
@click.option(
    "--runs",
    type=click.Path(path_type=Path, file_okay=False),
    default="logs/runs",
    show_default=True,
    help="Folder where runs write their logs.",
)
@click.option("--follow", is_flag=True, help="Print it every 5 seconds until the run ends.")
@format_option("text", "json", help="How to print the status.")
def status(runs: Path, follow: bool, form: str) -> None:
    """Show the progress of the last run: stages, rate, time left, and what failed.

    This needs a profile with `logger: clipaudit`, as in this project's profiles.

    \b
    Example:
      clipaudit status --follow
    """
    from clipaudit.runs.status_text import run_status, status_json, status_lines

    while True:
        now = time.time()
        found = run_status(runs)
        if form == "json":
            click.echo(status_json(found, now))
        else:
            for line in status_lines(found, now):
                click.echo(line)
        if not follow or found.ended or found.lost:
            return
        time.sleep(5)
