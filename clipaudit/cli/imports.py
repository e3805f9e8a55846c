"""`clipaudit import`: check data of other tools and describe it as blocks of the settings."""

import os
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from clipaudit.cli.options import Decorator
from clipaudit.errors import InputError
from clipaudit.plaintext import plain

if TYPE_CHECKING:
    from clipaudit.imports.blocks import Imported

_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
_folder = click.argument("folder", type=_FOLDER)
# (importer, kind): this importer also reads data that looks like the other kind
_TAKEN = {("datacomp", "img2dataset"), ("aro", "folder")}
_compare = click.option(
    "--compare",
    "compared",
    type=click.IntRange(min=1),
    help="Compare the tars of this many evenly spaced shards instead of all.",
)
_classes = click.option(
    "--classes",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Use the labels; text file with one class name per line, in the order of the labels.",
)
_caption = click.option(
    "--caption", metavar="FIELD", help="Field or column of the caption.  [default: found by name]"
)
_label_set = click.option(
    "--label-set",
    help="Name of the label set, if no label set has the same classes. [default: --name]",
)


@click.group("import")
def imports() -> None:
    """Check data of other tools and describe it for the settings.

    The command prints the block of the corpus; with --output it adds the block to a settings file
    and keeps its comments. Paths are written as given: relative to the folder that snakemake runs
    in.

    \b
    Example:
      clipaudit import img2dataset data/web --name web --output my.yaml
      clipaudit import clip-benchmark data/wds_imagenet_sketch --name sketch --output my.yaml
    """


def importer(read: Callable[..., "Imported"]) -> Decorator:
    """Turn a function that reads blocks into a command that prints them or adds them to a file.

    All importers share the options --name, --output and --force. If the data belongs to another
    importer, the command says so.
    """

    @wraps(read)
    def command(output: Path | None, force: bool, **values: Any) -> None:  # noqa: ANN401
        from clipaudit.config.usage import unused_corpora, unused_line
        from clipaudit.imports.blocks import block_text
        from clipaudit.imports.settings_file import add_blocks

        try:
            imported = read(**values)
        except InputError as error:
            raise InputError(f"{error} {_hint(values)}".rstrip()) from error
        if "places" in values and (hint := _hint(values)):  # `tars` also reads other tools' tars
            imported.notes.append(hint)
        for note in imported.notes:
            click.echo(note, err=True)
        if output is None:
            click.echo(block_text(imported.blocks), nl=False)
            return
        run, decisions = add_blocks(output, imported.blocks, force=force)
        for line in decisions:
            click.echo(line, err=True)
        new = imported.blocks.get("corpora", {})
        if unused := [corpus for corpus in unused_corpora(run) if corpus in new]:
            click.echo(unused_line(unused), err=True)

    for decorator in (
        click.option("--force", is_flag=True, help="Replace blocks that differ."),
        click.option(
            "--output",
            type=click.Path(path_type=Path, dir_okay=False),
            help="YAML settings file to add the block to; created if missing.",
        ),
        click.option("--name", required=True, help="Name of the corpus in the settings."),
    ):
        command = decorator(command)
    return command  # type: ignore[return-value]


def _hint(values: Mapping[str, Any]) -> str:
    """Return a hint at the importer for the folder, or "" if it is the one that was called."""
    from clipaudit.imports.recognition import recognise

    places = [Path(place) for place in values.get("places", [values.get("folder")])]
    kind = recognise(places[0]) if len(places) == 1 and os.path.isdir(places[0]) else None
    called = click.get_current_context().info_name
    if kind in (None, called) or (called, kind) in _TAKEN:
        return ""
    return f"{plain(places[0])} looks like data for `clipaudit import {kind}`."


@imports.command()
@importer
@click.argument("places", nargs=-1, required=True, metavar="FOLDER|TAR|PATTERN...")
@_caption
@_classes
@_label_set
def tars(places: tuple[str, ...], name: str, **asked: Any) -> "Imported":  # noqa: ANN401
    """Import plain webdataset tars: jpg, png or webp, with txt, json or cls.

    Captions come from .txt or from a field of .json, labels from .cls or .json.

    \b
    Example:
      clipaudit import tars data/web --name web --output my.yaml
      clipaudit import tars 'data/pets/{0..3}.tar' --name pets --classes pets.txt
    """
    from clipaudit.imports.plain_shards import import_shards

    return import_shards(places, name, **asked)


@imports.command()
@importer
@click.argument("places", nargs=-1, required=True, metavar="FOLDER|FILE|PATTERN...")
@_caption
@_classes
@_label_set
def parquet(places: tuple[str, ...], name: str, **asked: Any) -> "Imported":  # noqa: ANN401
    """Import Parquet files with images, as Hugging Face's datasets writes them.

    Captions come from a text column, labels from the column `label` or `cls`.

    \b
    Example:
      clipaudit import parquet data/food101 --name food --caption text --output my.yaml
    """
    from clipaudit.corpora.shards import TABLE
    from clipaudit.imports.plain_shards import import_shards

    return import_shards(places, name, endings=(TABLE,), **asked)


@imports.command()
@importer
@_folder
@_compare
def img2dataset(folder: Path, name: str, compared: int | None) -> "Imported":
    """Import img2dataset's tars and Parquet; the rows with status success are the samples.

    \b
    Example:
      clipaudit import img2dataset data/laion400m --name laion --compare 100 --output my.yaml
    """
    from clipaudit.imports.img2dataset import import_img2dataset

    return import_img2dataset(folder, name, compared=compared)


@imports.command("clip-benchmark")
@importer
@_folder
@_label_set
def clip_benchmark(folder: Path, name: str, label_set: str | None) -> "Imported":
    """Import a webdataset of CLIP_benchmark as a test set: shards, class names, prompts.

    \b
    Example:
      clipaudit import clip-benchmark data/wds_imagenetv2 --name v2 --label-set imagenet
    """
    from clipaudit.imports.clip_benchmark import import_clip_benchmark

    return import_clip_benchmark(folder, name, label_set=label_set)


@imports.command()
@importer
@_folder
@click.option(
    "--annotations",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    required=True,
    help="ARO's visual_genome_relation.json or visual_genome_attribution.json, or its order cases.",
)
@click.option(
    "--shards",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the tars that are written.  [default: data/NAME]",
)
def aro(folder: Path, name: str, annotations: Path, shards: Path | None) -> "Imported":
    """Import ARO's images and candidate captions as tars for caption selection.

    Like ARO, the command omits symmetric relations and rare pairs of attributes.

    \b
    Example:
      clipaudit import aro aro/images --annotations aro/visual_genome_relation.json --name relation
    """
    from clipaudit.imports.aro import import_aro

    shards = shards or Path("data") / name
    return import_aro(folder, name, annotations=annotations, shards=shards)


@imports.command("folder")
@importer
@_folder
@click.option(
    "--lists",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the lists of the images.  [default: data/NAME]",
)
@click.option("--classes", is_flag=True, help="The top-level folders are classes.")
@_label_set
@click.option(
    "--per-list",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="Images per list; each list is read as a shard.",
)
def image_folder(folder: Path, name: str, lists: Path | None, **asked: Any) -> "Imported":  # noqa: ANN401
    """Import a folder of images: write lists of them and read the images in place.

    Captions come from .txt beside the images or from tables such as metadata.csv, with --classes
    from the folders. Run the same command again to list new images.

    \b
    Example:
      clipaudit import folder photos --name photos --classes --output my.yaml
    """
    from clipaudit.imports.image_folder import import_folder

    return import_folder(folder, name, lists or Path("data") / name, **asked)


@imports.command("clip-retrieval")
@importer
@_folder
@click.option("--corpus", help="Corpus in the settings that the embeddings belong to.")
@click.option(
    "--as-corpus",
    metavar="NAME",
    help="Instead of --corpus: also write this corpus. It has no images; its samples are the rows "
    "of the metadata.",
)
@click.option("--encoder", required=True, help="Encoder in the settings that computed them.")
@click.option(
    "--column", default="image_path", show_default=True, help="Column that identifies the sample."
)
@click.option(
    "--join-on",
    type=click.Choice(["key", "uid", "url"]),
    default="key",
    show_default=True,
    help="What the column holds.",
)
def clip_retrieval(
    folder: Path,
    name: str,
    corpus: str | None,
    as_corpus: str | None,
    encoder: str,
    column: str,
    join_on: Literal["key", "uid", "url"],
) -> "Imported":
    """Import embeddings that clip-retrieval computed, instead of embedding the images again.

    FOLDER holds img_emb/ and metadata/; --name names the block under `embeddings`.

    \b
    Example:
      clipaudit import clip-retrieval data/embeddings --name web-b32 --corpus web --encoder b32
      clipaudit import clip-retrieval data/laion --name laion-b32 --as-corpus laion --encoder b32
    """
    from clipaudit.imports.clip_retrieval import import_clip_retrieval

    named = corpus or as_corpus
    if named is None or (corpus and as_corpus):
        raise click.UsageError(
            "give either --corpus, for a corpus with images, or --as-corpus, for one without."
        )
    return import_clip_retrieval(
        folder,
        name,
        corpus=named,
        encoder=encoder,
        column=column,
        join_on=join_on,
        as_corpus=as_corpus is not None,
    )


@imports.command()
@_folder
@click.option(
    "--lists",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder for the lists, one Parquet file for each file of documents.",
)
def mmc4(folder: Path, lists: Path) -> None:
    """Write MMC4's documents as lists of images and captions for img2dataset.

    An image's caption is the sentence that MMC4 matches it to. Download the images with
    img2dataset and these lists, then import the result.

    \b
    Example:
      clipaudit import mmc4 data/mmc4/docs --lists data/mmc4/lists
    """
    from clipaudit.imports.mmc4 import list_images

    for line in list_images(folder, lists):
        click.echo(line)


@imports.command()
@importer
@_folder
@click.option(
    "--metadata", type=_FOLDER, help="Folder of .parquet with uids, if FOLDER has shards."
)
@click.option(
    "--without-pictures",
    is_flag=True,
    help="FOLDER holds the metadata; its rows are the samples of the corpus.",
)
@click.option(
    "--encoder", help="Use the features in .npz; this encoder in the settings computed them."
)
@click.option("--array", default="l14_img", show_default=True, help="Array of the .npz to use.")
@_compare
def datacomp(
    folder: Path,
    name: str,
    metadata: Path | None,
    without_pictures: bool,
    encoder: str | None,
    array: str,
    compared: int | None,
) -> "Imported":
    """Import a DataComp pool: its shards, uids and, with --encoder, its features.

    \b
    Example:
      clipaudit import datacomp pool/shards --metadata pool/metadata --name pool
      clipaudit import datacomp pool/metadata --without-pictures --name pool
    """
    from clipaudit.imports.datacomp import import_datacomp, import_listed_datacomp

    if without_pictures == (metadata is not None):
        raise click.UsageError(
            "give either --metadata, if FOLDER has shards, or --without-pictures, if it has "
            "metadata."
        )
    if metadata is None:
        return import_listed_datacomp(folder, name, encoder=encoder, array=array)
    return import_datacomp(folder, metadata, name, encoder=encoder, array=array, compared=compared)
