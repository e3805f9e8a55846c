"""`clipaudit verify`: whether everything that a run's pointers name is as it was written."""

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

_SHOWN_UNVERIFIABLE = 20  # lines; shards that were moved away are tens of thousands


@click.command()
@click.option("--all", "everything", is_flag=True, help="Also objects that nothing names.")
@click.option("--strict", is_flag=True, help="Exit with 1 also for what is only unverifiable.")
@click.option("--repair", is_flag=True, help="Put damage aside, and make it again by Snakemake.")
@profile_option("Snakemake's profile, for --repair.")
@click.option(
    "--configfile",
    "configfiles",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    help="The run's settings, for --repair; as given to Snakemake.",
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
    """Hash every object that a run's pointers and the pins name, and say what is wrong.

    Told apart: corrupt, wrong size, missing and unreadable objects, broken pointers and links,
    and what is unverifiable: it can be trusted, but not explained, or not made again.

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
            f"{results}: no run has placed anything here, so there is nothing to verify. Name the "
            "run's results by --results."
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
    from clipaudit.steps.command import profile_path
    from clipaudit.steps.jobs import METADATA

    profile = profile_path(profile)  # before anything is removed
    if not METADATA.is_dir():
        raise InputError(
            f"{Path.cwd()}: no run was started here, so nothing can be made again. Go to the "
            "folder that the run was started in; nothing was touched."
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
        click.echo(f"... and {more} more that are unverifiable: --format json lists them")
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
    """Raise our error where something cannot be trusted; warn where only it cannot be verified."""
    broken, unverifiable = len(report.broken), len(report.faults) - len(report.broken)
    if broken:
        raise StoreError(f"{broken} places cannot be trusted: do what the lines above say.")
    lost = [fate for fate in fates if fate.word != "same"]
    if lost:
        raise StoreError(
            f"{len(lost)} pointers did not come back as they were. Run the whole snakemake command "
            "again: what was made of them is not of what they name now."
        )
    if unverifiable and strict:
        raise StoreError(f"{unverifiable} places are unverifiable: do what the lines above say.")
    if unverifiable:
        click.echo(f"Warning: {unverifiable} places are unverifiable.", err=True)


def _hashed(results: Path, store: "Store", everything: bool) -> "Report":
    """Verify; on standard error show the bytes done: by a bar on a terminal, else in the end."""
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
