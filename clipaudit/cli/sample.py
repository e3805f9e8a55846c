"""`clipaudit sample`: show one sample's results in all audits."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clipaudit.cli import completion
from clipaudit.cli.options import form_of, output_option, results_option, store_option
from clipaudit.plaindata import Row

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


_ENDINGS = {".txt": "text", ".json": "json", ".html": "html"}


@click.command()
@click.argument("corpus", shell_complete=completion.corpora)
@click.argument("name", metavar="UID|KEY", shell_complete=completion.samples)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "html"]),
    help="Format; by default from the ending of --output, else text.",
)
@output_option("File to write.")
@click.option("--no-picture", is_flag=True, help="HTML: a placeholder instead of the image.")
@results_option()
@store_option("Folder of the store, which records moved shards.", exists=False)
def sample(
    corpus: str,
    name: str,
    form: str | None,
    output: Path | None,
    no_picture: bool,
    results: Path,
    store: Path,
) -> None:
    """Show one sample's results in all audits.

    The answer names the manifests that keep it and why others do not, its duplicates, the nearest
    test images, the gaps it crosses, its text, scores, set and recall. Name a sample by its uid or
    at least six leading digits of it, by its key, or by SHARD:ROW. HTML is one page with the image,
    its text and objects marked, and its copies beside it.

    \b
    Example:
      clipaudit sample large 8:3
      clipaudit sample posters e97abdc8 --output sample.html
    """
    from clipaudit.catalog.samples.fate import sample_fate
    from clipaudit.catalog.views import open_catalog
    from clipaudit.store.store import replace_text

    form = form or form_of(output, _ENDINGS, "text")
    with open_catalog(results) as connection:
        fate = sample_fate(connection, corpus, name)
        others = _others(connection, fate) if form == "html" else []
    if form == "html":
        text = _page(fate, others, not no_picture, store)
    elif form == "json":
        text = json.dumps(fate, indent=1) + "\n"
    else:
        from clipaudit.catalog.samples.sections import fate_lines

        text = "".join(f"{line}\n" for line in fate_lines(fate))
    if output is None:
        click.echo(text, nl=False)
    else:
        replace_text(output, text)


def _others(connection: "DuckDBPyConnection", fate: dict[str, Any]) -> list[tuple[str, Row]]:
    """Return the samples to show beside one: a description and the catalog's row for each."""
    from clipaudit.catalog.samples.catalog import SampleCatalog
    from clipaudit.catalog.samples.sections import shown_beside

    catalog = SampleCatalog(connection)
    return [
        (each.words, catalog.sample(each.address))
        for each in shown_beside(fate)
        if catalog.named(each.address)  # false for a corpus that no table reads
    ]


def _page(fate: dict[str, Any], others: list[tuple[str, Row]], pictured: bool, store: Path) -> str:
    """Return the page of a sample; an image that cannot be read is reported and left blank."""
    from clipaudit.catalog.samples.page import sample_page

    if not pictured:
        return sample_page(fate, None, beside=[(words, None) for words, _ in others])
    picture = _uri(fate["sample"], store)
    beside = [(words, _uri(sample, store)) for words, sample in others]
    return sample_page(fate, picture, "image not found", beside)


def _uri(sample: Row, store: Path) -> str | None:
    """Return a sample's image as a data URI; None, with a message, if it cannot be read."""
    from clipaudit.catalog.samples.page import picture_uri, read_picture
    from clipaudit.errors import ClipauditError
    from clipaudit.store.store import Store

    try:
        return picture_uri(read_picture(sample, Store(store)))
    except ClipauditError as error:
        click.echo(f"No image: {error}", err=True)
        return None
