"""Measures retrieval on a corpus with captions: the rank of an image's caption, and the reverse.

These are the retrieval columns of Lin et al. (https://arxiv.org/abs/2312.14232), Tables 2 to 5: R@1
in both directions. Recall at k is the share of ranks below k, which SQL computes. Embeddings are
rounded to float16, as the audit stores them: their products are then exact in float64, so that
ranks do not depend on how the comparison is split. Difference: ties count against the model, while
clip_benchmark's topk may take either. Equal captions of two images have equal embeddings, so each
is a tie, and a set with many of them has an R@1 from image to caption well below 1.
"""

import logging
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Float16, Float32, Float64, Int32, Int64

from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.reasons import NO_CAPTION, Unusable
from clipaudit.corpora.shards import raw_samples
from clipaudit.embeddings.caption_embedding import caption_features
from clipaudit.errors import InputError
from clipaudit.evaluation.evaluation import all_usable, unit_rows
from clipaudit.models.clip import Clip
from clipaudit.models.clip_features import image_features
from clipaudit.models.pictures import Running, decoded
from clipaudit.models.transforms import evaluation_preparation
from clipaudit.progress import Progress

# One row for each query: first the images, by (shard, row), then the captions, by (shard, row,
# caption).
PAIR_RANKS = pa.schema(
    [
        pa.field("direction", pa.string(), nullable=False),  # IMAGE_TO_TEXT or TEXT_TO_IMAGE
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("caption", pa.int32(), nullable=False),  # its number, 0 for an image
        # how many wrong ones are at least as similar as the right one, or the best of several
        pa.field("rank", pa.int32(), nullable=False),
    ]
)
IMAGE_TO_TEXT = "image to text"
TEXT_TO_IMAGE = "text to image"
BLOCK_ROWS = 4096  # images and captions compared at once: memory, never results

_log = logging.getLogger(__name__)


def retrieve_pairs(
    clip: Clip,
    name: str,
    shards: Sequence[tuple[int, Path]],
    samples: pa.Table,
    running: Running,
    *,
    several: bool,
) -> pa.Table:
    """Return the PAIR_RANKS of a set, whose `samples` (SAMPLES) are sorted by (shard, row).

    A sample has one caption, that of `samples`, or, with `several`, all from its JSON's `captions`
    or the lines of its `.txt`. The ranks depend only on the model, the samples, the batch size and
    the device. No samples give no rows. Raises InputError for a sample without a caption and for an
    image that cannot be decoded, StepError for a model that has diverged.
    """
    clip.model.to(running.device).eval()
    captions = _all_captions(name, shards, samples) if several else _captions(name, samples)
    if not captions:
        return PAIR_RANKS.empty_table()
    preparation = evaluation_preparation(clip.preprocessing)
    what = f"embedding the images of {name}"
    batches = decoded(shards, samples, preparation, running, task=what, unit="rows")
    features = (
        image_features(batch, clip, preparation, running.device)
        for _, batch in all_usable(batches, name)
    )
    images = np.concatenate([_halves(each, name) for each in features])
    texts = _text_embeddings(clip, name, [t for own in captions for t in own], running)
    counts = np.array([len(own) for own in captions], np.int64)
    owner = np.repeat(np.arange(len(captions)), counts)
    of_images, of_texts = ranks(images, texts, owner, device=running.device)
    shard, row = (samples[column].to_numpy() for column in ("shard", "row"))
    numbers = np.concatenate([np.arange(count) for count in counts])
    columns = {
        "direction": [IMAGE_TO_TEXT] * len(images) + [TEXT_TO_IMAGE] * len(texts),
        "shard": np.concatenate([shard, shard[owner]]),
        "row": np.concatenate([row, row[owner]]),
        "caption": np.concatenate([np.zeros(len(images)), numbers]).astype(np.int32),
        "rank": np.concatenate([of_images, of_texts]),
    }
    return pa.table(columns, schema=PAIR_RANKS)


def ranks(
    images: Float16[np.ndarray, "n d"],
    texts: Float16[np.ndarray, "m d"],
    owner: Int64[np.ndarray, " m"],
    *,
    device: torch.device | None = None,
    block_rows: int = BLOCK_ROWS,
) -> tuple[Int32[np.ndarray, " n"], Int32[np.ndarray, " m"]]:
    """Return the rank of each image among the texts, and of each text among the images.

    `owner` is the image of each text, ascending; every image has one or more. A rank counts the
    wrong ones that are at least as similar as the right one; for an image, that is the most similar
    of its own texts. Similarities are exact if rows are no longer than 4.

    >>> vectors = np.eye(3, dtype=np.float16)
    >>> of_images, of_texts = ranks(vectors, vectors[[0, 0, 2]], np.arange(3))
    >>> of_images.tolist(), of_texts.tolist()
    ([1, 2, 0], [0, 2, 0])
    """
    present = np.diff(owner, prepend=-1, append=len(images))
    assert np.all((present >= 0) & (present <= 1) | (len(owner) == 0)), (
        "owners must ascend without gaps"
    )
    place = torch.device("cpu") if device is None else device
    own = _own_similarities(images, texts, owner, block_rows)
    best = np.full(len(images), -np.inf)
    np.maximum.at(best, owner, own)
    above_image = np.zeros(len(images), np.int64)
    above_text = np.zeros(len(texts), np.int64)
    for start in range(0, len(images), block_rows):
        rows = slice(start, start + block_rows)
        queries, least = _on(images[rows], place), torch.from_numpy(best[rows]).to(place)
        for first in range(0, len(texts), block_rows):
            columns = slice(first, first + block_rows)
            similar = queries @ _on(texts[columns], place).T  # (rows, columns)
            right = torch.from_numpy(own[columns]).to(place)
            above_image[rows] += (similar >= least[:, None]).sum(dim=1).cpu().numpy()
            above_text[columns] += (similar >= right).sum(dim=0).cpu().numpy()
    # the query's own were counted too: the best of its captions, and those that equal it
    above_image -= np.bincount(owner[own == best[owner]], minlength=len(images))
    return above_image.astype(np.int32), (above_text - 1).astype(np.int32)


def _own_similarities(
    images: Float16[np.ndarray, "n d"],
    texts: Float16[np.ndarray, "m d"],
    owner: Int64[np.ndarray, " m"],
    block_rows: int,
) -> Float64[np.ndarray, " m"]:
    own = np.empty(len(texts))
    for start in range(0, len(texts), block_rows):
        rows = slice(start, start + block_rows)
        products = images[owner[rows]].astype(np.float64) * texts[rows]
        own[rows] = products.sum(axis=1)
    return own


def _on(rows: Float16[np.ndarray, "n d"], device: torch.device) -> torch.Tensor:
    return torch.from_numpy(rows).to(device).double()


# --- captions -------------------------------------------------------------------------------------


def _captions(name: str, samples: pa.Table) -> list[tuple[str, ...]]:
    captions = samples["caption"].to_pylist()
    if None in captions:
        at = captions.index(None)
        raise _no_caption(name, samples["shard"][at].as_py(), samples["row"][at].as_py())
    return [(caption,) for caption in captions]


def _all_captions(
    name: str, shards: Sequence[tuple[int, Path]], samples: pa.Table
) -> list[tuple[str, ...]]:
    """Return the captions of each sample from the tars, as SAMPLES does not keep them."""
    captioning, paths = Captioning("texts"), dict(shards)
    addresses = zip(samples["shard"].to_pylist(), samples["row"].to_pylist(), strict=True)
    captions = []
    for shard, group in groupby(addresses, key=lambda address: address[0]):
        wanted = {row for _, row in group}
        found = 0
        for raw in raw_samples(paths[shard], wanted.__contains__):
            found += 1
            try:
                own = captioning.captions(raw.members)
            except Unusable as error:
                raise InputError(
                    f"{name}: shard {shard}, row {raw.row}: {error}. Index the set with captions: "
                    "texts, which drops such samples."
                ) from error
            if not own:
                raise _no_caption(name, shard, raw.row)
            captions.append(own)
        if found != len(wanted):
            raise InputError(
                f"{paths[shard]}: the index has {len(wanted)} of its samples, but the file has "
                f"{found} of these. It was changed after indexing: index it again."
            )
    return captions


def _no_caption(name: str, shard: int, row: int) -> InputError:
    return InputError(
        f"{name}: shard {shard}, row {row}: {NO_CAPTION}. Set `captions` of the set to text or "
        "texts and index it again: indexing then drops samples without one."
    )


# --- embeddings -----------------------------------------------------------------------------------


def _text_embeddings(
    clip: Clip, name: str, captions: Sequence[str], running: Running
) -> Float16[np.ndarray, "m d"]:
    """Return the embedding of each caption; each distinct one is embedded once, in sorted order."""
    distinct = sorted(set(captions))
    progress = Progress(
        _log, f"embedding the captions of {name}", total=len(distinct), unit="captions"
    )
    embeddings, size = [], running.batch_size
    for start in range(0, len(distinct), size):
        some = distinct[start : start + size]
        features = caption_features(some, clip, batch_size=size, device=running.device)
        embeddings.append(_halves(features, name))
        progress.note(start + len(some))
    places = {caption: at for at, caption in enumerate(distinct)}
    rows: Float16[np.ndarray, "m d"]
    rows = np.concatenate(embeddings)[[places[caption] for caption in captions]]
    return rows


def _halves(features: Float32[np.ndarray, "n d"], name: str) -> Float16[np.ndarray, "n d"]:
    return unit_rows(features, name).astype(np.float16)
