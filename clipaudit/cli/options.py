"""Options that commands share, and how errors and byte counts are printed."""

import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from clipaudit.errors import ClipauditError, InputError
from clipaudit.plaintext import plain
from clipaudit.store.disks import disk_error
from clipaudit.store.encodings import refuse_other_encodings
from clipaudit.suggestions import cd_first, similar_path

HELP_OPTIONS = ["-h", "--help"]


class Group(click.Group):
    """A click group with -h; it prints our own errors as one message, without a traceback."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:  # noqa: ANN401
        """Accept the arguments of click's group."""
        settings.setdefault("context_settings", {"help_option_names": HELP_OPTIONS})
        super().__init__(*arguments, **settings)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401
        """Run the command; see the class."""
        try:
            os.getcwd()
        except FileNotFoundError as error:
            raise click.ClickException(
                "the current folder was removed. Go to another one, by cd, and start the same "
                "command again."
            ) from error
        try:
            refuse_other_encodings()
            return super().invoke(ctx)
        except ClipauditError as error:
            raise click.ClickException(str(error)) from error
        except UnicodeEncodeError as error:
            if error.encoding == "utf-8":
                raise
            raise click.ClickException(
                f"the output's encoding, {error.encoding}, lacks {error.object[error.start]!a}. "
                "Set PYTHONIOENCODING=utf-8 and start the same command again."
            ) from error
        except Exception as error:
            refused = disk_error(error, among="the store, the results or the output")
            if refused is not None:
                raise click.ClickException(str(refused)) from error
            if not _lacks_memory(error):
                raise
            said = str(error).partition("\n")[0] or "MemoryError"
            raise click.ClickException(
                f"there is not enough memory ({plain(said)}). Allow this process more (`ulimit "
                "-v`, or the memory of the job or container), and start the same command again: "
                "finished work is kept."
            ) from error


def _lacks_memory(error: Exception) -> bool:
    """Return whether Python, Arrow, whose error is also a MemoryError, or DuckDB got no memory."""
    duckdb = sys.modules.get("duckdb")  # do not import it for this
    in_duckdb = duckdb is not None and isinstance(error, duckdb.OutOfMemoryException)
    return in_duckdb or isinstance(error, MemoryError)


Decorator = Callable[[Any], Any]


class Folder(click.Path):
    """A folder of a run; if it is missing or closed, the message says what to do."""

    def __init__(self, *, exists: bool) -> None:
        """With `exists`, require the folder to exist."""
        super().__init__(path_type=Path, exists=exists, file_okay=False)

    def convert(
        self,
        value: Any,  # noqa: ANN401
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:  # noqa: ANN401
        """Return the folder as a path; see the class."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            option = param.opts[0] if param else "an option"
            if os.path.isdir(value):
                advice = f"Give this user permission for it, or name another with {option}."
            else:
                advice = _instead(Path(value), option)
            message = f"{error.message} {advice}"
            raise click.BadParameter(message, ctx, param) from error


def _instead(missing: Path, option: str) -> str:
    if below := cd_first(missing):
        return f"{below}, or give the folder with {option}."
    near = similar_path(missing, folders=True)
    guess = f"Did you mean {near}? " if near else ""
    return (
        f"{guess}Go to the folder where the run was started, or give the folder with {option}. "
        "`clipaudit run SETTINGS` starts a run, `clipaudit init` lists example settings."
    )


def results_option(help: str = "Folder of the run's results.", *, exists: bool = True) -> Decorator:
    """Add the option for the results folder; without `exists` it may be missing."""
    folder = Folder(exists=exists)
    return click.option("--results", type=folder, default="results", show_default=True, help=help)


def store_option(
    help: str = "Folder of the content-addressed store.", *, exists: bool = True
) -> Decorator:
    """Add the option for the store; without `exists` it may be missing."""
    folder = Folder(exists=exists)
    return click.option(
        "--store",
        type=folder,
        default="store",
        show_default=True,
        envvar="CLIPAUDIT_STORE",
        help=help,
    )


def format_option(*forms: str, help: str) -> Decorator:
    """Add the option for the output format; the first form is the default."""
    choice = click.Choice(forms)
    return click.option(
        "--format", "form", type=choice, default=forms[0], show_default=True, help=help
    )


class Output(click.Path):
    """A file or folder to write in place of an earlier one, never of a device or a pipe."""

    def __init__(self, *, dir_okay: bool = True) -> None:
        """Without `dir_okay`, only a file may be there."""
        super().__init__(path_type=Path, dir_okay=dir_okay)

    def convert(
        self,
        value: Any,  # noqa: ANN401
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:  # noqa: ANN401
        """Return the path; see the class."""
        path: Any = super().convert(value, param, ctx)
        special = path.exists() and not path.is_file() and not path.is_dir()
        if special or path.parent == Path("/dev"):  # /dev/stdout may lead to a file
            self.fail(f"{path} is no file, and a file would replace it. Name a file.", param, ctx)
        return path


def output_option(help: str, *, required: bool = False, folders: bool = False) -> Decorator:
    """Add the option for the file to write; with `folders` it may be a folder."""
    return click.option("--output", type=Output(dir_okay=folders), required=required, help=help)


def form_of(output: Path | None, endings: Mapping[str, str], default: str) -> str:
    """Return the form that belongs to a file's ending; `default` without an ending.

    Raise UsageError for an unknown ending.
    """
    if output is None or not output.suffix:
        return default
    if output.suffix not in endings:
        raise click.UsageError(
            f"{output}: cannot write the format {output.suffix}. Use one of "
            f"{', '.join(endings)}, or give the format with --format."
        )
    return endings[output.suffix]


def profile_option(help: str) -> Decorator:
    """Add the option for a Snakemake profile; see `clipaudit.steps.command`."""
    return click.option(
        "--profile",
        envvar="SNAKEMAKE_PROFILE",
        default="profiles/local",
        show_default=True,
        metavar="NAME|FOLDER",
        help=help,
    )


def cores_option(help: str, **settings: Any) -> Decorator:  # noqa: ANN401
    """Add the option for Snakemake's cores; `settings` are further ones of click's option."""
    return click.option("--cores", callback=_checked_cores, metavar="N", help=help, **settings)


def _checked_cores(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return a number of cores, or `all`. With 0 cores, Snakemake would wait for one forever."""
    if value in (None, "all") or (value.isascii() and value.isdecimal() and int(value) >= 1):
        return value
    raise click.BadParameter(f"{value!r} is neither a whole number of 1 or more, nor all.")


AUDIT_SETTINGS = Path("settings.yaml")  # what `clipaudit audit` writes into its folder
SETTINGS_ENDINGS = (".yaml", ".yml")


def settings_first(
    arguments: Sequence[str], *, more: Sequence[str] = ()
) -> tuple[list[Path], list[str]]:
    """Return the settings file that the first of some arguments names, if it does, and the others.

    Raise InputError if there is no such file, and if neither that argument nor `more` names one
    where an audit's settings lie: the demo's would replace its results.
    """
    if not arguments or not arguments[0].endswith(SETTINGS_ENDINGS):
        if AUDIT_SETTINGS.is_file() and not more:
            raise InputError(
                f"{Path.cwd()}: has a {AUDIT_SETTINGS}, but no settings are given, and the demo's "
                "would replace its results. Name the settings first: "
                f"{shlex.join([str(AUDIT_SETTINGS), *arguments])}"
            )
        return [], list(arguments)
    path = Path(arguments[0])
    if not path.is_file():
        raise InputError(
            f"{path}: no such file. To write one: `clipaudit init NAME --to "
            f"{shlex.quote(str(path))}`."
        )
    return [path], list(arguments[1:])


gpus_option = click.option(
    "--gpus", type=click.IntRange(min=0), metavar="N", help="GPUs to use.  [default: all]"
)
force_option = click.option("--force", is_flag=True, help="Replace the output if it exists.")


_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def size(count: float) -> str:
    """Return a number of bytes in the unit that gives at most three digits before the point.

    >>> size(1500), size(0)
    ('1.5 kB', '0 B')
    """
    for unit in _UNITS[:-1]:
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} {_UNITS[-1]}"
