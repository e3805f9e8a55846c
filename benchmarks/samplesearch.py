"""Measures how long the search among samples takes in Chromium, without a server.

    OMP_NUM_THREADS=1 python benchmarks/samplesearch.py [--samples 100000]

Makes a catalog of this many samples with captions, half of them near a test image, and the report's
page of samples with its index. Opens it from disk and searches by a word, by two words and a facet,
and by a facet in an order. Prints a table in Markdown: milliseconds until the page shows an answer,
the first one including reading the index, then medians. docs/report.md has it.
"""

import argparse
import os
import random
import shutil
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from playwright.sync_api import Page, sync_playwright

from clipaudit.catalog.views import CATALOG, CatalogFile, open_catalog, write_catalog
from clipaudit.config.settings import WholeSettings
from clipaudit.corpora.samples import SAMPLES
from clipaudit.similarity.nearest import SIMILARITIES
from clipaudit.site.assets import write_search, write_static
from clipaudit.site.pages import Site, rendered
from clipaudit.site.search_index import SearchIndex, search_index

RUN = WholeSettings.model_validate({"corpora": {"web": {"shards": "web.tar"}}})
WORDS = 5000  # of captions
LENGTH = 10  # words of a caption
SHARD = 10_000  # samples of a shard
TIMES = 9
QUESTIONS = {
    "a word": "words=w123",
    "two words and a facet": "words=w12+w7&crosses-the-gap-of=val",
    "a facet in an order": "corpus=web&order=excess-over-the-gap",
}


def rows(samples: int) -> Iterator[dict[str, object]]:
    """Yield samples with captions of random words."""
    dice = random.Random(0)
    for number in range(samples):
        shard, row = divmod(number, SHARD)
        caption = " ".join(f"w{int(dice.paretovariate(0.3)) % WORDS}" for _ in range(LENGTH))
        yield {"shard": shard, "row": row, "uid": f"{dice.getrandbits(128):032x}", "key": f"{row}",
               "caption": caption, "width": 8, "height": 8}  # fmt: skip


def near(samples: int) -> Iterator[dict[str, object]]:
    """Yield what every second sample is near."""
    dice = random.Random(1)
    for number in range(0, samples, 2):
        shard, row = divmod(number, SHARD)
        yield {"shard": shard, "row": row, "testset": "val", "similarity": dice.random(),
               "test_shard": 0, "test_row": row, "gap_similarity": dice.random(),
               "gap": dice.random(), "gap_test_shard": 0, "gap_test_row": row}  # fmt: skip


def index_of(folder: Path, samples: int) -> SearchIndex:
    """Return the index of a catalog of this many samples."""
    files = []
    labels = {"corpus": "web"}
    for view, schema, made, of in (
        ("samples", SAMPLES, rows(samples), labels),
        ("similarities", SIMILARITIES, near(samples), {**labels, "encoder": "own"}),
    ):
        columns: dict[str, list[object]] = {name: [] for name in schema.names}
        for row in made:
            for name in columns:
                columns[name].append(row.get(name, _filler(schema.field(name).type)))
        path = folder / f"{view}.parquet"
        pq.write_table(pa.table(columns, schema=schema), path)
        files.append(CatalogFile(view, path, of))
    write_catalog(files, {}, folder / CATALOG, None)
    with open_catalog(folder) as connection:
        return search_index(connection, RUN, [], samples)


def _filler(kind: pa.DataType) -> object:
    return "" if pa.types.is_string(kind) else 0 if pa.types.is_integer(kind) else None


def write_page(folder: Path, search: SearchIndex) -> None:
    """Write the page of samples, its script and its index."""
    nothing = {"summary": {}, "left_out": [], "corpora": [], "models": [], "versions": {}}
    site = Site(
        title="Search", version="", answers=[], fronts={}, facts=nothing, tables=[], figures=[],
        samples=[], samples_left_out=0, search=search, looks=[], shows_pictures=True, drops=[],
        settings={}, cost={}, files={},
    )  # fmt: skip
    page = next(text for path, text in rendered(site) if path == "samples.html")
    (folder / "samples.html").write_text(page, "utf-8")
    write_static(folder)
    (folder / "data").mkdir()
    write_search(folder, search.script)


def milliseconds(page: Page, question: str) -> float:
    """Return how long the page takes to show the answer to a question."""
    return float(
        page.evaluate(
            """question => new Promise(done => {
              const said = document.getElementById("entries-found");
              const start = performance.now();
              const told = () => done(performance.now() - start);
              new MutationObserver(told).observe(said, {childList: true, characterData: true});
              location.replace("#" + question);
            })""",
            question,
        )
    )


def timed(page: Page, question: str) -> float:
    """Return the median time of a question that is asked in turns with another one."""
    found = []
    for _ in range(TIMES):
        milliseconds(page, "words=between")
        found.append(milliseconds(page, question))
    return statistics.median(found)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--samples", type=int, default=100_000)
    asked = parser.parse_args(arguments)
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as driver:
        folder = Path(name)
        write_page(folder, index_of(folder, asked.samples))
        size = (folder / "data" / "samples.js").stat().st_size / 1e6
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(f"file://{folder}/samples.html")
        print(f"{asked.samples:,} samples, an index of {size:.1f} MB\n")
        print("| question | ms |\n|---|--:|")
        print(f"| the first, with reading the index | {milliseconds(page, 'words=w1'):.0f} |")
        for what, question in QUESTIONS.items():
            print(f"| {what} | {timed(page, question):.0f} |")
        browser.close()


if __name__ == "__main__":
    main()
