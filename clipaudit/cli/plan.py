"""`clipaudit plan`: what would run, why, and what it would cost."""

import gc
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from clipaudit.plaintext import plain

if TYPE_CHECKING:
    from clipaudit.lineage.planning.costs import Cost
    from clipaudit.lineage.planning.forecasts import Outlook

HEADINGS = {
    "certain": "certain",
    "possible": "possible",
    "stored": "cut off by a stored result",
    "unseen": "out of date, but snakemake does not see it",
    "current": "up to date",
}
_SHOWN_REASONS = 6  # lines of reasons for a rule; --jobs shows all
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def _checked_pairs(
    context: click.Context, option: click.Parameter, pairs: tuple[str, ...]
) -> tuple[str, ...]:
    for pair in pairs:
        if "=" not in pair:
            raise click.BadParameter(f"{pair!r} is not KEY=VALUE.", context, option)
    return pairs


@click.command()
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@click.option(
    "--configfile",
    "files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False),
    help="Settings file, as snakemake's.",
)
@click.option(
    "--config",
    "pairs",
    multiple=True,
    metavar="KEY=VALUE",
    callback=_checked_pairs,
    help="One setting.",
)
@click.option(
    "--profile",
    envvar="SNAKEMAKE_PROFILE",
    default="profiles/demo",
    show_default=True,
    help="Profile of the run: threads and GPUs decide what a numeric step gives.",
)
@click.option("--jobs", is_flag=True, help="List every job that is not up to date.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print the plan; JSON has every job.",
)
def plan(
    targets: tuple[str, ...],
    files: tuple[str, ...],
    pairs: tuple[str, ...],
    profile: str,
    jobs: bool,
    form: str,
) -> None:
    """Say what snakemake would compute for TARGETs now, why, and at what cost; nothing is run.

    Certain jobs compute. Possible ones read what those give: they compute unless it comes out as
    something that the store has a result for. Costs are those of the last time.

    \b
    Example:
      clipaudit plan all_tables all_figures --configfile my.yaml
    """
    from clipaudit.jobs import read_workflow
    from clipaudit.lineage.planning.forecasts import outlook

    arguments = ["--profile", profile]
    arguments += ["--configfile", *files] if files else []
    arguments += ["--config", *pairs] if pairs else []
    workflow = read_workflow(targets, arguments)
    gc.freeze()  # its graph stays to the end, when Python would walk over it: a tenth of the time
    outlooks = outlook(workflow)
    if form == "json":
        click.echo(_json(outlooks))
    else:
        for line in _text(outlooks, jobs):
            click.echo(plain(line))


# --- text --------------------------------------------------------------------------------------


def _text(outlooks: Sequence["Outlook"], jobs: bool) -> Iterator[str]:
    for fate, heading in HEADINGS.items():
        members = [each for each in outlooks if each.planned.fate == fate]
        if members:
            yield f"{heading}: {_counted(fate, members)}"
        if fate != "current":
            yield from _listed(members) if jobs else _grouped(members)
    unseen = {each.planned.job.rule for each in outlooks if each.planned.fate == "unseen"}
    if unseen:
        yield f"To compute what it does not see, add: --forcerun {' '.join(sorted(unseen))}"


def _counted(fate: str, members: Sequence["Outlook"]) -> str:
    from clipaudit.lineage.planning.costs import NOTHING

    count = _jobs(len(members))
    if fate == "current":
        return count
    cost = sum((each.cost for each in members), NOTHING)
    takes = _cost(cost)
    if fate == "stored":
        return f"{count}, which spares {takes}"
    return f"up to {count}, {takes}" if fate == "possible" else f"{count}, {takes}"


def _cost(cost: "Cost") -> str:
    known = f"{cost.cpu_hours:.3g} CPU h, {cost.gpu_hours:.3g} GPU h, {_size(cost.bytes)}"
    return f"{known} ({cost.unknown} never recorded)" if cost.unknown else known


def _size(count: float) -> str:
    for unit in _UNITS[:-1]:
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} {_UNITS[-1]}"


def _jobs(count: int) -> str:
    return "1 job" if count == 1 else f"{count:,} jobs"


def _grouped(members: Sequence["Outlook"]) -> Iterator[str]:
    """Yield each rule with its jobs counted, and under it the reasons, the most frequent first."""
    for rule, count in _by_count(each.planned.job.rule for each in members):
        own = [each for each in members if each.planned.job.rule == rule]
        yield f"  {rule}: {_jobs(count)}"
        reasons = _by_count(what for each in own for what in {r.what for r in each.reasons})
        for what, holding in reasons[:_SHOWN_REASONS]:
            yield f"    {what}: {_jobs(holding)}"
        if len(reasons) > _SHOWN_REASONS:
            yield f"    and {len(reasons) - _SHOWN_REASONS} more reasons: see --jobs"
        as_before = sum(each.planned.as_before for each in own)
        if as_before:
            yield f"    cut off if its inputs come out as they lie now: {_jobs(as_before)}"


def _by_count(names: Iterator[str]) -> list[tuple[str, int]]:
    return sorted(Counter(names).items(), key=lambda item: (-item[1], item[0]))


def _listed(members: Sequence["Outlook"]) -> Iterator[str]:
    for each in members:
        job = each.planned.job
        first = next(iter(job.outputs.values()))[0]
        yield f"  {job.rule} {first}"
        for reason in each.reasons:
            yield f"    {reason}"
        if each.planned.as_before:
            yield "    cut off if its inputs come out as they lie now"


# --- JSON --------------------------------------------------------------------------------------


def _json(outlooks: Sequence["Outlook"]) -> str:
    from clipaudit.lineage.planning.costs import NOTHING

    costs = {
        fate: asdict(sum((each.cost for each in outlooks if each.planned.fate == fate), NOTHING))
        for fate in HEADINGS
    }
    counts = Counter[str](each.planned.fate for each in outlooks)
    summary = {fate: {**costs[fate], "jobs": counts[fate]} for fate in HEADINGS}
    return json.dumps({"summary": summary, "jobs": [_fields(each) for each in outlooks]}, indent=1)


def _fields(each: "Outlook") -> dict[str, object]:
    planned = each.planned
    return {
        "rule": planned.job.rule,
        "wildcards": dict(planned.job.wildcards),
        "outputs": [path for paths in planned.job.outputs.values() for path in paths],
        "fate": planned.fate,
        "step": planned.ingredients is not None,
        "action": planned.key,
        "reasons": [asdict(reason) for reason in each.reasons],
        "cost": asdict(each.cost),
        "waits_for": [path for paths in planned.unknown.values() for path in paths],
        "cut_off_if_as_before": planned.as_before,
    }
