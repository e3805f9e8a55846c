"""`clipaudit answers`: print the answers of a finished run."""

import json
from pathlib import Path

import click

from clipaudit.cli import completion
from clipaudit.cli.options import AUDIT_SETTINGS, format_option


@click.command()
@click.argument(
    "settings",
    type=click.Path(path_type=Path, dir_okay=False),
    required=False,
    shell_complete=completion.settings_files,
)
@format_option("text", "json", help="How to print; JSON also has the rows of the cited tables.")
def answers(settings: Path | None, form: str) -> None:
    """Print the answers of a finished run, as on the first page of its report.

    SETTINGS is the run's settings file: by default settings.yaml, which `clipaudit audit` writes,
    else the demo's settings.

    \b
    Example:
      clipaudit answers my.yaml
      clipaudit answers my.yaml --format json > answers.json
    """
    from clipaudit.config.loading import over_default, parse_settings, read_settings
    from clipaudit.site.told import read_told, told_lines

    if settings is None and AUDIT_SETTINGS.is_file():
        settings = AUDIT_SETTINGS
    told = read_told(parse_settings(over_default(read_settings(settings) if settings else {})))
    if form == "json":
        click.echo(json.dumps(told, indent=1))
        return
    for line in told_lines(told):
        click.echo(line)
