"""Pick the most memorized samples, with the data that a gallery shows.

Jayaraman et al., NeurIPS 2024, Figures 1, 11 and 12: https://arxiv.org/abs/2402.02103. The paper
does not say how it chose its examples. Here they are the records with the most labels that the
target model finds beyond the reference model. Such a selection also finds luck, so each example
states the share of the hold-out, which no model was trained on, with as large a gap.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float64, Int64

from clipaudit.corpora.addresses import sample_addresses, shard_row
from clipaudit.corpora.splits import select_rows
from clipaudit.errors import InputError
from clipaudit.memorization.objects import merged_vocabulary
from clipaudit.memorization.pairs import matched_recalls
from clipaudit.memorization.recall import sample_labels

MODELS = ("target", "reference")  # trained on the record, and not trained on it
SHARES = ("share_of_members", "share_of_holdout")  # of records with at least as large a gap

# One row per (example, model, label): labels that the k nearest public images show, and missed true
# ones. By rank, target before reference, neighbors descending, label.
EXAMPLES = pa.schema(
    [
        pa.field("rank", pa.int32(), nullable=False),  # 0: the most memorized
        pa.field("source", pa.string(), nullable=False),  # the record's corpus
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("uid", pa.string(), nullable=False),
        pa.field("caption", pa.string(), nullable=False),
        pa.field("model", pa.string(), nullable=False),  # target or reference
        pa.field("k", pa.int32(), nullable=False),  # public images asked for
        # of the records with a label: those with at least as large a difference of recalls
        pa.field("share_of_members", pa.float64(), nullable=False),
        pa.field("share_of_holdout", pa.float64()),  # null: no record of the hold-out has a label
        pa.field("label", pa.int32(), nullable=False),
        pa.field("name", pa.string()),  # null: the label has no name
        # how many of the k nearest images show it; 0: a true label that was missed
        pa.field("neighbors", pa.int32(), nullable=False),
        pa.field("is_true", pa.bool_(), nullable=False),  # whether the record's image shows it
    ]
)
_LABELS = pa.list_(pa.field("label", pa.int32(), nullable=False))

# One row per (example, model, place), in this order, of the public images nearest to the caption.
EXAMPLE_NEIGHBORS = pa.schema(
    [
        pa.field("rank", pa.int32(), nullable=False),
        pa.field("model", pa.string(), nullable=False),
        pa.field("place", pa.int32(), nullable=False),  # 0: the nearest
        pa.field("similarity", pa.float64(), nullable=False),
        pa.field("public_shard", pa.int32(), nullable=False),
        pa.field("public_row", pa.int32(), nullable=False),
        # distinct labels of this image, ascending: those that the record's image has, and others
        pa.field("true_labels", _LABELS, nullable=False),
        pa.field("false_labels", _LABELS, nullable=False),
    ]
)

# One row per object of an example's own image that has a box, by rank, then as in OBJECTS.
EXAMPLE_BOXES = pa.schema(
    [
        pa.field("rank", pa.int32(), nullable=False),
        pa.field("label", pa.int32(), nullable=False),
        pa.field("score", pa.float32(), nullable=False),
        # in pixels of the stored image
        pa.field("left", pa.float32(), nullable=False),
        pa.field("top", pa.float32(), nullable=False),
        pa.field("width", pa.float32(), nullable=False),
        pa.field("height", pa.float32(), nullable=False),
    ]
)


@dataclass(frozen=True)
class Examples:
    """The tables EXAMPLES, EXAMPLE_NEIGHBORS, EXAMPLE_BOXES."""

    labels: pa.Table
    neighbors: pa.Table
    boxes: pa.Table


@dataclass(frozen=True)
class ExampleInputs:
    """The tables about records and public images, each in pieces, in any order.

    Pieces are read once and not held together: only rows of examples are kept. Records are numbered
    across sources (see `in_one_corpus`); public images are those of one source.
    """

    samples: Iterable[pa.Table]  # SAMPLES of the records at least: shard, row, uid, caption
    truths: Iterable[pa.Table]  # OBJECTS of the records at least
    retrieved: Mapping[str, Iterable[pa.Table]]  # RETRIEVED of the records, by MODELS
    public: Iterable[pa.Table]  # OBJECTS of the public images at least: shard, row, labels
    vocabulary: Iterable[pa.Table]  # VOCABULARY of both


def most_memorized(
    recalls: Mapping[str, pa.Table],
    records: pa.Table,
    holdout: pa.Table,
    material: ExampleInputs,
    *,
    shards: Mapping[str, int],
    k: int,
    examples: int,
) -> Examples:
    """Return up to `examples` of the `records`, the most memorized first, from k neighbours each.

    `recalls` are the RECALLS of the MODELS, perhaps with further records and other k. A record is
    an example only if the target model finds more of its labels than the reference model. The
    larger difference comes first, then the larger difference of recalls, then uid, then source and
    (shard, row). Records are numbered across the sources, whose numbers of shards `shards` gives.
    `holdout` is the records, perhaps none, that neither model was trained on, for comparison.

    Raises InputError as `pair_up`, for a label with two names, for recalls without this k, and for
    a candidate that the samples lack; StoreError for an image whose labels were not read.
    """
    of_k = {model: _of_k(recalls[model], model, k) for model in MODELS}
    members, unseen = (_gaps(of_k, each) for each in (records, holdout))
    chosen = _chosen(_candidates(members, examples), material.samples, examples)
    for name, gaps in zip(SHARES, (members, unseen), strict=True):
        chosen = chosen.append_column(name, _share_as_large(gaps, chosen))
    places = sample_addresses(chosen)
    truths = _rows_at(material.truths, places)
    by_rank = [(name, "ascending") for name in ("shard", "row", "rank")]
    near = {
        model: _rows_at(material.retrieved[model], places)
        .filter(pc.field("rank") < k)
        .sort_by(by_rank)
        for model in MODELS
    }
    shown = [sample_addresses(table, "public_shard", "public_row") for table in near.values()]
    public = _rows_at(material.public, np.unique(np.concatenate(shown)))
    labels = {model: sample_labels(near[model], truths, public, chosen, k=k) for model in MODELS}
    # most parts repeat the labels of others
    every = pa.concat_tables(material.vocabulary).group_by(["label", "name"], use_threads=False)
    names = merged_vocabulary([every.aggregate([])])
    return Examples(
        _labels_table(chosen, labels, names, shards, k),
        _neighbors_table(places, near, truths, public),
        _boxes_table(places, truths),
    )


# --- which records -------------------------------------------------------------------------------


def _gaps(recalls: Mapping[str, pa.Table], records: pa.Table) -> pa.Table:
    """Return shard, row, gap (labels that the target finds more), truths of the records."""
    left, right = matched_recalls(*(select_rows(recalls[model], records) for model in MODELS))
    gap = left["correct"].to_numpy().astype(np.int64) - right["correct"].to_numpy()
    return left.select(["shard", "row", "truths"]).append_column("gap", pa.array(gap))


def _candidates(members: pa.Table, examples: int) -> pa.Table:
    """Return the best of the `_gaps`, and all ties with the last of them.

    Uids break ties, so only these need them.
    """
    gap, truths = members["gap"].to_numpy(), members["truths"].to_numpy()
    rows = np.flatnonzero(gap > 0)
    # With equal differences, fewer labels mean a larger difference of recalls.
    order = rows[np.lexsort((truths[rows], -gap[rows]))]
    if len(order) > examples:
        last = order[examples - 1]
        rows = rows[
            (gap[rows] > gap[last]) | (gap[rows] == gap[last]) & (truths[rows] <= truths[last])
        ]
    return members.take(pa.array(rows))


def _share_as_large(gaps: pa.Table, chosen: pa.Table) -> pa.Array:
    """Return the share of records with a label whose recall gap is at least each example's."""
    known = np.sort(_recall_gap(gaps.filter(pc.field("truths") > 0)))
    if not len(known):
        return pa.nulls(len(chosen), pa.float64())
    as_large = len(known) - np.searchsorted(known, _recall_gap(chosen))
    return pa.array(as_large / len(known))


def _recall_gap(gaps: pa.Table) -> Float64[np.ndarray, " n"]:
    """Return differences of recalls; equal fractions give equal numbers."""
    shares: np.ndarray = gaps["gap"].to_numpy() / gaps["truths"].to_numpy()
    return shares


def _of_k(recalls: pa.Table, model: str, k: int) -> pa.Table:
    found = recalls.filter(pc.equal(recalls["k"], k))
    if len(recalls) and not len(found):
        given = sorted(pc.unique(recalls["k"]).to_pylist())
        raise InputError(
            f"recalls of the {model} model: none from {k} neighbours, but from {given}; take one "
            "of those"
        )
    return found


def _chosen(candidates: pa.Table, samples: Iterable[pa.Table], examples: int) -> pa.Table:
    """Return the examples, in their order: shard, row, uid, caption, gap, truths."""
    wanted = sample_addresses(candidates)
    known = _rows_at(samples, wanted, ["shard", "row", "uid", "caption"])
    places = pc.index_in(pa.array(wanted), pa.array(sample_addresses(known)))
    if places.null_count:
        pair = shard_row(int(wanted[places.is_null().to_numpy(zero_copy_only=False).argmax()]))
        raise InputError(
            f"samples: no sample (shard, row) {pair} among those given, but the recall test holds "
            "a record with it; give the samples that were tested"
        )
    both = known.take(places).append_column("gap", candidates["gap"])
    both = both.append_column("truths", candidates["truths"])
    keys = [("gap", "descending")]
    keys += [(name, "ascending") for name in ("truths", "uid", "shard", "row")]
    return both.sort_by(keys).slice(0, examples)


def _rows_at(
    tables: Iterable[pa.Table],
    addresses: Int64[np.ndarray, " n"],
    columns: list[str] | None = None,
) -> pa.Table:
    """Return the rows of tables at some addresses, by (shard, row)."""
    found = [
        (table.select(columns) if columns else table).filter(
            pa.array(np.isin(sample_addresses(table), addresses))
        )
        for table in tables
    ]
    joined = pa.concat_tables(found)
    return joined.take(pa.array(np.argsort(sample_addresses(joined), kind="stable")))


# --- the tables ----------------------------------------------------------------------------------


def _labels_table(
    chosen: pa.Table,
    labels: Mapping[str, pa.Table],
    names: pa.Table,
    shards: Mapping[str, int],
    k: int,
) -> pa.Table:
    """Return EXAMPLES from the SAMPLE_LABELS of both models, and the VOCABULARY."""
    chosen = _by_source(chosen, shards)
    places = sample_addresses(chosen, "joined_shard", "row")
    found = []
    for position, model in enumerate(MODELS):
        rank = _ranks(places, sample_addresses(labels[model]))
        columns = {
            **{name: chosen[name].take(rank) for name in ("source", "shard", "row", "uid")},
            "caption": chosen["caption"].take(rank),
            "model": pa.repeat(model, len(rank)),
            "k": pa.repeat(pa.scalar(k, pa.int32()), len(rank)),
            **{name: chosen[name].take(rank) for name in SHARES},
            **{name: labels[model][name] for name in ("label", "neighbors", "is_true")},
            "name": names["name"].take(pc.index_in(labels[model]["label"], names["label"])),
        }
        table = pa.table({"rank": rank, **columns}).select(EXAMPLES.names).cast(EXAMPLES)
        found.append(table.append_column("position", pa.repeat(position, len(table))))
    keys = [("rank", "ascending"), ("position", "ascending")]
    keys += [("neighbors", "descending"), ("label", "ascending")]
    return pa.concat_tables(found).sort_by(keys).drop_columns("position")


def _by_source(chosen: pa.Table, shards: Mapping[str, int]) -> pa.Table:
    """Return the examples with `source`, their `shard` in it, and `joined_shard` across sources."""
    joined = chosen["shard"].to_numpy()
    ends = np.cumsum(list(shards.values()))
    source = np.searchsorted(ends, joined, side="right")
    starts = ends - list(shards.values())
    columns = {
        "source": pa.array(list(shards), pa.string()).take(pa.array(source)),
        "shard": joined - starts[source],
        "joined_shard": joined,
        **{name: chosen[name] for name in ("row", "uid", "caption", *SHARES)},
    }
    return pa.table(columns)


def _neighbors_table(
    places: Int64[np.ndarray, " n"],
    near: Mapping[str, pa.Table],
    truths: pa.Table,
    public: pa.Table,
) -> pa.Table:
    """Return EXAMPLE_NEIGHBORS: a few examples, so row by row."""
    own, shown = _label_sets(truths), _label_sets(public)
    rows = []
    for position, model in enumerate(MODELS):
        record = sample_addresses(near[model])
        image = sample_addresses(near[model], "public_shard", "public_row").tolist()
        ranks = _ranks(places, record).to_pylist()
        for number, row in enumerate(near[model].to_pylist()):
            true, held = own[int(record[number])], shown[image[number]]
            rows.append(
                {
                    "rank": ranks[number],
                    "position": position,
                    "model": model,
                    "place": row["rank"],
                    **{name: row[name] for name in ("similarity", "public_shard", "public_row")},
                    "true_labels": sorted(held & true),
                    "false_labels": sorted(held - true),
                }
            )
    rows.sort(key=lambda row: (row["rank"], row["position"], row["place"]))
    return pa.Table.from_pylist(rows, EXAMPLE_NEIGHBORS)


def _label_sets(objects: pa.Table) -> dict[int, set[int]]:
    """Return the labels of each image by address."""
    labels = objects["labels"].to_pylist()
    return {
        address: set(held or ())
        for address, held in zip(sample_addresses(objects).tolist(), labels, strict=True)
    }


def _boxes_table(places: Int64[np.ndarray, " n"], truths: pa.Table) -> pa.Table:
    """Return EXAMPLE_BOXES of the OBJECTS of the examples."""
    rank = _ranks(places, sample_addresses(truths)).to_pylist()
    rows = [
        dict(zip(EXAMPLE_BOXES.names, (number, label, score, *box), strict=True))
        for number, picture in sorted(zip(rank, truths.to_pylist(), strict=True), key=itemgetter(0))
        for label, score, box in zip(
            *(picture[name] for name in ("labels", "scores", "boxes")), strict=True
        )
        if box is not None
    ]
    return pa.Table.from_pylist(rows, EXAMPLE_BOXES)


def _ranks(places: Int64[np.ndarray, " n"], addresses: Int64[np.ndarray, " m"]) -> pa.Array:
    """Return the rank of each address's example: its place in the list."""
    return pc.index_in(pa.array(addresses), pa.array(places))
