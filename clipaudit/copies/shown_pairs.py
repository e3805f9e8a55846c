"""Picks the pairs that a gallery of copies shows."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clipaudit.copies.kinds import COPIES, LOOKALIKE
from clipaudit.copies.pair_options import PairOptions
from clipaudit.copies.verified import PAIRS
from clipaudit.corpora.addresses import sample_addresses

SHOWN_PAIRS = pa.schema(
    [
        pa.field("place", pa.int32(), nullable=False),
        # of the image that is searched for, and of the training image
        pa.field("other", pa.string(), nullable=False),
        pa.field("corpus", pa.string(), nullable=False),
        *PAIRS,
    ]
)


def pick_pairs(pairs: pa.Table, options: PairOptions) -> pa.Table:
    """Return SHOWN_PAIRS: the nearest pair of each searched image, the nearest kind first.

    Kinds share the places evenly; places that one leaves empty go to the others. Within a kind,
    pairs that agree most come first, also among lookalikes. Ties: the lowest addresses.
    """
    is_lookalike = pc.equal(pairs["kind"], LOOKALIKE)
    kinds = [LOOKALIKE] if options.which == "lookalikes" else list(COPIES)
    wanted = pairs.filter(
        is_lookalike if options.which == "lookalikes" else pc.invert(is_lookalike)
    )
    ranked = wanted.append_column("rank", pc.index_in(wanted["kind"], value_set=pa.array(kinds)))
    ranked = ranked.append_column("doubt", pc.subtract(1.0, pc.fill_null(ranked["agreement"], 1.0)))
    order = ("rank", "doubt", "other_shard", "other_row", "shard", "row")
    ranked = ranked.sort_by([(name, "ascending") for name in order])
    _, first = np.unique(sample_addresses(ranked, "other_shard", "other_row"), return_index=True)
    nearest = ranked.take(np.sort(first))
    chosen = nearest.take(_shared_out(nearest["rank"].to_numpy(), options.count))
    columns = {
        "place": np.arange(len(chosen), dtype=np.int32),
        "other": [options.other] * len(chosen),
        "corpus": [options.corpus] * len(chosen),
        **{name: chosen[name] for name in PAIRS.names},
    }
    return pa.table(columns, schema=SHOWN_PAIRS)


def _shared_out(ranks: np.ndarray, count: int) -> np.ndarray:
    """Return the positions of up to `count` elements of sorted ranks, taking turns among ranks."""
    starts = np.searchsorted(ranks, ranks)
    turn = np.arange(len(ranks)) - starts  # the n-th of its rank
    return np.sort(np.lexsort((ranks, turn))[:count])
