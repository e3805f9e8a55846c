"""`clipaudit plan`: show what would run, why, and what it would cost."""

import json
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clipaudit.cli import completion
from clipaudit.cli.options import format_option, profile_option, settings_first, size
from clipaudit.errors import InputError
from clipaudit.plaintext import many, plain
from clipaudit.uncollected import uncollected

if TYPE_CHECKING:
    from clipaudit.lineage.planning.forecasts import Outlook
    from clipaudit.steps.jobs import Workflow

HEADINGS = {
    "certain": "certain",
    "possible": "possible",
    "stored": "cut off by a stored result",
    "unseen": "out of date, but snakemake does not see it",
    "current": "up to date",
}
_SHOWN_REASONS = 6  # lines of reasons per rule; --jobs shows all


def _checked_pairs(
    context: click.Context, option: click.Parameter, pairs: tuple[str, ...]
) -> tuple[str, ...]:
    for pair in pairs:
        if "=" not in pair:
            raise click.BadParameter(f"{pair!r} is not KEY=VALUE.", context, option)
    return pairs


def _checked_samples(
    context: click.Context, option: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    for each in given:
        if not each.rpartition("=")[2].isdecimal() or each.startswith("="):
            raise click.BadParameter(f"{each!r} is neither N nor CORPUS=N.", context, option)
    return given


@click.command()
@click.argument(
    "arguments", nargs=-1, metavar="[SETTINGS] [TARGET]...", shell_complete=completion.targets
)
@click.option(
    "--configfile",
    "files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False),
    help="Further settings file, as for snakemake.",
)
@click.option(
    "--config",
    "pairs",
    multiple=True,
    metavar="KEY=VALUE",
    callback=_checked_pairs,
    help="One setting.",
)
@profile_option("Profile of the run: threads and GPUs affect the results of numeric steps.")
@click.option("--jobs", is_flag=True, help="List every job that is not up to date.")
@format_option("text", "json", help="How to print the plan; JSON has every job.")
@click.option(
    "--estimate",
    is_flag=True,
    help="Estimate instead what the jobs that would start take, from measured rates.",
)
@click.option(
    "--rates",
    "store",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="With --estimate: the store whose records give the rates.  [default: the settings' own]",
)
@click.option(
    "--stated-rates",
    "stated",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="With --estimate: YAML file of your own rates by rule, which override measured ones.",
)
@click.option(
    "--samples-per-shard",
    "samples",
    multiple=True,
    metavar="[CORPUS=]N",
    callback=_checked_samples,
    help="With --estimate: samples per shard of a corpus, or of every corpus where it is unknown.",
)
@uncollected()
def plan(
    arguments: tuple[str, ...],
    files: tuple[str, ...],
    pairs: tuple[str, ...],
    profile: str,
    jobs: bool,
    form: str,
    estimate: bool,
    store: Path | None,
    stated: Path | None,
    samples: tuple[str, ...],
) -> None:
    """Show what `run` would compute for TARGETs (default: the whole report), why, and its cost.

    A first argument that ends in .yaml or .yml is the file SETTINGS; without it, the demo's
    settings apply. Certain jobs will compute. Possible jobs read outputs of other jobs: they
    compute unless the store already has a result for these outputs. Costs are those of the last
    time.

    \b
    Example:
      clipaudit plan my.yaml all_tables all_figures
      clipaudit plan big.yaml --estimate --config without_data=true \\
        --samples-per-shard 10000 --rates store
    """
    if not estimate and (store or stated or samples):
        raise click.UsageError("--rates, --stated-rates, --samples-per-shard need --estimate.")
    from clipaudit.config.loading import check_architectures, check_splits
    from clipaudit.lineage.planning.forecasts import outlook
    from clipaudit.lineage.planning.freezable import freezable_encoders
    from clipaudit.lineage.planning.shortages import refuse_shortages
    from clipaudit.steps.command import EVERYTHING, profile_path
    from clipaudit.steps.jobs import read_workflow

    settings, targets = settings_first(arguments, more=files)
    for target in targets:
        name, sign, _ = target.partition("=")
        if sign and name.isidentifier():
            raise InputError(
                f"{target}: a setting, not a target; write `--config {shlex.quote(target)}`"
            )
    files = (*map(str, settings), *files)
    options = ["--profile", profile_path(profile)]
    options += ["--configfile", *files] if files else []
    options += ["--config", *pairs] if pairs else []
    workflow = read_workflow(targets or EVERYTHING, options)
    if workflow.run is not None:
        check_architectures(workflow.run)
        refuse_shortages(workflow.run)
        check_splits(workflow.run)
    if estimate:
        _print_estimate(workflow, store, stated, samples, form)
        return
    outlooks = outlook(workflow)
    if form == "json":
        click.echo(_json(outlooks, workflow.unused, list(freezable_encoders(outlooks, workflow))))
    else:
        from clipaudit.config.usage import unused_line

        for line in _text(outlooks, jobs):
            click.echo(plain(line))
        for sentence in freezable_encoders(outlooks, workflow):
            click.echo(plain(sentence))
        if workflow.unused:
            click.echo(unused_line(workflow.unused))


def _print_estimate(
    workflow: "Workflow",
    store: Path | None,
    stated: Path | None,
    samples: tuple[str, ...],
    form: str,
) -> None:
    from clipaudit.cli.estimates import estimate_json, estimate_lines
    from clipaudit.lineage.planning.estimates import estimate
    from clipaudit.lineage.planning.observations import observations
    from clipaudit.lineage.planning.rates import Rates, read_stated
    from clipaudit.lineage.planning.shardsizes import ShardSizes
    from clipaudit.store.store import Store

    scripts = {job.rule: job.script for job in workflow.jobs}
    observed = observations(Store(store or workflow.store), scripts)
    rates = Rates(observed, read_stated(stated) if stated else {})
    named = dict(each.rpartition("=")[::2] for each in samples)
    others = int(named.pop("")) if "" in named else None
    sizes = ShardSizes({corpus: int(number) for corpus, number in named.items()}, others)
    found = estimate(workflow, rates, sizes)
    if form == "json":
        click.echo(estimate_json(found))
    else:
        for line in estimate_lines(found):
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
        yield f"To compute these too: clipaudit run ... -- --forcerun {' '.join(sorted(unseen))}"


def _counted(fate: str, members: Sequence["Outlook"]) -> str:
    from clipaudit.lineage.planning.costs import NOTHING

    count = many(len(members), "job")
    if fate == "current":
        return count
    cost = sum((each.cost for each in members), NOTHING)
    takes = f"{cost.cpu_hours:.3g} CPU h, {cost.gpu_hours:.3g} GPU h, {size(cost.bytes)}"
    if cost.unknown == len(members):
        takes = "an unknown cost, since no such job was recorded"
    elif cost.unknown:
        takes += f", not counting {many(cost.unknown, 'job')} without a record"
    if fate == "stored":
        return f"{count}, which saves {takes}"
    return f"up to {count}, {takes}" if fate == "possible" else f"{count}, {takes}"


def _grouped(members: Sequence["Outlook"]) -> Iterator[str]:
    """Yield each rule with its number of jobs, and its reasons, the most frequent first."""
    for rule, count in _by_count(each.planned.job.rule for each in members):
        own = [each for each in members if each.planned.job.rule == rule]
        reasons = _by_count(what for each in own for what in {r.what for r in each.reasons})
        is_common = [holding for _, holding in reasons] == [count]
        yield f"  {rule}: {many(count, 'job')}" + (f", {reasons[0][0]}" if is_common else "")
        reasons = [] if is_common else reasons
        for what, holding in reasons[:_SHOWN_REASONS]:
            yield f"    {what}: {many(holding, 'job')}"
        if len(reasons) > _SHOWN_REASONS:
            yield f"    and {len(reasons) - _SHOWN_REASONS} more reasons: see --jobs"
        as_before = sum(each.planned.as_before for each in own)
        if as_before:
            yield f"    cut off if its inputs come out unchanged: {many(as_before, 'job')}"


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
            yield "    cut off if its inputs come out unchanged"


# --- JSON --------------------------------------------------------------------------------------


def _json(outlooks: Sequence["Outlook"], unused: Sequence[str], freezable: Sequence[str]) -> str:
    from clipaudit.lineage.planning.costs import NOTHING

    costs = {
        fate: asdict(sum((each.cost for each in outlooks if each.planned.fate == fate), NOTHING))
        for fate in HEADINGS
    }
    counts = Counter[str](each.planned.fate for each in outlooks)
    summary = {fate: {**costs[fate], "jobs": counts[fate]} for fate in HEADINGS}
    jobs = [_fields(each) for each in outlooks]
    found = {"summary": summary, "unused_corpora": unused, "freezable": freezable, "jobs": jobs}
    return json.dumps(found, indent=1)


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
