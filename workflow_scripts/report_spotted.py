"""One gallery of the parrot audit: pictures with text."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from clipaudit.steps.workflow import Step, run_step

if TYPE_CHECKING:
    from clipaudit.parrot.example_texts import SamplesAndSpans
    from clipaudit.parrot.examples import ScoredPart


def parts(step: Step) -> "Iterator[ScoredPart]":
    """Yield what pictures are picked by, part by part."""
    from clipaudit.parrot.examples import ScoredPart

    words = step.settings["gallery"]["tokenization"]
    columns = ["shard", "row", "spans", f"{words}_co", f"{words}_rate"]
    files = step.labelled("scores")
    placed = step.tables("placed") if step.files("placed") else [None] * len(files)
    matches = step.tables("matches", columns=columns)
    for file, *tables in zip(files, step.tables("scores"), matches, placed, strict=True):
        yield ScoredPart(file.labels["corpus"], *tables)


def material(step: Step, corpus: str, shards: set[int]) -> "SamplesAndSpans":
    """Return the samples and spans of some shards."""
    from clipaudit.corpora.lookup import rows_of_shards
    from clipaudit.parrot.example_texts import SamplesAndSpans

    samples, spans = (
        [file.path for file in step.labelled(name) if file.labels["corpus"] == corpus]
        for name in ("samples", "spans")
    )
    return SamplesAndSpans(rows_of_shards(samples, shards), rows_of_shards(spans, shards))


def compute(step: Step) -> None:
    """Pick examples, look their captions, spans and pictures up, draw them."""
    from clipaudit.corpora.addresses import shards_and_rows
    from clipaudit.parrot.example_texts import describe_examples, example_addresses
    from clipaudit.parrot.examples import SPOTTED_EXAMPLES, Asked, pick_examples
    from clipaudit.parrot.reports.spotted_gallery import draw_spotted
    from clipaudit.parrot.synthetic import Typeface, dejavu_sans
    from clipaudit.reports.drawing import figure_bytes
    from clipaudit.reports.rendering import figure_markdown, to_csv
    from clipaudit.reports.shown_pictures import shown_pictures

    asked, font = step.settings["gallery"], step.files("font")
    lists = [
        Asked(*(each[key] for key in ("what", "count", "clusters"))) for each in asked["lists"]
    ]
    corpora, tokenization = asked["corpora"], asked["tokenization"]
    picked = pick_examples(parts(step), lists, corpora=corpora, tokenization=tokenization)
    known = {
        corpus: material(step, corpus, set(shards_and_rows(addresses)[0].tolist()))
        for corpus, addresses in example_addresses(picked).items()
    }
    table, texts = describe_examples(picked, known, tokenization=tokenization)
    wanted = {
        corpus: addresses.tolist()
        for corpus, addresses in example_addresses(table, donors=False).items()
    }
    pictures = shown_pictures(wanted, asked, step.files("tars"), step.labelled("samples"))
    typeface = Typeface(font[0].read_bytes()) if font else dejavu_sans()
    svg, png = figure_bytes(draw_spotted(table, texts, pictures, typeface, asked))
    step.write_table("table", table, SPOTTED_EXAMPLES)
    step.write_bytes("csv", to_csv(table).encode(), ".csv")
    step.write_bytes("svg", svg, ".svg")
    step.write_bytes("png", png, ".png")
    text = figure_markdown(step.settings["name"], step.settings["caption"])
    step.write_bytes("markdown", text.encode(), ".md")


run_step(snakemake, compute)
