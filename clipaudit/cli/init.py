"""`clipaudit init`: write example settings."""

import json
import shlex
from pathlib import Path

import click

from clipaudit.cli import completion
from clipaudit.cli.options import SETTINGS_ENDINGS, Output, force_option, format_option
from clipaudit.errors import InputError


@click.command()
@click.argument("name", required=False, shell_complete=completion.examples)
@click.option(
    "--to",
    "target",
    type=Output(dir_okay=False),
    help="File to write.  [default: NAME.yaml]",
)
@force_option
@format_option("text", "json", help="How to print the list of examples.")
def init(name: str | None, target: Path | None, force: bool, form: str) -> None:
    """Write the example settings NAME; without NAME, list the examples.

    The command also writes files in config/ that the settings name: settings that they extend, and
    class names. It keeps your own files of these names.

    \b
    Example:
      clipaudit init
      clipaudit init laion400m --to my.yaml
    """
    from clipaudit.config.examples import companions, example, examples

    if name is None and form == "json":
        click.echo(json.dumps(examples(), indent=1))
        return
    if name is None:
        for each, sentence in examples().items():
            click.echo(f"{each:<{max(map(len, examples()))}}  {sentence}")
        click.echo("\nNext: clipaudit init NAME")
        return
    source = example(name)
    target = target or Path(f"{name}.yaml")
    if not target.name.endswith(SETTINGS_ENDINGS):
        raise InputError(
            f"{target}: a file of settings ends in {' or '.join(SETTINGS_ENDINGS)}, or `clipaudit "
            f"run` takes it for a target. Write --to {shlex.quote(f'{target}.yaml')}."
        )
    if target.exists() and not force:
        raise InputError(f"{target}: exists. Replace it with --force, or give another file (--to).")
    _write(source, target)
    for path, file in companions(source).items():
        _write_companion(file, Path(path), force)
    click.echo(
        "Next: put your paths in, then\n"
        f"  clipaudit plan {shlex.quote(str(target))}\n"
        f"  clipaudit run {shlex.quote(str(target))}"
    )


def _write_companion(source: Path, target: Path, force: bool) -> None:
    if not target.exists() or (force and target.read_bytes() != source.read_bytes()):
        _write(source, target)
    else:
        click.echo(f"kept {target}")


def _write(source: Path, target: Path) -> None:
    from clipaudit.store.store import replace_text

    replace_text(target, source.read_text(encoding="utf-8"))
    click.echo(f"wrote {target}")
