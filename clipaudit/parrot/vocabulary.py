"""Count n-gram vocabularies of captions and of co-embedded text.

Lin et al., ECCV 2024, Sec. 5.2: https://arxiv.org/abs/2312.14232. The paper keeps the 400,000 most
frequent 1- and 2-grams. It says that co-embedded text makes poor sequences, but not how it makes
them: here a gram's words follow each other within one span and are all co-embedded. Grams are
always text; the published code reads null, nan, None and NA as missing numbers.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from tempfile import TemporaryDirectory
from typing import Literal

import duckdb
import numpy as np
import pyarrow as pa

from clipaudit.corpora.drops import table_of_rows
from clipaudit.errors import ConfigError, StoreError
from clipaudit.parrot.matching import sorted_places, span_texts
from clipaudit.parrot.tokens import Tokenization, tokens

Source = Literal["captions", "co-embedded"]

# One row per gram, by frequency descending, then gram in code point order.
GRAMS = pa.schema(
    [
        pa.field("gram", pa.string(), nullable=False),  # words joined by one space
        pa.field("frequency", pa.int64(), nullable=False),  # occurrences, 1 or more
    ]
)

MEMORY = "2GiB"  # of a merge; the rest goes to a temporary folder. Memory, never results

_DUCKDB: dict[str, str | bool | int | float | list[str]] = {  # reads only registered tables
    "threads": 1,
    "enable_external_access": False,
    "python_enable_replacements": False,
    "memory_limit": MEMORY,
}
_ROWS_AT_ONCE = 65_536  # of a table that is merged
_MERGE = """
select gram, sum(frequency)::bigint as frequency
from grams
group by gram
order by frequency desc, gram
limit $most
"""


def count_grams(
    samples: pa.Table,
    matches: pa.Table,
    spans: pa.Table,
    *,
    source: Source,
    n: int,
    tokenization: Tokenization,
) -> pa.Table:
    """Return the GRAMS of n words of one part, counting every occurrence.

    `captions` counts the word sequences of all non-null captions of `samples`, including those of
    images that could not be spotted. `co-embedded` counts those sequences within one span of
    `spans` whose words are all co-embedded by `matches`, the MATCHES of the same images. The order
    of rows does not matter. A text of fewer than n words has no gram; without texts there are no
    rows.

    Raises ConfigError for n below 1, StoreError if `matches` and `spans` are of different images.
    """
    if n < 1:
        raise ConfigError(f"grams of {n} words: give 1 or more")
    if source == "captions":
        captions = (caption for caption in samples["caption"].to_pylist() if caption)
        runs: Iterator[Sequence[str]] = (tokens(caption, tokenization) for caption in captions)
    else:
        runs = _co_embedded_runs(matches, spans, tokenization)
    counts: Counter[str] = Counter()
    for run in runs:
        counts.update(_grams(run, n))
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return table_of_rows(rows, GRAMS)


def merge_grams(tables: Iterable[pa.Table], *, most: int) -> pa.Table:
    """Return the `most` most frequent grams of GRAMS tables taken together, as GRAMS.

    Frequencies of equal grams add up over all tables before any gram is left out, so the split into
    tables and their order do not matter. In a tie the first grams in code point order are kept.
    Tables are read once, one at a time; memory stays near MEMORY. Without tables there are no rows.

    Raises ConfigError for `most` below 1, StoreError if a table cannot be read or is not GRAMS, or
    the temporary folder has no room.
    """
    if most < 1:
        raise ConfigError(f"the {most} most frequent grams: give 1 or more")
    batches = (
        batch
        for table in tables
        for batch in table.select(GRAMS.names).cast(GRAMS).to_batches(max_chunksize=_ROWS_AT_ONCE)
    )
    with (
        TemporaryDirectory(prefix="clipaudit-grams-") as folder,
        duckdb.connect(config={**_DUCKDB, "temp_directory": folder}) as connection,
    ):
        connection.register("grams", pa.RecordBatchReader.from_batches(GRAMS, batches))
        try:
            merged = connection.sql(_MERGE, params={"most": most}).to_arrow_table()
        except duckdb.Error as error:  # also if `tables` raises
            raise StoreError(
                f"grams could not be merged: {error}\nEither a stored part is damaged: run "
                "`clipaudit verify`; or the temporary folder is full: point TMPDIR to a larger one."
            ) from error
    return merged.cast(GRAMS).combine_chunks()


def _grams(run: Sequence[str], n: int) -> Iterator[str]:
    """Yield the n-grams of a run of words without white space, joined by a space."""
    return map(" ".join, zip(*(run[start:] for start in range(n)), strict=False))


def _co_embedded_runs(
    matches: pa.Table, spans: pa.Table, tokenization: Tokenization
) -> Iterator[Sequence[str]]:
    """Yield the longest runs of co-embedded words, each within one span."""
    addresses, match_order = sorted_places(matches, "matches")
    pictures, span_order = sorted_places(spans, "spans")
    if not np.array_equal(addresses, pictures):
        raise StoreError(
            f"matches of {len(addresses)} images and spans of {len(pictures)}: they are not of "
            "the same images, so match these spans again"
        )
    co_words = matches[f"{tokenization}_co"].to_pylist()
    texts = list(span_texts(spans))
    for match_place, span_place in zip(match_order, span_order, strict=True):
        if co := set(co_words[match_place]):
            for text in texts[span_place]:
                yield from _runs(tokens(text, tokenization), co)


def _runs(words: Sequence[str], co: set[str]) -> Iterator[list[str]]:
    """Yield the longest runs of words that are all in `co`."""
    for is_inside, run in groupby(words, key=co.__contains__):
        if is_inside:
            yield list(run)
