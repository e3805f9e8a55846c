"""`clipaudit compact`: pack a store's lineage records into few files."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from clipaudit.cli.options import format_option, store_option


@click.command()
@format_option("text", "json", help="How to print what was packed.")
@store_option()
def compact(form: str, store: Path) -> None:
    """Pack the store's lineage records, one small file each, into at most 256 files.

    Every command reads both forms. With many thousands of records, packed ones are faster and
    load a shared disk less. The command is safe during a run. Runs also pack now and then.

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
            f"{many(done.files, 'file')}, now {done.bytes:,} bytes"
        )
