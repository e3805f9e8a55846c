"""The commands of `clipaudit`, each in a module of its name: parse, call the library, print.

Results go to standard output, messages to standard error; exit status 0 done, 1 our error, 2 usage.
"""

import click

from clipaudit.cli.audit import audit
from clipaudit.cli.compact import compact
from clipaudit.cli.diff import diff
from clipaudit.cli.export import export
from clipaudit.cli.gc import gc
from clipaudit.cli.imports import imports
from clipaudit.cli.init import init
from clipaudit.cli.options import Group
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
@click.argument("manifest_digest")
@click.argument("shard_number", type=int)
def stream(manifest_digest: str, shard_number: int) -> None:
    """Write the kept samples of one shard of a sealed manifest to standard output, as a tar.

    The store is the folder that CLIPAUDIT_STORE names, else ./store.

    \b
    Example:
      clipaudit stream <manifest digest> 0 | tar --list
    """
    from clipaudit.cli.stream import main

    raise SystemExit(main([manifest_digest, str(shard_number)]))


for command in (
    audit, compact, diff, export, gc, imports, init, pin, plan, prov, run, sample, sql, status,
    verify, why,
):  # fmt: skip
    commands.add_command(command)
