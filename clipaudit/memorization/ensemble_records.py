"""Find single records that models memorize, from several pairs of models with redrawn sets.

Each seed draws by lot whether a record is in A, B or the hold-out. If membership changes nothing,
any other draw of its sets was as likely. So the p value of a record compares the additional recall
of the models trained on it with that of all draws of its sets, exactly; it is valid for any models.
Memorization is counterfactual, as in Feldman and Zhang (2020)
(https://arxiv.org/abs/2008.03703): the mean recall of the models trained on the record, minus that
of the others. q is the false-discovery rate of Benjamini and Hochberg (1995): of the records with a
q of at most 5 %, one in twenty is expected not to be memorized.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float64, Int64
from scipy.stats import false_discovery_control

from clipaudit.corpora.addresses import shards_and_rows
from clipaudit.evaluation.student import DECIMALS
from clipaudit.memorization.ensembles import Block, EnsemblePart, blocks
from clipaudit.memorization.fixed import RECORD_SETS

_BLOCK = 1 << 10  # records held at once with all sums: affects only memory

# One row per (k, source, record), in this order, of the records whose image has a label and which
# the lot could have put into several sets.
ENSEMBLE_RECORDS = pa.schema(
    [
        pa.field("k", pa.int32(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("models", pa.int32(), nullable=False),
        pa.field("trained_on_it", pa.int32(), nullable=False),  # of the models
        # mean recall of these minus that of the others; null if there are none of these
        pa.field("memorization", pa.float64()),
        pa.field("p_value", pa.float64(), nullable=False),  # one-sided: of recalling more
        pa.field("q_value", pa.float64(), nullable=False),  # among all rows of this k
    ]
)


def ensemble_records(
    parts: Callable[[], Iterable[EnsemblePart]],
    sources: Sequence[str],
    *,
    neighbors: Sequence[int],
) -> pa.Table:
    """Return the ENSEMBLE_RECORDS of models under several seeds.

    `parts` gives the parts, and is called twice. `sources` are theirs, in the order of the rows; a
    source with one set alone has none. Memory grows only with the rows. Raises InputError as
    `blocks`.
    """
    sizes = {source: np.zeros(len(RECORD_SETS)) for source in sources}
    for part in parts():
        for place, name in enumerate(RECORD_SETS):
            kept = part.seeds[0].kept.get(name)
            sizes[part.source][place] += 0 if kept is None else np.count_nonzero(kept["kept"])
    tables = []
    for part in parts():
        size = sizes[part.source]
        if np.count_nonzero(size) > 1:
            share = size / size.sum()
            tables += [_rows(k, part.source, block, share) for k, block in blocks(part, neighbors)]
    joined = pa.concat_tables([_WITHOUT_Q.empty_table(), *tables])
    order = np.lexsort(
        (
            joined["row"].to_numpy(),
            joined["shard"].to_numpy(),
            _places(joined["source"], sources),
            _places(joined["k"], neighbors),
        )
    )
    return _with_q(joined.take(pa.array(order)))


_WITHOUT_Q = pa.schema([field for field in ENSEMBLE_RECORDS if field.name != "q_value"])


def _places(column: pa.ChunkedArray, values: Sequence[object]) -> Int64[np.ndarray, " n"]:
    """Return the place of each value of a column in a list of them."""
    known = pa.array(values, column.type)
    places: np.ndarray = pc.index_in(column, known).to_numpy().astype(np.int64)
    return places


def _rows(k: int, source: str, block: Block, share: Float64[np.ndarray, " sets"]) -> pa.Table:
    n, seeds = block.sets.shape
    in_a, in_b = block.sets == 0, block.sets == 1
    trained = (in_a | in_b).sum(axis=1)
    recalls = [correct / block.truths[:, None] for correct in block.correct]
    seen = (recalls[0] * in_a + recalls[1] * in_b).sum(axis=1)
    whole = recalls[0].sum(axis=1) + recalls[1].sum(axis=1)
    memorized = seen / np.maximum(trained, 1) - (whole - seen) / (2 * seeds - trained)
    shard, row = shards_and_rows(block.addresses)
    columns = {
        "k": np.full(n, k),
        "source": pa.repeat(source, n),
        "shard": shard,
        "row": row,
        "models": np.full(n, 2 * seeds),
        "trained_on_it": trained,
        "memorization": pa.array(memorized.round(DECIMALS) + 0.0, mask=trained == 0),
        "p_value": _p_values(block, share),
    }
    return pa.table(columns).cast(_WITHOUT_Q)


def _p_values(block: Block, share: Float64[np.ndarray, " sets"]) -> Float64[np.ndarray, " n"]:
    """Return the chance of a sum at least as large, over all draws of a record's sets."""
    gains = block.correct[0] - block.correct[1]  # of one record, with the same number of labels
    actual = (gains * ((block.sets == 0).astype(np.int64) - (block.sets == 1))).sum(axis=1)
    found = np.empty(len(gains))
    for first in range(0, len(gains), _BLOCK):
        rows = slice(first, first + _BLOCK)
        found[rows] = _tails(gains[rows], actual[rows], share)
    return np.minimum(found, 1.0).round(DECIMALS)


def _tails(
    gains: Int64[np.ndarray, "n seeds"],
    actual: Int64[np.ndarray, " n"],
    share: Float64[np.ndarray, " sets"],
) -> Float64[np.ndarray, " n"]:
    """Return the chance that a record's gains sum to `actual` or more.

    Under each seed, a gain counts as it is if the record is drawn into A, negated if into B, and
    not at all if into the hold-out. The chance of each sum is known after each seed.
    """
    reach = int(np.abs(gains).sum(axis=1).max(initial=0))
    sums = np.arange(-reach, reach + 1)
    chance = np.tile((sums == 0).astype(np.float64), (len(gains), 1))
    for gain in gains.T[:, :, None]:
        # beyond the reach of the gains so far a chance is 0, so indices may wrap
        gained, lost = ((sums + reach - by) % len(sums) for by in (gain, -gain))
        chance = (
            share[0] * np.take_along_axis(chance, gained, axis=1)
            + share[1] * np.take_along_axis(chance, lost, axis=1)
            + share[2] * chance
        )
    tails: np.ndarray = (chance * (sums >= actual[:, None])).sum(axis=1)
    return tails


def _with_q(table: pa.Table) -> pa.Table:
    """Return the rows with their false-discovery rates, among those of one k."""
    k, p = table["k"].to_numpy(), table["p_value"].to_numpy()
    q = np.empty(len(p))
    for each in np.unique(k):
        q[k == each] = false_discovery_control(p[k == each]).round(DECIMALS)
    return table.append_column(ENSEMBLE_RECORDS.field("q_value"), pa.array(q))
