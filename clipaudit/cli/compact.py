"""`clipaudit compact`: the lineage records of a store in few files."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from clipaudit.cli.options import format_option, store_option


@click.command()
@format_option("text", "json", help="How to print what was packed.")
@store_option()
def compact(form: str, store: Path) -> None:
    """Pack the store's lineage records, a small file each, into at most 256 files.

    Every command reads both; with many thousands of records the packed ones are faster, and
    kinder to a shared disk. Safe while a run goes on. A run does it itself now and then.

    \b
    Example:
      clipaudit compact --store /data/store
    """
    from clipaudit.plaintext import many, plain
    from clipaudit.store.packing import pack
    from clipaudit.store.store import Store

    done = pack(Store(store))
    for fault in done.faults:
        click.echo(plain(fault), err=True)
    if form == "json":
        click.echo(json.dumps(asdict(done), indent=1))
    elif done.records == 0:
        click.echo("no loose records")
    else:
        click.echo(
            f"{many(done.records, 'loose record')} of {done.loose_bytes:,} bytes packed into "
            f"{many(done.files, 'file')} of now {done.bytes:,} bytes"
        )
