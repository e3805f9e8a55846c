"""Checks whether an encoder distinguishes images: random and nearest similarities, and its rank.

An audit's claims rest on one number, the similarity of two images. An encoder has *collapsed* on
a corpus if that number hardly depends on the images:

* Half of the pairs of different images are less than COLLAPSED_DISTANCE apart (1 - similarity):
  embeddings share 99 % of their squared length, for any images. The distance is a fifth of
  the 0.05 below which Mayilvahanan et al. (https://arxiv.org/abs/2310.09562) call images near
  duplicates, so half of all pairs would be near duplicates five times over. On 240 drawings a
  ResNet-50 CLIP of random weights gave 0.0005, one of 8 channels 0.00005; the demo's trained
  encoders give 0.16 to 1.0 on every corpus.
* Or the effective rank (Roy and Vetterli, 2007) is below COLLAPSED_RANK: images differ along fewer
  than two directions, so that most have a near neighbour that shows something else. Random pairs
  may then be far apart. The demo's encoders have 19 to 27 of 64.

Nearest pairs alone say nothing: among many images some are similar, and in many dimensions random
pairs of a good encoder are about as far apart as nearest ones.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float16, Float64, Int64

from clipaudit.corpora.addresses import sample_addresses
from clipaudit.embeddings.fixed import FEWEST
from clipaudit.embeddings.sampling import drawn_embeddings

SAMPLES = 2000  # their pairs are 2 million numbers, 16 MB
SEED = 0
COLLAPSED_DISTANCE = 0.01
COLLAPSED_RANK = 2.0

# One row; null: there are too few samples, or labels, for the number to exist.
ENCODER_CHECK = pa.schema(
    [
        pa.field("samples", pa.int64(), nullable=False),  # different images that were compared
        pa.field("repeated", pa.int64(), nullable=False),  # left out: image bytes of another one
        pa.field("identical", pa.int64(), nullable=False),  # have the embedding of an earlier one
        pa.field("dimension", pa.int32()),
        pa.field("random_mean", pa.float64()),  # similarity of two different samples
        pa.field("random_q50", pa.float64()),
        pa.field("random_q99", pa.float64()),
        pa.field("nearest_mean", pa.float64()),  # of a sample and the most similar other embedding
        pa.field("nearest_q01", pa.float64()),
        pa.field("same_class_mean", pa.float64()),  # of two samples with the same label
        pa.field("effective_rank", pa.float64()),
        pa.field("collapsed", pa.bool_(), nullable=False),
    ]
)


def check_encoder(
    embeddings: Iterable[pa.RecordBatch],
    samples: Iterable[pa.Table],
    *,
    count: int = SAMPLES,
    seed: int = SEED,
) -> pa.Table:
    """Return ENCODER_CHECK of one encoder on one corpus, from at most `count` random samples.

    `embeddings` are all EMBEDDINGS of the corpus, read once, with `count` rows and a batch held.
    Only shard, row, label and image_sha256 of its SAMPLES, `samples`, are read. The samples are
    those with the lowest `places`, the first of those with equal image bytes. The numbers do not
    depend on how rows are split into batches. Without samples, counts are 0 and the rest is null.
    """
    place = "embeddings to be checked"
    addresses, vectors = drawn_embeddings(embeddings, count, seed=seed, place=place)
    known = _known(samples, addresses)
    chosen = list(_different([known[address][0] for address in addresses.tolist()]))
    labels = [known[address][1] for address in addresses[chosen].tolist()]
    vectors = vectors[chosen]
    found = {
        "samples": len(chosen),
        "repeated": len(addresses) - len(chosen),
        "dimension": vectors.shape[1] or None,
        **measures(vectors, np.array([-1 if label is None else label for label in labels], int)),
    }
    return pa.Table.from_pylist([found], ENCODER_CHECK)


def measures(
    vectors: Float16[np.ndarray, "n d"], labels: Int64[np.ndarray, " n"]
) -> dict[str, Any]:
    """Return the numbers of ENCODER_CHECK from `identical` on, for rows that are not zero.

    Labels below 0 are missing. Similarities are cosines in float64, over all pairs of rows;
    quantiles are interpolated linearly. Numbers that do not exist are left out.
    """
    groups = _groups(vectors)
    distinct = len(np.unique(groups))
    found: dict[str, Any] = {"identical": len(vectors) - distinct, "collapsed": False}
    if len(vectors) > 1:
        rows = vectors.astype(np.float64)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        similar = rows @ rows.T
        found |= _of_pairs(similar, labels) | {"effective_rank": effective_rank(rows)}
        if distinct > 1:
            found |= _of_nearest(similar, groups)
        few, half, rank = len(rows) < FEWEST, found["random_q50"], found["effective_rank"]
        found["collapsed"] = not few and (1 - half < COLLAPSED_DISTANCE or rank < COLLAPSED_RANK)
    return found


def _of_pairs(
    similar: Float64[np.ndarray, "n n"], labels: Int64[np.ndarray, " n"]
) -> dict[str, float]:
    first, second = np.triu_indices(len(similar), 1)
    pairs = similar[first, second]
    found = {"random_mean": float(pairs.mean())}
    found |= {f"random_q{q}": float(np.quantile(pairs, q / 100)) for q in (50, 99)}
    alike = (labels[first] == labels[second]) & (labels[first] >= 0)
    if alike.any():
        found["same_class_mean"] = float(pairs[alike].mean())
    return found


def _of_nearest(
    similar: Float64[np.ndarray, "n n"], groups: Int64[np.ndarray, " n"]
) -> dict[str, float]:
    nearest = np.where(groups[:, None] == groups, -np.inf, similar).max(axis=1)
    return {
        "nearest_mean": float(nearest.mean()),
        "nearest_q01": float(np.quantile(nearest, 0.01)),
    }


def effective_rank(rows: Float64[np.ndarray, "n d"]) -> float:
    """Return exp of the entropy of the singular values of centred rows, as shares of their sum.

    It is between 1 and min(n - 1, d); 0 if all rows are equal, or there are none.

    >>> round(effective_rank(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])), 6)
    2.0
    """
    if (rows == rows[:1]).all():
        return 0.0
    values = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False)
    shares = values[values > 0] / values.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


def _known(
    tables: Iterable[pa.Table], addresses: Int64[np.ndarray, " n"]
) -> dict[int, tuple[str | None, int | None]]:
    """Return the digest of the image and the label of each address; None if unknown."""
    found: dict[int, tuple[str | None, int | None]] = {}
    for table in tables:
        given = sample_addresses(table)
        (at,) = np.nonzero(np.isin(given, addresses))
        few = table.select(["image_sha256", "label"]).take(pa.array(at))
        columns = (pc.cast(few["image_sha256"], pa.string()), few["label"])
        told = zip(*(column.to_pylist() for column in columns), strict=True)
        found.update(zip(given[at].tolist(), told, strict=True))
    return found


def _different(digests: Sequence[str | None]) -> Iterator[int]:
    """Yield the positions of the first of each digest, and of all without one."""
    seen: set[str] = set()
    for position, digest in enumerate(digests):
        if digest is None or digest not in seen:
            yield position
        if digest is not None:
            seen.add(digest)


def _groups(vectors: Float16[np.ndarray, "n d"]) -> Int64[np.ndarray, " n"]:
    """Return a number for each row, the same for rows of the same bytes."""
    if not vectors.size:
        return np.zeros(len(vectors), np.int64)
    whole = np.ascontiguousarray(vectors).view(f"V{vectors.dtype.itemsize * vectors.shape[1]}")
    return np.unique(whole[:, 0], return_inverse=True)[1].astype(np.int64)
