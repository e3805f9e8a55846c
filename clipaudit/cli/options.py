"""What the commands share: the folders that they work on, and how our errors are printed."""

from pathlib import Path
from typing import Any

import click

from clipaudit.errors import ClipauditError


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
