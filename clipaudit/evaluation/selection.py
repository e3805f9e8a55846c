"""Measures caption selection: which of an image's candidate captions a model finds nearest.

It has the form of the ARO benchmark (Yuksekgonul et al., ICLR 2023,
https://arxiv.org/abs/2210.01936): relation, attribution and order. Every sample has its candidates,
one of them right. SQL computes the accuracies, for relation and attribution the mean over the
kinds. Difference: a right caption that ties with another counts as not chosen; ARO's code takes the
first in the list. Of its order cases, `import aro` leaves out shuffles that equal the caption.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Float32, Float64, Int64

from clipaudit.corpora.statements import is_text
from clipaudit.embeddings.caption_embedding import caption_features
from clipaudit.errors import InputError
from clipaudit.evaluation.evaluation import all_usable, unit_rows
from clipaudit.models.clip import Clip
from clipaudit.models.clip_features import image_features
from clipaudit.models.pictures import PictureBatch, Running, decoded
from clipaudit.models.transforms import evaluation_preparation

SELECTIONS = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("kind", pa.string()),  # the relation or pair of attributes; null: the set has none
        pa.field("candidates", pa.int32(), nullable=False),  # how many captions there are
        pa.field("right", pa.int32(), nullable=False),  # the place of the true one among them
        # the place of the most similar one; ties go to the first wrong one
        pa.field("chosen", pa.int32(), nullable=False),
        # the cosine of the right one minus the highest of the others; above 0: the right one is
        # chosen
        pa.field("margin", pa.float32(), nullable=False),
    ]
)


class Candidates(NamedTuple):
    """The candidate captions of an image, and which of them is true."""

    captions: list[str]
    right: int
    kind: str | None


def select_captions(
    clip: Clip,
    name: str,
    shards: Sequence[tuple[int, Path]],
    samples: pa.Table,
    running: Running,
) -> pa.Table:
    """Return the SELECTIONS of a test set, one row per sample, ordered as `samples` (SAMPLES) is.

    A sample's JSON has `captions`, at least two, and may have `right`, the place of the true one
    from 0 on (else 0), and `kind`. The rows of a shard depend only on the model, this shard,
    `batch_size` and the device: the captions of a batch of images are embedded together, each
    distinct one once, in full batches of the same size. Raises InputError for a sample without
    candidates and for an image that cannot be decoded, StepError for a model that has diverged.
    """
    clip.model.to(running.device).eval()
    candidates = _read_candidates(name, samples)
    preparation = evaluation_preparation(clip.preprocessing)
    tables = [SELECTIONS.empty_table()]
    what = f"selecting captions of {name}"
    batches = decoded(shards, samples, preparation, running, task=what)
    for places, batch in all_usable(batches, name):
        own = candidates[places]
        images = unit_rows(image_features(batch, clip, preparation, running.device), name)
        captions = [caption for sample in own for caption in sample.captions]
        texts = _text_embeddings(clip, captions, running, name)
        tables.append(_selection_rows(batch, own, images, texts))
    return pa.concat_tables(tables)


def choose(
    similarities: Float64[np.ndarray, " m"], counts: Int64[np.ndarray, " n"], right: Sequence[int]
) -> tuple[Int64[np.ndarray, " n"], Float32[np.ndarray, " n"]]:
    """Return the chosen place and the margin of each of `n` samples.

    `similarities` are those of the first sample's `counts[0]` candidates, then of the second's; all
    counts are 2 or more. The right one is chosen only if it is above all others, that is, if its
    margin is above 0; else the first of equal others is chosen.

    >>> chosen, margins = choose(np.array([0.5, 0.25, 0.5, 0.5]), np.array([2, 2]), [0, 0])
    >>> chosen.tolist(), margins.tolist()
    ([0, 1], [0.25, 0.0])
    """
    starts = np.cumsum(counts) - counts
    true = starts + np.asarray(right, np.int64)
    others = similarities.copy()
    others[true] = -np.inf
    best = np.maximum.reduceat(others, starts) if len(starts) else others
    owner = np.repeat(np.arange(len(counts)), counts)  # (m,)
    hits = np.flatnonzero(others == best[owner])
    _, first = np.unique(owner[hits], return_index=True)  # unique gives the first of equals
    margins = similarities[true] - best
    chosen = np.where(margins > 0, true, hits[first]) - starts
    return chosen, margins.astype(np.float32)


def _read_candidates(name: str, samples: pa.Table) -> list[Candidates]:
    """Return each sample's candidates from its JSON; raise InputError for the first invalid one."""
    read = []
    for shard, row, text in zip(
        *(samples[column].to_pylist() for column in ("shard", "row", "metadata")), strict=True
    ):
        candidates, fault = _parsed(text)
        if candidates is None:
            raise InputError(
                f"{name}: shard {shard}, row {row}: {fault}. Caption selection reads the sample's "
                "JSON: `captions`, two texts or more, `right`, the place of the true "
                "one from 0 on (0 if missing), and `kind`, a text or null. Write them into the "
                "shard, or leave this set out of the caption selection."
            )
        read.append(candidates)
    return read


def _parsed(text: str | None) -> tuple[Candidates | None, str]:
    """Return the candidates in a sample's JSON text, or None and what is wrong with it."""
    try:
        fields = json.loads(text or "null")
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        return None, "its JSON is not an object"
    captions = fields.get("captions")
    if not isinstance(captions, list) or not all(map(is_text, captions)):
        return None, f"`captions` is {_short(captions)}, not a list of texts"
    if len(captions) < 2:
        return None, f"{len(captions)} candidate captions"
    right, kind = fields.get("right", 0), fields.get("kind")
    if type(right) is not int or not 0 <= right < len(captions):  # True is an int, but no place
        return None, f"`right` is {_short(right)}, not a place among {len(captions)} captions"
    if kind is not None and not is_text(kind):
        return None, f"`kind` is {_short(kind)}, not text"
    return Candidates(captions, right, kind), ""


def _short(value: object) -> str:
    return json.dumps(value)[:50]


def _text_embeddings(
    clip: Clip, captions: Sequence[str], running: Running, place: str
) -> Float32[np.ndarray, "m d"]:
    """Return the unit embedding of each caption, exactly equal for equal captions."""
    distinct, size = list(dict.fromkeys(captions)), running.batch_size
    batches = [
        caption_features(distinct[at : at + size], clip, batch_size=size, device=running.device)
        for at in range(0, len(distinct), size)
    ]
    places = {caption: at for at, caption in enumerate(distinct)}
    embeddings = unit_rows(np.concatenate(batches), place)
    return embeddings[[places[caption] for caption in captions]]


def _selection_rows(
    batch: PictureBatch,
    candidates: Sequence[Candidates],
    images: Float32[np.ndarray, "n d"],
    texts: Float32[np.ndarray, "m d"],
) -> pa.Table:
    counts = np.array([len(sample.captions) for sample in candidates], np.int64)
    right = [sample.right for sample in candidates]
    # row by row and in float64, in which a row's sum is the same for equal captions
    products = np.repeat(images, counts, axis=0).astype(np.float64) * texts
    chosen, margins = choose(products.sum(axis=1), counts, right)
    columns = {
        "shard": np.full(len(counts), batch.shard, np.int32),
        "row": np.array(batch.rows, np.int32),
        "kind": [sample.kind for sample in candidates],
        "candidates": counts.astype(np.int32),
        "right": np.array(right, np.int32),
        "chosen": chosen.astype(np.int32),
        "margin": margins,
    }
    return pa.table(columns, schema=SELECTIONS)
