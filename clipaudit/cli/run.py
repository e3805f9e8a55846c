"""`clipaudit run`: run Snakemake in any folder to make tables, figures and report."""

import os
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path

import click

from clipaudit.cli import completion
from clipaudit.cli.options import cores_option, gpus_option, profile_option, settings_first


@click.command()
@click.argument(
    "arguments",
    nargs=-1,
    metavar="[SETTINGS] [TARGET]... [-- SNAKEMAKE-OPTION...]",
    shell_complete=completion.targets,
)
@profile_option("Where and how jobs run: a folder, or a profile of Snakemake's or clipaudit's.")
@cores_option("Cores to use, or `all`.  [default: the profile's]")
@gpus_option
def run(arguments: tuple[str, ...], profile: str, cores: str | None, gpus: int | None) -> None:
    """Compute TARGETs, by default the whole report, with the settings in the file SETTINGS.

    Results, store, data and logs are in the current folder. A first argument that ends in .yaml
    or .yml is SETTINGS; without it, the demo's settings apply. Arguments after `--` go to
    snakemake. The command exits with snakemake's exit status.

    \b
    Example:
      clipaudit run my.yaml
      clipaudit run my.yaml all_tables --profile slurm -- --dry-run
    """
    from clipaudit.steps.command import profile_path
    from clipaudit.steps.machine import this_machine

    machine = this_machine(profile_path(profile), cores, gpus)
    command = run_command(arguments, profile, cores, machine.options)
    os.execve(command[0], command, os.environ | machine.environment)


def run_command(
    arguments: tuple[str, ...], profile: str, cores: str | None, machine: Sequence[str] = ()
) -> list[str]:
    """Return the snakemake command for the arguments; raise our error for unreadable settings.

    Click removes `--` and allows options only after it, so the first option starts the rest.
    """
    from clipaudit.config.loading import over_default, read_settings
    from clipaudit.steps.command import EVERYTHING, refuse_misspelt, snakemake_command

    own = list(takewhile(lambda text: not text.startswith("-"), arguments))
    further = [*(["--cores", cores] if cores else []), *machine, *arguments[len(own) :]]
    settings, targets = settings_first(own)
    # before Snakemake, which would run Python code in the file
    content = read_settings(settings[0]) if settings else {}
    refuse_misspelt(targets)
    further += forced(Path(over_default(content).get("results", "results")))
    return snakemake_command(
        targets or EVERYTHING, profile=profile, configfiles=settings, further=further
    )


def forced(results: Path) -> list[str]:
    """Return the option that starts all jobs if Snakemake has no records of these results."""
    from clipaudit.steps.command import METADATA, unrecorded

    if not unrecorded(results):
        return []
    click.echo(
        f"{results}: {METADATA} has no records of these results: it was deleted, or they were "
        "moved. All steps start; the store has what did not change.",
        err=True,
    )
    return ["--forceall"]
