"""What the commands share: their options, and how errors and numbers of bytes are printed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from clipaudit.errors import ClipauditError
from clipaudit.store.disks import disk_error


class Group(click.Group):
    """A click group that prints our own errors as one message, without a traceback."""

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401
        """Run the command; see the class."""
        try:
            return super().invoke(ctx)
        except ClipauditError as error:
            raise click.ClickException(str(error)) from error
        except Exception as error:
            refused = disk_error(error, among="the store, the results or the output")
            if refused is None:
                raise
            raise click.ClickException(str(refused)) from error


Decorator = Callable[[Any], Any]


def results_option(help: str = "Folder of the run's results.", *, exists: bool = True) -> Decorator:
    """Add the option that names the folder of a run's results; without `exists` it need not be."""
    folder = click.Path(path_type=Path, exists=exists, file_okay=False)
    return click.option("--results", type=folder, default="results", show_default=True, help=help)


def store_option(
    help: str = "Folder of the content-addressed store.", *, exists: bool = True
) -> Decorator:
    """Add the option that names the store; without `exists` it need not be there."""
    folder = click.Path(path_type=Path, exists=exists, file_okay=False)
    return click.option(
        "--store",
        type=folder,
        default="store",
        show_default=True,
        envvar="CLIPAUDIT_STORE",
        help=help,
    )


def format_option(*forms: str, help: str) -> Decorator:
    """Add the option that says how an answer is printed: the first of some forms by default."""
    choice = click.Choice(forms)
    return click.option(
        "--format", "form", type=choice, default=forms[0], show_default=True, help=help
    )


def output_option(help: str, *, required: bool = False, folders: bool = False) -> Decorator:
    """Add the option that names the file to write; with `folders` it may be a folder."""
    path = click.Path(path_type=Path, dir_okay=folders)
    return click.option("--output", type=path, required=required, help=help)


def profile_option(help: str) -> Decorator:
    """Add the option that names a profile of Snakemake's; see `clipaudit.steps.command`."""
    return click.option(
        "--profile",
        envvar="SNAKEMAKE_PROFILE",
        default="profiles/local",
        show_default=True,
        metavar="NAME|FOLDER",
        help=help,
    )


gpus_option = click.option(
    "--gpus", type=click.IntRange(min=0), metavar="N", help="GPUs to use.  [default: all]"
)
force_option = click.option("--force", is_flag=True, help="Replace the output if it exists.")


_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def size(count: float) -> str:
    """Return a number of bytes in the unit that leaves three digits or less before the point.

    >>> size(1500), size(0)
    ('1.5 kB', '0 B')
    """
    for unit in _UNITS[:-1]:
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} {_UNITS[-1]}"
