"""`clipaudit verify`: check that everything a run's pointers name is as it was written."""

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clipaudit.cli.options import format_option, profile_option, results_option, store_option
from clipaudit.errors import InputError, StoreError
from clipaudit.plaintext import plain

if TYPE_CHECKING:
    from clipaudit.lineage.keeping.repair import Outcome
    from clipaudit.lineage.keeping.verification import Report
    from clipaudit.store.store import Store

_SHOWN_UNVERIFIABLE = 20  # lines; there may be tens of thousands of moved shards


@click.command()
@click.option("--all", "everything", is_flag=True, help="Also check objects that nothing names.")
@click.option("--strict", is_flag=True, help="Exit with 1 also if something is only unverifiable.")
@click.option(
    "--repair", is_flag=True, help="Move damaged files aside and remake them (Snakemake)."
)
@profile_option("Snakemake's profile, for --repair.")
@click.option(
    "--configfile",
    "configfiles",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    help="The run's settings, which --repair needs.",
)
@format_option("text", "json", help="How to print what was found.")
@results_option()
@store_option()
def verify(
    everything: bool,
    strict: bool,
    repair: bool,
    profile: str,
    configfiles: tuple[Path, ...],
    form: str,
    results: Path,
    store: Path,
) -> None:
    """Hash every object that a run's pointers and the pins name, and report faults.

    Faults are corrupt, wrong-size, missing and unreadable objects, and broken pointers and links.
    Unverifiable files can be trusted, but not explained, or not made again.

    \b
    Example:
      clipaudit verify
      clipaudit verify --repair --configfile my.yaml
    """
    from clipaudit.store.store import Store

    place = Store(store)
    report = _hashed(results, place, everything)
    if not report.pointers and not report.objects:
        raise InputError(
            f"{results}: no run has placed anything here, so there is nothing to verify. Give the "
            "run's results folder with --results."
        )
    fates: list[Outcome] = []
    if form == "text":
        _tell(report)
    if repair and report.broken:
        fates = _repair(results, place, report, profile, configfiles)
        report = _hashed(results, place, everything)
        if form == "text":
            _tell_fates(fates)
            _tell(report)
    if form == "json":
        again = [{**asdict(fate), "word": fate.word} for fate in fates]
        click.echo(json.dumps({**asdict(report), "repaired": again}, indent=1, default=str))
    _judge(report, fates, strict)


def _repair(
    results: Path, store: "Store", report: "Report", profile: str, configfiles: Sequence[Path]
) -> "list[Outcome]":
    from clipaudit.lineage.keeping.repair import mend, outcomes, remake
    from clipaudit.steps.command import METADATA, profile_path

    profile = profile_path(profile)  # before anything is removed
    if not METADATA.is_dir():
        raise InputError(
            f"{Path.cwd()}: no run was started here, so nothing can be remade. Nothing was "
            "changed. Go to the folder where the run was started."
        )
    if not configfiles:
        raise InputError(
            f"{results}: remaking files needs the settings that made them; without, the demo's "
            "would replace them. Nothing was changed. Add `--configfile SETTINGS` (settings.yaml "
            "in the folder of `clipaudit audit`, config/demo.yaml for the demo)."
        )
    before = mend(results, store, report.broken)
    if before and not remake(list(before), profile=profile, configfiles=configfiles):
        click.echo("Snakemake failed: see its messages above.", err=True)
    return outcomes(before)


def _tell(report: "Report") -> None:
    unverifiable = [fault for fault in report.faults if fault.kind == "unverifiable"]
    for fault in [*report.broken, *unverifiable[:_SHOWN_UNVERIFIABLE]]:
        line = f"{fault.kind}: {plain(fault.place)}: {plain(fault.what)}"
        click.echo(f"{line}. {plain(fault.remedy)}")
    if len(unverifiable) > _SHOWN_UNVERIFIABLE:
        more = len(unverifiable) - _SHOWN_UNVERIFIABLE
        click.echo(f"... and {more} more unverifiable: --format json lists them")
    click.echo(f"{report.pointers} pointers, {report.objects} objects, {report.bytes:,} bytes")
    if report.remote:
        click.echo(f"{report.remote} shards are remote: not fetched, so not checked")
    if not report.broken:
        click.echo("all as they were written")


def _tell_fates(fates: "Sequence[Outcome]") -> None:
    same = sum(fate.word == "same" for fate in fates)
    click.echo(f"made again: {same} of {len(fates)} pointers name what they named before")
    for fate in fates:
        if fate.word == "other":
            click.echo(
                f"NOT REPRODUCED: {plain(fate.pointer)}: named {str(fate.before)[:12]}... before "
                f"and names {str(fate.after)[:12]}... now"
            )
        elif fate.word == "gone":
            click.echo(f"not made again: {plain(fate.pointer)}")


def _judge(report: "Report", fates: "Sequence[Outcome]", strict: bool) -> None:
    """Raise our error if something cannot be trusted; warn if it only cannot be verified."""
    broken, unverifiable = len(report.broken), len(report.faults) - len(report.broken)
    if broken:
        raise StoreError(f"{broken} places cannot be trusted. Follow the lines above.")
    lost = [fate for fate in fates if fate.word != "same"]
    if lost:
        raise StoreError(
            f"{len(lost)} pointers did not come back as they were. Run the whole snakemake command "
            "again: results made from them are out of date."
        )
    if unverifiable and strict:
        raise StoreError(f"{unverifiable} places are unverifiable. Follow the lines above.")
    if unverifiable:
        click.echo(f"Warning: {unverifiable} places are unverifiable.", err=True)


def _hashed(results: Path, store: "Store", everything: bool) -> "Report":
    """Verify; show the hashed bytes on standard error: a bar on a terminal, else one last line."""
    from clipaudit.lineage.keeping.verification import verify_results

    if sys.stderr.isatty():
        from tqdm import tqdm

        with tqdm(unit="B", unit_scale=True, desc="hashed", leave=False) as bar:

            def show(done: int, total: int) -> None:
                bar.total = total
                bar.update(done - bar.n)

            return verify_results(results, store, everything=everything, progress=show)
    started = time.monotonic()
    report = verify_results(results, store, everything=everything)
    seconds = max(time.monotonic() - started, 1e-9)
    rate = report.bytes / seconds / 1e6
    click.echo(f"hashed {report.bytes:,} bytes in {seconds:.1f} s, {rate:.0f} MB/s", err=True)
    return report
