"""`clipaudit audit`: audit tars or images without a settings file."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import chdir, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from clipaudit.cli.options import AUDIT_SETTINGS, cores_option, format_option, gpus_option
from clipaudit.plaintext import plain

if TYPE_CHECKING:
    from clipaudit.config.settings import Settings

LOCK = ".audit.lock"  # held while an audit runs
PROFILE = "local"
STOPPED = "Stopped. The same command continues."


@click.command()
@click.argument("data", nargs=-1, required=True, metavar="DATA...")
@click.option(
    "--against",
    multiple=True,
    metavar="DATA",
    help="Test set to look for in DATA; may be given several times.",
)
@click.option(
    "--sample", type=click.IntRange(min=1), metavar="N", help="Search only N images of DATA."
)
@click.option(
    "--encoder",
    metavar="MODEL",
    help="Also compare images with this model: ViT-B-32:openai, ViT-B-32:FILE, timm/NAME, a folder "
    "(with open_clip_config.json, for an architecture of your own), a name on the hub. Its weights "
    "must be on this machine.",
)
@click.option("--caption", metavar="FIELD", help="Field or column of DATA's captions.")
@click.option("--no-text", is_flag=True, help="Do not read the text in images.")
@click.option(
    "--to",
    type=click.Path(path_type=Path, file_okay=False),
    default="audit",
    show_default=True,
    help="Folder for settings, results, store and report.",
)
@cores_option("Cores to use, or `all`.", default="all", show_default=True)
@gpus_option
@click.option("--plan", "planned", is_flag=True, help="Show what would be computed, and stop.")
@format_option("text", "json", help="How to print the answers.")
def audit(
    data: tuple[str, ...],
    against: tuple[str, ...],
    sample: int | None,
    encoder: str | None,
    caption: str | None,
    no_text: bool,
    to: Path,
    cores: str,
    gpus: int | None,
    planned: bool,
    form: str,
) -> None:
    """Find copies of test images, duplicates and parroting captions in training DATA.

    DATA are tars (webdatasets) or Parquet files with images, patterns such as
    'web/{00000..00041}.tar', folders of these, folders of images with captions in .txt files or
    metadata.csv, or tables (.csv, .tsv, .json, .jsonl, .token) that name images and captions. The
    command reads them in place and trains nothing. It writes the settings to settings.yaml in the
    folder --to. A second call, also with more shards, computes only what is new.

    \b
    Example:
      clipaudit audit data/web/ --against imagenet-val/
      clipaudit audit 'web/{00000..00041}.tar' --against val.tar --sample 100000 --no-text
      clipaudit audit data/web/ --against val/ --encoder facebook/dinov2-small
    """
    from clipaudit.config.loading import parse_settings, read_settings
    from clipaudit.imports.asked_data import find_corpora, settings_text
    from clipaudit.store.store import replace_text

    start = time.monotonic()
    with _only_audit(to):
        corpora = find_corpora(
            data,
            against,
            to,
            caption=caption,
            settings=to / AUDIT_SETTINGS,
            say=lambda note: click.echo(note, err=True),
        )
        text = settings_text(corpora, reads_text=not no_text, sample=sample, encoder=encoder)
        replace_text(to / AUDIT_SETTINGS, text)
        with chdir(to):
            if planned:
                _plan(form)
                return
            run = parse_settings(read_settings(AUDIT_SETTINGS))
            _compute(Path(run.results), cores, gpus)
        _answer(run, to, form, time.monotonic() - start)


@contextmanager
def _only_audit(to: Path) -> Iterator[None]:
    """Refuse a second audit in a folder; an error before anything is written leaves no folder."""
    from clipaudit.store.locks import alone

    is_new = not os.path.exists(to)
    if is_new and os.path.islink(to):
        raise click.ClickException(
            f"{plain(to)}: a link to {plain(os.readlink(to))}, which does not exist. Mount or make "
            "that folder, or name another one by --to."
        )
    refusal = (
        f"{plain(to)}: another `clipaudit audit` is running in this folder. Wait until it has "
        "ended, or name another folder by --to."
    )
    try:
        to.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.ClickException(
            f"{plain(to)}: cannot be made ({error.strerror}). Name another folder by --to."
        ) from error
    try:
        with alone(to / LOCK, refusal=refusal):
            yield
    finally:
        if is_new:
            with suppress(OSError):  # it is not empty
                to.rmdir()


def _plan(form: str) -> None:
    from clipaudit.cli.plan import plan
    from clipaudit.steps.command import EVERYTHING

    asked = ["--configfile", str(AUDIT_SETTINGS), "--profile", PROFILE, "--format", form]
    plan.main([*asked, *EVERYTHING], standalone_mode=False)


def _compute(results: Path, cores: str, gpus: int | None) -> None:
    """Run the workflow in the current folder; raise if it fails."""
    from clipaudit.cli.run import forced
    from clipaudit.steps.command import EVERYTHING, profile_path, snakemake_command
    from clipaudit.steps.machine import this_machine

    machine = this_machine(profile_path(PROFILE), cores, gpus)
    command = snakemake_command(
        EVERYTHING,
        profile=PROFILE,
        configfiles=[AUDIT_SETTINGS],
        further=["--cores", cores, *machine.options, *forced(results)],
    )
    signal.signal(signal.SIGTERM, _exit_by)
    running = subprocess.Popen(command, env=os.environ | machine.environment)
    try:
        from clipaudit.site import told  # noqa: F401  what `_answer` needs, while Snakemake starts

        status = running.wait()
    except KeyboardInterrupt:
        running.wait()  # Ctrl-C stops Snakemake, too; it ends its jobs first
        click.echo(STOPPED, err=True)
        sys.exit(1)
    except SystemExit:
        # `kill` reaches only this process. SIGTERM can block Snakemake: its handler takes a lock
        # that the interrupted code may hold.
        running.send_signal(signal.SIGINT)
        running.wait()
        click.echo(STOPPED, err=True)
        raise
    if status != 0:
        raise click.ClickException(
            "The run failed; the messages above say why. The same command continues from there."
        )


def _exit_by(number: int, frame: object) -> NoReturn:
    sys.exit(128 + number)


def _answer(run: "Settings", to: Path, form: str, seconds: float) -> None:
    from clipaudit.site.told import read_told, told_lines

    with chdir(to):
        told = read_told(run)
    told |= {"report": str(to / "results/report/index.html"), "settings": str(to / AUDIT_SETTINGS)}
    if form == "json":
        click.echo(json.dumps({**told, "seconds": round(seconds, 1)}, indent=1))
        return
    for line in told_lines(told):
        click.echo(line)
    click.echo(
        f"Nothing was trained. {seconds:.0f} s. Report: {told['report']} Settings: "
        f"{told['settings']}"
    )
    if told["manifests"]:
        click.echo(
            f"Manifests: {', '.join(told['manifests'])}. Export one: cd {shlex.quote(str(to))} && "
            f"clipaudit export {told['manifests'][0]} --format hf-parquet --output kept"
        )
