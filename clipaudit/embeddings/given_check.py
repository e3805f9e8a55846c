"""Checks whether given embeddings are those of the encoder in the settings.

A random sample of images is embedded here and compared with the rows given for them. Differences
are counted in units of 1 - s, where s is the median similarity of two different images: some
encoders give any two images a similarity of 0.9. CLOSE and SAME are shares of that unit; they were
chosen, not measured on published models. Rows of an unrelated encoder are about 1 away.
"""

import hashlib
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float64, Int64

from clipaudit.corpora.addresses import sample_addresses, shard_row, shards_and_rows
from clipaudit.corpora.drops import Drops
from clipaudit.corpora.places import places
from clipaudit.corpora.vectors import embedding_array
from clipaudit.embeddings.embedding import embed_images, embeddings_schema
from clipaudit.embeddings.fixed import FEWEST
from clipaudit.errors import ClipauditError, InputError
from clipaudit.models.device import use_device
from clipaudit.models.encoders import ModelSettings
from clipaudit.models.pictures import Running

logger = logging.getLogger(__name__)

IMAGES = 64
BATCH = 8  # batches are filled with black, which costs as much as images
SAME = 0.01
CLOSE = 0.25
STRAYS = 0.1  # share of images whose rows may be farther: their files changed since
ALIKE = 1e-5  # 1 - s below it is near the rounding of float16: no judgement is possible


@dataclass(frozen=True)
class GivenPair:
    """The corpus and the encoder of given embeddings, as in the settings."""

    corpus: str
    encoder: str

    def __str__(self) -> str:
        """Return how messages begin."""
        return f"embeddings of {self.corpus} by {self.encoder}"


def check_given(
    given: Iterable[pa.Table],
    shards: Sequence[tuple[int, Path]],
    samples: pa.Table,
    model: ModelSettings,
    weights: Sequence[Path],
    pair: GivenPair,
    *,
    threads: int,
) -> Iterator[pa.Table]:
    """Return the tables of EMBEDDINGS `given` of a part, compared with the output of `model`.

    `shards` and `samples` are those of the part, as for `embed_images`. See `checked` for what is
    compared, refused and logged. If `model` cannot be loaded, for example if its weights are not on
    this machine, a warning says so, and the tables are not checked.
    """
    device = use_device("cpu", threads=threads)
    try:
        loaded = model.embedder(weights, device=device)
    except ClipauditError as error:
        logger.warning(
            "%s: not checked, since %s cannot be loaded here: %s", pair, pair.encoder, error
        )
        return iter(given)
    drawn = drawn_samples(samples)
    lost, running = Drops("embed"), Running(BATCH, 0, device)
    rows = embed_images(shards, drawn, loaded, running, encoder=pair.encoder, drops=lost)
    own = pa.Table.from_batches(rows, embeddings_schema(pair.encoder, loaded.dimension))
    return checked(given, own, pair, loaded.dimension)


def drawn_samples(samples: pa.Table, count: int = IMAGES) -> pa.Table:
    """Return `count` random rows of SAMPLES, or all if there are fewer, in their order.

    The seed is a digest of the uids, so equal samples give equal draws. Shards come in a random
    order and each is exhausted before the next, so that few shards are read.
    """
    digest = hashlib.sha256("".join(map(str, samples["uid"].to_pylist())).encode()).digest()
    seed = int.from_bytes(digest[:4])
    shard, row = shards_and_rows(sample_addresses(samples))
    order = np.lexsort((places(shard, row, seed=seed), places(shard, 0 * row, seed=seed)))
    drawn = np.zeros(len(samples), bool)
    drawn[order[:count]] = True
    return samples.filter(pa.array(drawn))  # not `take`, which joins at most 2 GiB of text


def checked(
    given: Iterable[pa.Table], own: pa.Table, pair: GivenPair, dimension: int
) -> Iterator[pa.Table]:
    """Yield the tables of EMBEDDINGS `given`, and compare them with those computed here, `own`.

    `own` are EMBEDDINGS of `dimension` numbers. Each of their images is compared with its own given
    row and with all others. After the last table: raise InputError if more than STRAYS of the
    images are not CLOSE to their rows; else log the agreement, as a warning if it is not the SAME.
    Fewer than FEWEST images with rows, or images that the encoder hardly distinguishes, are not
    judged: a warning says so.
    """
    seen: _Comparison | None = None
    for table in given:
        rows = embedding_array(table, str(pair))
        if rows.shape[1] != dimension:
            raise InputError(
                f"{pair}: given rows have {rows.shape[1]} numbers, but {pair.encoder} computes "
                f"{dimension} here. {_next_step(pair)}"
            )
        seen = seen or _Comparison(own)
        seen.add(sample_addresses(table), rows.astype(np.float64))
        yield table
    if seen is not None:
        seen.judge(pair)


class _Comparison:
    """The given row of each image, and the given row that is most similar to the image."""

    def __init__(self, own: pa.Table) -> None:
        self.addresses = sample_addresses(own)
        self.vectors = _unit(embedding_array(own, "embeddings computed here").astype(np.float64))
        self.similarity = np.full(len(own), np.nan)  # to its own given row
        self.best = np.full(len(own), -np.inf)  # to the most similar row of another image
        self.best_address = np.full(len(own), -1)

    def add(self, addresses: Int64[np.ndarray, " n"], rows: Float64[np.ndarray, "n d"]) -> None:
        """Add some given rows."""
        if not len(rows) or not len(self.vectors):
            return
        similar = self.vectors @ _unit(rows).T  # (images, rows)
        image, row = np.nonzero(self.addresses[:, None] == addresses)
        self.similarity[image] = similar[image, row]
        similar[image, row] = -np.inf
        at = similar.argmax(axis=1)
        top = similar.max(axis=1)
        better = top > self.best
        self.best[better], self.best_address[better] = top[better], addresses[at[better]]

    def judge(self, pair: GivenPair) -> None:
        """Log how well rows agree, or raise InputError; see `checked`."""
        has = np.isfinite(self.similarity)
        if has.sum() < FEWEST:
            logger.warning(
                "%s: not checked, since only %d images could be compared, and %d are needed.",
                pair,
                has.sum(),
                FEWEST,
            )
            return
        pairs = (self.vectors @ self.vectors.T)[np.triu_indices(len(self.vectors), 1)]
        unrelated = float(np.median(pairs))
        if 1 - unrelated < ALIKE:
            logger.warning(
                "%s: not checked, since %s gives any two images a similarity of %.6f.",
                pair,
                pair.encoder,
                unrelated,
            )
            return
        off = (1 - self.similarity[has]) / (1 - unrelated)
        found = (
            f"{pair}: {has.sum()} images embedded here have a median cosine of "
            f"{np.median(self.similarity[has]):.4f} with their given rows; expected 1.0000 "
            f"(two different images: {unrelated:.4f})"
        )
        far = off > CLOSE
        if far.mean() > STRAYS:
            raise InputError(f"{found}. {self._reason(has, far, unrelated, pair)}")
        if far.any():
            found += f"; {far.sum()} have rows of other images, or changed since"
        if far.any() or np.median(off) > SAME:
            logger.warning(
                "%s. Small differences may come from another precision or preparation of images: "
                "test sets embedded here differ slightly. To avoid this, give embeddings of both.",
                found,
            )
        else:
            logger.info("%s.", found)

    def _reason(
        self,
        has: Bool[np.ndarray, " n"],
        far: Bool[np.ndarray, " compared"],
        unrelated: float,
        pair: GivenPair,
    ) -> str:
        """Return why images are far from their rows, and the next step."""
        own, best = self.similarity[has][far], self.best[has][far]
        elsewhere = (best > own) & ((1 - best) / (1 - unrelated) <= CLOSE)
        if elsewhere.mean() > 0.5:
            first = int(np.flatnonzero(elsewhere)[0])
            asked = shard_row(int(self.addresses[has][far][first]))
            found = shard_row(int(self.best_address[has][far][first]))
            return (
                f"Rows are shifted or in another order: {elsewhere.sum()} images match the row of "
                f"another sample, as shard {asked[0]} row {asked[1]} that of shard {found[0]} row "
                f"{found[1]}. Give arrays and metadata in the same order, and compare `column`."
            )
        if (own >= best).mean() > 0.5:
            return (
                f"{(own >= best).sum()} of the {far.sum()} that differ are still most similar to "
                "their own rows: the same encoder with images prepared in another way, or another "
                f"version of its weights. {_next_step(pair)}"
            )
        return f"Their rows are no more similar than others: another encoder. {_next_step(pair)}"


def _next_step(pair: GivenPair) -> str:
    return (
        f"Name the model that made the rows under encoders.{pair.encoder}, or remove the block of "
        f"`embeddings` for {pair.corpus}: it is then embedded here."
    )


def _unit(rows: Float64[np.ndarray, "n d"]) -> Float64[np.ndarray, "n d"]:
    unit: Float64[np.ndarray, "n d"] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit
