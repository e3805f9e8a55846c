"""Look up the captions and spans of the images in galleries, for drawing."""

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Int64

from clipaudit.corpora.addresses import sample_address, sample_addresses, shard_row
from clipaudit.errors import StoreError
from clipaudit.parrot.examples import SPOTTED_EXAMPLES
from clipaudit.parrot.spans import SPAN_LIST
from clipaudit.parrot.tokens import Tokenization, tokens

_NONE = np.zeros(0, np.int64)

# One row per shown image and donor, each once, by (corpus, shard, row).
EXAMPLE_TEXTS = pa.schema(
    [
        pa.field("corpus", pa.string(), nullable=False),
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("width", pa.int32(), nullable=False),  # of the stored image, in pixels
        pa.field("height", pa.int32(), nullable=False),
        pa.field("spans", SPAN_LIST, nullable=False),
    ]
)


def example_addresses(
    picked: pa.Table, *, donors: bool = True
) -> dict[str, Int64[np.ndarray, " n"]]:
    """Return, by corpus, the addresses of examples and of their donors."""
    found: dict[str, list[Int64[np.ndarray, " n"]]] = {}
    for name in ("row", "donor_row", "co_donor_row") if donors else ("row",):
        rows = picked.filter(pc.is_valid(picked[name]))
        for corpus in pc.unique(rows["corpus"]).to_pylist():
            own = rows.filter(pc.equal(rows["corpus"], corpus))
            found.setdefault(corpus, []).append(sample_addresses(own, row=name))
    return {corpus: np.unique(np.concatenate(each)) for corpus, each in found.items()}


def describe_examples(
    picked: pa.Table,
    samples: Mapping[str, Iterable[pa.Table]],
    spans: Mapping[str, Iterable[pa.Table]],
    *,
    tokenization: Tokenization,
) -> tuple[pa.Table, pa.Table]:
    """Return SPOTTED_EXAMPLES of the result of `pick_examples`, and its EXAMPLE_TEXTS.

    SAMPLES and SPANS, given by corpus in pieces that are read once, hold at least the examples and
    their donors. Raises StoreError for an image that they lack.
    """
    texts = [EXAMPLE_TEXTS.empty_table()]
    captions: dict[tuple[str, int], str | None] = {}
    for corpus, addresses in sorted(example_addresses(picked).items()):
        own = _rows_at(samples[corpus], addresses, f"{corpus}: samples")
        spotted = _rows_at(spans[corpus], addresses, f"{corpus}: spans")
        columns = {name: own[name] for name in ("shard", "row", "width", "height")}
        columns |= {"corpus": pa.repeat(corpus, len(own)), "spans": spotted["spans"]}
        texts.append(pa.table([columns[name] for name in EXAMPLE_TEXTS.names], EXAMPLE_TEXTS))
        keys = [(corpus, address) for address in sample_addresses(own).tolist()]
        captions |= dict(zip(keys, own["caption"].to_pylist(), strict=True))
    rows = picked.to_pylist()
    for row in rows:
        caption = captions[row["corpus"], sample_address(row["shard"], row["row"])]
        assert caption is not None, "a caption is scored"
        words = dict.fromkeys(tokens(caption, tokenization))
        co_words = set(row["co_words"])
        row |= {"caption": caption, "co_words": " ".join(w for w in words if w in co_words)}
    return pa.Table.from_pylist(rows, SPOTTED_EXAMPLES), pa.concat_tables(texts)


def _rows_at(tables: Iterable[pa.Table], addresses: Int64[np.ndarray, " n"], name: str) -> pa.Table:
    """Return the rows at these ascending addresses, in their order."""
    found = [
        table.filter(pa.array(np.isin(sample_addresses(table), addresses))) for table in tables
    ]
    known = [sample_addresses(table) for table in found]
    places = pc.index_in(pa.array(addresses), pa.array(np.concatenate([_NONE, *known])))
    if places.null_count:
        lacking = pa.array(addresses).filter(pc.is_null(places))[0].as_py()
        raise StoreError(
            f"{name}: (shard, row) {shard_row(lacking)} has a score but no row here; run "
            "`clipaudit verify`, or make the scores again"
        )
    return pa.concat_tables(found).take(places)
