"""Compare the text that a spotter read in images of a synthetic world with the written text."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from clipaudit.corpora.addresses import sample_addresses, shard_row
from clipaudit.corpora.drops import table_of_rows
from clipaudit.errors import StepError
from clipaudit.parrot.matching import span_texts
from clipaudit.parrot.tokens import tokens

# One row per row of SPANS, in its order. A word is one of the tokenization `words`.
SPOTTED_TRUTH = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("word", pa.string()),  # as it was written; null: no word was
        pa.field("word_height", pa.int32()),  # pixels, of the word's ink; null: no word
        pa.field("found", pa.bool_()),  # the word is among the spotted ones; null: no word
        pa.field("spans", pa.int32(), nullable=False),
        pa.field("spotted", pa.int32(), nullable=False),  # distinct words of the spans
        pa.field("right", pa.int32(), nullable=False),  # those that were written
        # caption words that are in the image / caption words, by the written and by the spotted
        # text; null: no caption, or one without words
        pa.field("truth_rate", pa.float64()),
        pa.field("spotted_rate", pa.float64()),
    ]
)


def compare(truth: pa.Table, spans: pa.Table, matches: pa.Table) -> pa.Table:
    """Return SPOTTED_TRUTH: every image of `spans` with the text that the world wrote into it.

    `truth` is a TRUTH table of `clipaudit.demo.shard_writer` and may hold more than `spans`, a
    SPANS table; `matches`, their MATCHES, has the same images in any order. Words are compared
    under the tokenization `words`; all words of a text must be spotted. Without images the table is
    empty. Raises StepError if `truth` or `matches` lacks an image.
    """
    written = _rows_of(truth, spans, "truth")
    matched = _rows_of(matches, spans, "matches")
    return table_of_rows(_rows(written, spans, matched["words_rate"].to_pylist()), SPOTTED_TRUTH)


def _rows(
    written: pa.Table, spans: pa.Table, rates: list[float | None]
) -> Iterator[tuple[object, ...]]:
    columns = (written[name].to_pylist() for name in ("text", "text_height", "caption"))
    addresses = (spans[name].to_pylist() for name in ("shard", "row"))
    for shard, row, texts, word, height, caption, rate in zip(
        *addresses, span_texts(spans), *columns, rates, strict=True
    ):
        spotted = set(tokens(" ".join(texts), "words"))
        own = set() if word is None else set(tokens(word, "words"))
        found = None if word is None else bool(own) and own <= spotted
        right = len(own & spotted)
        words = set(tokens(caption or "", "words"))
        truth_rate = len(words & own) / len(words) if words else None
        yield (
            *(shard, row, word, height, found),
            *(len(texts), len(spotted), right, truth_rate, rate),
        )


def _rows_of(table: pa.Table, spans: pa.Table, name: str) -> pa.Table:
    """Return the rows of a table at the addresses of `spans`, in that order."""
    known, wanted = sample_addresses(table), sample_addresses(spans)
    lacking = np.flatnonzero(~np.isin(wanted, known))
    if len(lacking):
        shard, row = shard_row(int(wanted[lacking[0]]))
        raise StepError(
            f"{name}: row {row} of shard {shard} was spotted but is not among its {len(known)} "
            f"rows; {len(lacking)} of {len(wanted)} images are missing. Give the {name} of all "
            "spotted shards."
        )
    order = np.argsort(known, kind="stable")
    return table.take(order[np.searchsorted(known[order], wanted)])
