"""`clipaudit export`: write the samples that a manifest keeps for other tools."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from clipaudit.cli import completion
from clipaudit.cli.options import force_option, output_option, results_option, store_option

if TYPE_CHECKING:
    from clipaudit.exports.formats import Format


@click.command()
@click.argument("manifest", shell_complete=completion.manifests)
@click.option(
    "--format",
    "form",
    type=click.Choice(
        ["datacomp", "uids", "parquet", "croissant", "fiftyone", "imagefolder", "hf-parquet"]
    ),
    required=True,
    help="datacomp: sorted .npy of uids; uids: text, one per line; parquet: a row per sample with "
    "all scores; croissant: the same, described in Croissant 1.1; fiftyone: a folder that FiftyOne "
    "loads; imagefolder, hf-parquet: images, captions and scores that Hugging Face's datasets "
    "loads.",
)
@output_option(
    "What to write: a file for datacomp, uids and parquet, else a folder.",
    required=True,
    folders=True,
)
@click.option(
    "--all-rows",
    is_flag=True,
    help="Also the removed rows, and why (parquet, croissant, fiftyone).",
)
@click.option(
    "--vectors",
    is_flag=True,
    help="Also the embedding of each sample by each encoder that embedded it (parquet, croissant).",
)
@click.option(
    "--no-pictures",
    is_flag=True,
    help="Omit the images; their paths in the folder stay empty (fiftyone).",
)
@click.option("--license", "terms", help="Licence of the data: a URL or words (croissant).")
@force_option
@results_option()
@store_option()
def export(
    manifest: str,
    form: "Format",
    output: Path,
    all_rows: bool,
    vectors: bool,
    no_pictures: bool,
    terms: str | None,
    force: bool,
    results: Path,
    store: Path,
) -> None:
    """Write the samples that a manifest keeps in another tool's format.

    MANIFEST is `corpus/name` as in results/manifests, or the name or digest of a sealed manifest.

    \b
    Example:
      clipaudit export large/deduplicated.sketch-pruned --format datacomp --output kept.npy
      clipaudit export large/all --format hf-parquet --output large-hf
      clipaudit export posters/cotr-0.1-500 --format parquet --all-rows --output posters.parquet
    """
    if all_rows and form not in ("parquet", "croissant", "fiftyone"):
        raise click.UsageError(f"--all-rows: {form} holds only the kept samples.")
    if vectors and form not in ("parquet", "croissant"):
        raise click.UsageError(f"--vectors: {form} has no columns of vectors.")
    if no_pictures and form != "fiftyone":
        raise click.UsageError(f"--no-pictures: only for fiftyone, not for {form}.")
    if terms and form != "croissant":
        raise click.UsageError(f"--license: only for croissant, not for {form}.")
    from clipaudit.exports.formats import export as write
    from clipaudit.plaintext import plain
    from clipaudit.store.store import Store

    tally = write(
        results,
        Store(store),
        manifest,
        form,
        output,
        all_rows=all_rows,
        vectors=vectors,
        pictures=not no_pictures,
        terms=terms,
        force=force,
    )
    click.echo(f"{plain(output)}: {tally.rows} rows of {plain(manifest)}", err=True)
    for note in tally.notes:
        click.echo(note, err=True)
