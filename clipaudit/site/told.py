"""The report's first page as text or JSON, without the report."""

import textwrap
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from clipaudit.catalog.views import open_catalog
from clipaudit.config.manifests import ALL
from clipaudit.config.settings import Settings
from clipaudit.errors import StoreError
from clipaudit.plaindata import Json, Row
from clipaudit.reports.contents import contents
from clipaudit.reports.layouts import counted
from clipaudit.reports.leftout import left_out_of, left_out_whole
from clipaudit.site.answers import answers
from clipaudit.site.content import json_value
from clipaudit.site.facts import drop_sentence, drops, enabled, samples_of, shards_of
from clipaudit.steps import paths
from clipaudit.store.store import Pointer, Store

WIDTH = 100  # of a line


def read_told(run: Settings) -> dict[str, Any]:
    """Return the findings of a finished run in the current folder, as JSON values.

    `corpora` has the images and shards of each that tables read. `audits` has the headline and
    sentences of each audit that ran; each sentence names the table of its numbers. `tables` has the
    rows of these tables, `manifests` the prunings made, and `drops` the samples that could not be
    used, by corpus, stage and reason. Tables that only earlier settings asked for are not read.
    Raise StoreError if an audit has no tables, if the store lacks one or has it altered, or if the
    last run read corpora that the settings do not have.
    """
    results, store = Path(run.results), Store(Path(run.store))
    asked = {
        audit.name: {name for reported in contents(audit).tables for name in reported(run)}
        for audit, _ in run.audits()
    }
    pointers = {name: results / paths.table(name) for name in sorted(set().union(*asked.values()))}
    made = {name: path for name, path in pointers.items() if path.is_file()}
    whole = left_out_whole(store, made.values())
    stored = {
        name: pq.ParquetFile(store.checked_path(Pointer.read(path))).read()
        for name, path in made.items()
        if name not in whole
    }
    tables = {name: table.to_pylist() for name, table in stored.items()}
    left_out = {**{name: left_out_of(table.schema) for name, table in stored.items()}, **whole}
    for audit, names in asked.items():
        if names and not names & made.keys():
            raise StoreError(
                f"{results}/tables: no table of the {audit} audit. `clipaudit run SETTINGS` "
                "makes them."
            )
    found = [each for each in answers(tables, enabled(run), left_out) if each.ran]
    cited = {sentence.table for each in found for sentence in each.answer.sentences} - {""}
    with open_catalog(results) as connection:
        images, dropped = samples_of(connection), drops(connection)
        shards = shards_of(connection)
    read = images.keys() | {drop.corpus for drop in dropped}
    _refuse_others(read, run)
    return {
        "corpora": {
            name: {"images": images.get(name, 0), "shards": shards.get(name, len(run.shards(name)))}
            for name in run.corpora
            if name in read
        },
        "audits": {
            each.audit: {
                "question": each.question,
                "label": each.answer.label or each.audit.capitalize(),
                "headline": each.answer.headline,
                "sentences": [
                    {"label": sentence.label, "text": sentence.text, "table": sentence.table}
                    for sentence in each.answer.sentences
                ],
            }
            for each in found
        },
        "tables": {name: [_row(row) for row in tables[name]] for name in sorted(cited)},
        "manifests": [
            f"{corpus}/{pruning}"
            for members in run.manifests().values()
            for corpus, pruning in members.items()
            if pruning != ALL and (results / "manifests" / corpus / pruning).is_dir()
        ],
        "drops": [
            {"corpus": drop.corpus, "stage": drop.stage, "reason": drop.reason,
             "samples": drop.samples}
            for drop in dropped
        ],
    }  # fmt: skip


def _refuse_others(read: Set[str], run: Settings) -> None:
    """Raise StoreError if the last run read corpora that the settings do not have."""
    if others := sorted(read - run.corpora.keys()):
        raise StoreError(
            f"{run.results}: the last run read {', '.join(others)}, and these settings have only "
            f"{', '.join(run.corpora)}. Name the settings of that run, or start `clipaudit run "
            "SETTINGS` with these."
        )


def told_lines(told: Json) -> Iterator[str]:
    """Yield the findings of `read_told` as text: each audit's headline, and labelled sentences."""
    sizes = ", ".join(
        f"{name}: {counted(each['images'], 'image')} in {counted(each['shards'], 'shard')}"
        for name, each in told["corpora"].items()
    )
    yield from textwrap.wrap(sizes, WIDTH)
    for each in told["audits"].values():
        yield from _under(each["label"], each["headline"])
        for sentence in each["sentences"]:
            if sentence["label"]:
                yield from _under(sentence["label"], sentence["text"])
    for drop in told["drops"]:
        sentence = drop_sentence(drop["samples"], drop["corpus"], drop["reason"])
        yield from _under("Drops", sentence)


def _under(head: str, text: str) -> list[str]:
    """Return the wrapped lines of a text beside its label."""
    return textwrap.wrap(text, WIDTH, initial_indent=f"{head:<11} ", subsequent_indent=" " * 12)


def _row(row: Row) -> dict[str, object]:
    return {name: json_value(value) for name, value in row.items()}
