"""`clipaudit compact`: the lineage records of a store in few files."""

from pathlib import Path

import click

from clipaudit.cli.options import store_option


@click.command()
@store_option()
def compact(store: Path) -> None:
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
    if done.records == 0:
        click.echo("no loose records")
    else:
        click.echo(
            f"{many(done.records, 'loose record')} of {done.loose_bytes:,} bytes packed into "
            f"{many(done.files, 'file')} of now {done.bytes:,} bytes"
        )
