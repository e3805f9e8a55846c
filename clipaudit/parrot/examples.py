"""Pick the images in the parrot audit's galleries: those with extreme caption scores.

Lin et al., ECCV 2024, Figures 1, 2, 8, 14 and 15: https://arxiv.org/abs/2312.14232. The paper does
not say how it chose most of its examples. Here each list is the head of one order of all scored
images; Figure 14 takes the clusters with most text, while the paper draws 250 at random.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float64, Int32, Int64

from clipaudit.corpora.addresses import sample_addresses, shard_row
from clipaudit.errors import StoreError
from clipaudit.parrot.spotted_options import ExampleList, What
from clipaudit.parrot.tokens import Tokenization

_SCORES = (
    pa.field("raw", pa.float32(), nullable=False),
    # null as in SCORES
    *(pa.field(name, pa.float32()) for name in ("all", "co", "random_all", "random_co")),
    *(pa.field(name, pa.int32()) for name in ("donor_row", "co_donor_row")),
)
_CLUSTER = (
    # null: not shown by cluster
    pa.field("cluster", pa.int32()),
    pa.field("cluster_pictures", pa.int64()),  # its scored images
    pa.field("cluster_with_text", pa.int64()),  # those with text
)

# One row per shown image, by position.
SPOTTED_EXAMPLES = pa.schema(
    [
        pa.field("position", pa.int32(), nullable=False),  # in the figure, from 0
        pa.field(
            "what", pa.string(), nullable=False
        ),  # why it is shown: a value of `spotted_options.What`
        pa.field("corpus", pa.string(), nullable=False),
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("caption", pa.string(), nullable=False),
        # each once, in the caption's order, separated by spaces; as the tokenization writes them
        pa.field("co_words", pa.string(), nullable=False),
        pa.field("rate", pa.float64()),  # null: the caption has no words
        *_SCORES,
        *_CLUSTER,
    ]
)


@dataclass(frozen=True, eq=False)
class ScoredPart:
    """The tables of a part of a corpus that picking needs."""

    corpus: str
    scores: pa.Table  # SCORES
    matches: pa.Table  # MATCHES of at least these images
    placed: pa.Table | None = None  # PLACED; a list by cluster needs it


def pick_examples(
    parts: Iterable[ScoredPart],
    asked: Sequence[ExampleList],
    *,
    corpora: Sequence[str],
    tokenization: Tokenization,
) -> pa.Table:
    """Return the images of all requested lists, one list after the other.

    `parts` are read once, in any order; only the head of each list is kept. Ties follow the order
    of `corpora`, then (shard, row). Clusters are ordered by the share of their scored images with
    text, then by the number of these, then by the cluster's number; clusters without text, or with
    fewer images than a list shows of each, are left out. Images without a place have no cluster.
    Columns are those of SPOTTED_EXAMPLES, without the caption and with `co_words` as a list in code
    point order; see `example_texts`. Raises StoreError for a score whose image `matches` lack.
    """
    lists = [_List(each) for each in asked]
    for part in parts:
        table = _joined(part, corpora.index(part.corpus), tokenization)
        for each in lists:
            each.add(table)
    picked = pa.concat_tables([each.table() for each in lists])
    names = pa.array(corpora, pa.string()).take(picked["corpus_position"])
    position = pa.array(np.arange(len(picked), dtype=np.int32))
    return picked.append_column("corpus", names).append_column("position", position)


# --- picking -------------------------------------------------------------------------------------

_PICKED = pa.schema(
    [
        pa.field("corpus_position", pa.int32()),
        *(SPOTTED_EXAMPLES.field(name) for name in ("shard", "row")),
        pa.field("co_words", pa.list_(pa.field("word", pa.string(), nullable=False))),
        SPOTTED_EXAMPLES.field("rate"),
        pa.field("spans", pa.int32()),
        *_SCORES,
        _CLUSTER[0],
    ]
)
_ORDER = [(name, "ascending") for name in ("order", "corpus_position", "shard", "row")]


def _joined(part: ScoredPart, position: int, tokenization: Tokenization) -> pa.Table:
    """Return one row per scored image of a part, with its match and its cluster."""
    scores, matches = part.scores, part.matches
    addresses = pa.array(sample_addresses(scores))
    places = pc.index_in(addresses, pa.array(sample_addresses(matches)))
    if places.null_count:
        lacking = addresses.filter(pc.is_null(places))[0].as_py()
        raise StoreError(
            f"{part.corpus}: (shard, row) {shard_row(lacking)} has a score but is not among the "
            f"{len(matches)} matches of its part; run `clipaudit verify`, or make both again"
        )
    clusters = pa.nulls(len(scores), pa.int32())
    if part.placed is not None:
        known = pa.array(sample_addresses(part.placed))
        clusters = part.placed["cluster"].take(pc.index_in(addresses, known))
    columns = {name: scores[name] for name in scores.column_names} | {
        "corpus_position": pa.repeat(pa.scalar(position, pa.int32()), len(scores)),
        "co_words": matches[f"{tokenization}_co"].take(places),
        "rate": matches[f"{tokenization}_rate"].take(places),
        "spans": matches["spans"].take(places),
        "cluster": clusters,
    }
    return pa.table([columns[name] for name in _PICKED.names], schema=_PICKED)


class _List:
    """The head of one order of images; a list by cluster has a head for each cluster."""

    def __init__(self, asked: ExampleList) -> None:
        self._asked = asked
        self._by_cluster = asked.what == "clustered"
        self._head = _PICKED.append(pa.field("order", pa.float64())).empty_table()
        self._pictures = np.zeros(0, np.int64)  # by cluster
        self._with_text = np.zeros(0, np.int64)

    def add(self, table: pa.Table) -> None:
        """Add the images of a part."""
        order = _order(table, self._asked.what)
        listed = table.append_column("order", pa.array(order)).filter(pa.array(~np.isnan(order)))
        if self._by_cluster:
            cluster, spans = listed["cluster"].to_numpy(), listed["spans"].to_numpy()
            self._pictures = _added(self._pictures, cluster)
            self._with_text = _added(self._with_text, cluster[spans > 0], len(self._pictures))
        self._head = self._best(pa.concat_tables([self._head, listed]))

    def table(self) -> pa.Table:
        """Return the list in its order, with its name and the counts of its clusters."""
        head = self._head
        if self._by_cluster:
            place = pc.index_in(head["cluster"], pa.array(self._clusters()))
            head = head.append_column("place", place).filter(pc.is_valid(place))
            head = head.sort_by([("place", "ascending"), *_ORDER]).drop_columns("place")
        else:
            at = head.column_names.index("cluster")
            head = head.set_column(at, _CLUSTER[0], pa.nulls(len(head), pa.int32()))
        for field, counts in zip(_CLUSTER[1:], (self._pictures, self._with_text), strict=True):
            head = head.append_column(field, pa.array(counts).take(head["cluster"]))
        return head.append_column("what", pa.repeat(self._asked.what, len(head)))

    def _best(self, table: pa.Table) -> pa.Table:
        if not self._by_cluster:
            return table.sort_by(_ORDER).slice(0, self._asked.count)
        table = table.sort_by([("cluster", "ascending"), *_ORDER])
        cluster = table["cluster"].to_numpy()
        rank = np.arange(len(cluster)) - np.searchsorted(cluster, cluster)
        return table.filter(pa.array(rank < self._asked.count))

    def _clusters(self) -> Int32[np.ndarray, " n"]:
        """Return the shown clusters, in their order."""
        there = np.flatnonzero((self._pictures >= self._asked.count) & (self._with_text > 0))
        with_text = self._with_text[there]
        order = np.lexsort((there, -with_text, -with_text / self._pictures[there]))
        shown: np.ndarray = there[order][: self._asked.clusters].astype(np.int32)
        return shown


def _order(table: pa.Table, what: What) -> Float64[np.ndarray, " n"]:
    """Return the sort keys of images, lowest first; nan means not in this list."""
    raw, bare, co, rate = (  # float64, so that differences are exact
        pc.cast(table[name], pa.float64()).to_numpy() for name in ("raw", "all", "co", "rate")
    )
    listed, order = np.ones(len(raw), bool), -raw
    if what == "parroting":
        listed = rate > 0
    elif what == "repeating":
        order = co - raw  # nan where there is nothing co-embedded
    elif what == "distracted":
        listed, order = raw < bare, raw - bare
    elif what == "dependent":
        listed, order = raw > bare, bare - raw
    elif what == "clustered":
        listed = np.asarray(pc.is_valid(table["cluster"]))
    return np.where(listed, order, np.nan)


def _added(
    counts: Int64[np.ndarray, " n"], numbers: Int32[np.ndarray, " k"], length: int = 0
) -> Int64[np.ndarray, " m"]:
    """Return counts by number, at least `length` of them, with these numbers counted too."""
    more: np.ndarray = np.bincount(numbers, minlength=max(length, len(counts))).astype(np.int64)
    more[: len(counts)] += counts
    return more
