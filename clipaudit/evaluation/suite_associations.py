"""Evaluates WinoGAViL: which of some images go with a cue, from Hugging Face's Parquet.

Bitton et al., NeurIPS 2022 (https://arxiv.org/abs/2207.12576). As many images are chosen as are
right; Jaccard's index scores a choice. The folder has Parquet files of the test split, such as
`Dataset.to_parquet` writes of embedded images, with the columns

    cue                 a word
    candidates          names of the images
    associations        names of the right ones
    candidate_images    the images, each a struct with its file in `bytes`
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from jaxtyping import Bool, Float32

from clipaudit.corpora.images import open_picture
from clipaudit.corpora.reasons import Unusable
from clipaudit.errors import InputError
from clipaudit.models.clip import Clip
from clipaudit.models.pictures import Running
from clipaudit.models.preparation import Preparation

COLUMNS = ("cue", "candidates", "associations", "candidate_images")
FEW, MANY = 6, 10  # candidates: five or six, ten or twelve
FETCH = (
    "Fetch the test split of nlphuji/winogavil, embed its images by `datasets.table."
    "embed_table_storage` (docs/imports.md, Parquet files), and write it by `Dataset.to_parquet`."
)


class Score(NamedTuple):
    """The number of candidates, and Jaccard's index of the choice."""

    candidates: int
    jaccard: float


class Instance(NamedTuple):
    """A cue and its candidates."""

    place: str
    cue: str
    images: list[bytes]
    right: Bool[np.ndarray, " n"]


@runtime_checkable
class Embedder(Protocol):
    """The two towers of a CLIP model."""

    def encode_image(self, images: torch.Tensor) -> torch.Tensor:
        """Embed a batch of images."""

    def encode_text(self, tokens: torch.Tensor) -> torch.Tensor:
        """Embed a batch of texts."""


def association_scores(
    folder: Path, model: Embedder, clip: Clip, preparation: Preparation, running: Running
) -> list[Score]:
    """Return the score of each instance, in order; raise InputError for an invalid instance."""
    return [
        Score(
            len(each.right), _jaccard(each.right, _similar(each, model, clip, preparation, running))
        )
        for each in _instances(folder)
    ]


def jaccard_scores(scores: Sequence[Score]) -> Mapping[str, float]:
    """Return DataComp's means; NaN if no instance has that many candidates."""
    found = np.array([score.jaccard for score in scores])
    sizes = np.array([score.candidates for score in scores])
    return {
        "avg_jaccard_score": float(found.mean()),
        "jaccard_score_5-6": _mean(found[sizes <= FEW]),
        "jaccard_score_10-12": _mean(found[sizes >= MANY]),
    }


def prompt(cue: str) -> str:
    """Return the text for the text encoder.

    >>> prompt("Astronaut"), prompt("moon")
    ('An astronaut', 'A moon')
    """
    word = cue.lower()
    return f"{'An' if word[0] in 'aeiou' else 'A'} {word}"


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _jaccard(right: Bool[np.ndarray, " n"], similar: Float32[np.ndarray, " n"]) -> float:
    """Return Jaccard's index of the right ones and as many likeliest; ties go to the later one."""
    chosen = np.zeros(len(right), bool)
    chosen[np.argsort(similar, kind="stable")[len(right) - int(right.sum()) :]] = True
    return float((right & chosen).sum() / (right | chosen).sum())


def _similar(
    instance: Instance, model: Embedder, clip: Clip, preparation: Preparation, running: Running
) -> Float32[np.ndarray, " n"]:
    try:
        pictures = [preparation.pixels(open_picture(image).rgb) for image in instance.images]
    except Unusable as error:
        raise InputError(f"{instance.place}: an image cannot be used: {error}. {FETCH}") from error
    images = preparation.tensor(torch.from_numpy(np.stack(pictures)), running.device)
    tokens = clip.tokenizer([prompt(instance.cue)]).to(running.device)
    with torch.inference_mode():
        pair = model.encode_image(images), model.encode_text(tokens)
        unit = [torch.nn.functional.normalize(each, dim=-1) for each in pair]
        return np.asarray((unit[0] @ unit[1].T)[:, 0].float().cpu().numpy())


def _instances(folder: Path) -> Iterator[Instance]:
    paths = sorted(folder.rglob("*.parquet"))
    if not paths:
        raise InputError(f"{folder}: no .parquet file in it or below. {FETCH}")
    number = 0
    for path in paths:
        try:
            file = pq.ParquetFile(path)
            for batch in file.iter_batches(batch_size=8, columns=list(COLUMNS)):
                for row in batch.to_pylist():
                    yield _instance(row, f"{path}: row {number}")
                    number += 1
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"{path}: cannot be read: {error}. {FETCH}") from error
    if number == 0:
        raise InputError(f"{folder}: its {len(paths)} Parquet files have no rows. {FETCH}")


def _instance(row: Mapping[str, Any], place: str) -> Instance:
    lacking = [name for name in COLUMNS if not row.get(name)]
    if lacking:
        raise InputError(f"{place}: no {' and no '.join(lacking)}. {FETCH}")
    names, images = row["candidates"], row["candidate_images"]
    right = np.isin(names, row["associations"])
    if len(images) != len(names) or not right.any():
        raise InputError(
            f"{place}: {len(images)} images, {len(names)} candidates, {int(right.sum())} of them "
            f"associations; as many images as candidates are needed, and an association. {FETCH}"
        )
    files = [image and image.get("bytes") for image in images]
    if not all(files):
        raise InputError(f"{place}: an image without `bytes`. {FETCH}")
    return Instance(place, str(row["cue"]), files, right)
