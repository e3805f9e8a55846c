"""One gallery of the parrot audit: images with text."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from clipaudit.steps.workflow import Step, run_step

if TYPE_CHECKING:
    import pyarrow as pa

    from clipaudit.parrot.examples import ScoredPart


def parts(step: Step, words: str) -> "Iterator[ScoredPart]":
    """Yield the data for picking images, part by part."""
    from clipaudit.parrot.examples import ScoredPart

    columns = ["shard", "row", "spans", f"{words}_co", f"{words}_rate"]
    files = step.labelled("scores")
    placed = step.tables("placed") if step.files("placed") else [None] * len(files)
    matches = step.tables("matches", columns=columns)
    for file, *tables in zip(files, step.tables("scores"), matches, placed, strict=True):
        yield ScoredPart(file.labels["corpus"], *tables)


def of_shards(step: Step, name: str, corpus: str, shards: set[int]) -> "Iterator[pa.Table]":
    """Yield the rows of an input for some shards of a corpus."""
    from clipaudit.corpora.lookup import rows_of_shards

    files = [file.path for file in step.labelled(name) if file.labels["corpus"] == corpus]
    yield from rows_of_shards(files, shards)


def compute(step: Step) -> None:
    """Pick examples, look up their captions, spans and images, and draw them."""
    from clipaudit.corpora.addresses import shards_and_rows
    from clipaudit.parrot.example_texts import describe_examples, example_addresses
    from clipaudit.parrot.examples import SPOTTED_EXAMPLES, pick_examples
    from clipaudit.parrot.reports.spotted_gallery import draw_spotted
    from clipaudit.parrot.spotted_options import SpottedOptions
    from clipaudit.parrot.synthetic import Typeface, dejavu_sans
    from clipaudit.reports.drawings import figure_files
    from clipaudit.reports.gallery_options import Sources
    from clipaudit.reports.shown_pictures import shown_pictures

    options = step.settings_as(SpottedOptions, "options")
    sources, font = step.settings_as(Sources, "sources"), step.files("font")
    words = options.tokenization
    picked = pick_examples(
        parts(step, words), options.lists, corpora=options.corpora, tokenization=words
    )
    shards = {
        corpus: set(shards_and_rows(addresses)[0].tolist())
        for corpus, addresses in example_addresses(picked).items()
    }
    samples, spans = (
        {corpus: of_shards(step, name, corpus, own) for corpus, own in shards.items()}
        for name in ("samples", "spans")
    )
    table, texts = describe_examples(picked, samples, spans, tokenization=words)
    wanted = {
        corpus: addresses.tolist()
        for corpus, addresses in example_addresses(table, donors=False).items()
    }
    pictures = shown_pictures(wanted, sources, step.files("tars"), step.labelled("samples"))
    typeface = Typeface(font[0].read_bytes()) if font else dejavu_sans()
    figure = draw_spotted(table, texts, pictures, typeface, options)
    step.write_table("table", table, SPOTTED_EXAMPLES)
    about = {name: step.settings[name] for name in ("name", "caption")}
    for each in figure_files(table, figure, **about):
        step.write_bytes(*each)


run_step(snakemake, compute)
