"""The `clipaudit` commands: each has a module of its name that parses, calls the library, prints.

Results go to standard output, messages to standard error. Exit status: 0 done, 1 our error,
2 usage.
"""

from pathlib import Path

import click

from clipaudit.cli import completion
from clipaudit.cli.answers import answers
from clipaudit.cli.audit import audit
from clipaudit.cli.compact import compact
from clipaudit.cli.diff import diff
from clipaudit.cli.doctor import doctor
from clipaudit.cli.export import export
from clipaudit.cli.gc import gc
from clipaudit.cli.imports import imports
from clipaudit.cli.init import init
from clipaudit.cli.options import Group, Output, force_option, results_option, store_option
from clipaudit.cli.pin import pin
from clipaudit.cli.plan import plan
from clipaudit.cli.prov import prov
from clipaudit.cli.run import run
from clipaudit.cli.sample import sample
from clipaudit.cli.sql import sql
from clipaudit.cli.status import status
from clipaudit.cli.verify import verify
from clipaudit.cli.why import why


@click.group(cls=Group)
@click.version_option(package_name="clipaudit")
def commands() -> None:
    """Audit the training data of CLIP-style models.

    `clipaudit run` builds tables, figures and report; the other commands read them.
    """


@commands.command()
@click.argument("manifest", shell_complete=completion.manifests)
@click.argument("shard", type=click.IntRange(min=0), required=False)
@click.option(
    "--to",
    type=Output(),
    help="Write all kept samples as new shards into this folder.",
)
@click.option(
    "--samples-per-shard",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    help="Samples per new shard (--to).",
)
@force_option
@results_option(exists=False)
@store_option(exists=False)
def stream(
    manifest: str,
    shard: int | None,
    to: Path | None,
    samples_per_shard: int,
    force: bool,
    results: Path,
    store: Path,
) -> None:
    """Write the kept samples of one shard to standard output as a tar, or all as new shards.

    MANIFEST is `corpus/name` as in results/manifests, or the name or digest of a sealed manifest.
    SHARD counts from 0 over all corpora of the manifest. Give a full digest in training: the
    command then reads no results and loads only Python's standard library. open_clip cannot count
    the samples of a pipe: give it their number.

    If a command with --to is killed, the same command completes its folder.

    \b
    Example:
      clipaudit stream large/deduplicated 0 | tar --list
      clipaudit stream large/deduplicated --to kept --samples-per-shard 5000
      python -m open_clip_train.main --dataset-type webdataset --train-num-samples 200000000 \\
        --train-data 'pipe:clipaudit stream <full digest of a sealed manifest> {0..41407}'
    """
    if (shard is None) == (to is None):
        raise click.UsageError("Give either the number of a shard or --to FOLDER.")
    from clipaudit.cli.stream import print_shard
    from clipaudit.exports.shards import opened, write_shards
    from clipaudit.plaintext import many, plain
    from clipaudit.store.store import Store

    with opened(results, Store(store), manifest) as sealed:
        if shard is not None:
            raise SystemExit(print_shard(store, lambda: sealed, shard))
        assert to is not None
        count = write_shards(sealed, store, to, samples=samples_per_shard, force=force)
    click.echo(
        f"{plain(to)}: {many(count, 'shard')} with {many(sealed.kept, 'sample')} of "
        f"{plain(manifest)}",
        err=True,
    )


for command in (
    answers, audit, compact, diff, doctor, export, gc, imports, init, pin, plan, prov, run, sample,
    sql, status, verify, why,
):  # fmt: skip
    commands.add_command(command)
