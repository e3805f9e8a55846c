"""`clipaudit sample`: one sample's fate in all audits."""

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
    help="How to tell it; else as the name of --output ends, or as text.",
)
@output_option("File to write.")
@click.option("--no-picture", is_flag=True, help="HTML: a placeholder instead of the picture.")
@results_option()
@store_option("Folder of the store, which knows shards that were moved.", exists=False)
def sample(
    corpus: str,
    name: str,
    form: str | None,
    output: Path | None,
    no_picture: bool,
    results: Path,
    store: Path,
) -> None:
    """Tell one sample's fate in all audits.

    Which manifests keep it and why others do not, what it repeats, the test images nearest to it
    and the gaps it crosses, its text, scores, set and recall. A sample is named by its uid or the
    first six digits or more of that, by its key, or by SHARD:ROW. HTML is one page with the
    picture in it, text and objects marked, and beside it its copies.

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
    """Return the samples that are shown beside one: in words, and as the catalog has them."""
    from clipaudit.catalog.samples.catalog import SampleCatalog
    from clipaudit.catalog.samples.sections import shown_beside

    catalog = SampleCatalog(connection)
    return [
        (each.words, catalog.sample(each.address))
        for each in shown_beside(fate)
        if catalog.named(each.address)  # not so of a corpus that no table reads
    ]


def _page(fate: dict[str, Any], others: list[tuple[str, Row]], pictured: bool, store: Path) -> str:
    """Return the page of a fate; a picture that cannot be had is told, and leaves a placeholder."""
    from clipaudit.catalog.samples.page import sample_page

    if not pictured:
        return sample_page(fate, None, beside=[(words, None) for words, _ in others])
    picture = _uri(fate["sample"], store)
    beside = [(words, _uri(sample, store)) for words, sample in others]
    return sample_page(fate, picture, "picture not found", beside)


def _uri(sample: Row, store: Path) -> str | None:
    """Return the picture of a sample as a data URI; None, with a word, where it cannot be had."""
    from clipaudit.catalog.samples.page import picture_uri, read_picture
    from clipaudit.errors import ClipauditError
    from clipaudit.store.store import Store

    try:
        return picture_uri(read_picture(sample, Store(store)))
    except ClipauditError as error:
        click.echo(f"No picture: {error}", err=True)
        return None
