"""The déjà vu gaps of the memorization audit over arrays and lists of labels, without files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from clipaudit.errors import InputError
from clipaudit.memorization.gaps import population_gaps
from clipaudit.memorization.pairs import pair_up
from clipaudit.memorization.recall import RETRIEVED, recall_test
from clipaudit.neighbors.arrays import nearest

Labels = Sequence[Sequence[str]]


@dataclass(frozen=True, eq=False)
class Embedded:
    """What one model makes of the records' captions, and of the public images."""

    captions: Float[np.ndarray, "n d"]
    public: Float[np.ndarray, "m d"]


@dataclass(frozen=True)
class Gap:
    """Target less reference, with its 95 % bootstrap interval over records and its p value.

    All are None without a record to evaluate, the p value also where no test exists.
    """

    value: float | None
    low: float | None
    high: float | None
    p_value: float | None


def deja_vu_gaps(
    target: Embedded,
    reference: Embedded,
    labels: Labels,
    public_labels: Labels,
    *,
    k: int = 10,
    seed: int = 0,
) -> Mapping[str, Gap]:
    """Return how much more the target model recalls of its training records than the reference.

    `labels` name the objects of each record's own picture, `public_labels` those of each public
    image. A record's caption predicts the labels of the k public images nearest to it. The gaps are
    `ppg`, `prg`, `aucg` and `aucg_histogram` (Jayaraman et al., NeurIPS 2024, Sec. 3.2:
    https://arxiv.org/abs/2402.02103); records without labels are left out. `seed` decides the draws
    of the intervals. Among equally similar public images the first counts. Raise InputError where
    labels and embeddings are not as many.
    """
    _refuse_lengths("captions", target.captions, reference.captions, labels)
    _refuse_lengths("public images", target.public, reference.public, public_labels)
    names = sorted({name for each in (*labels, *public_labels) for name in each})
    numbers = {name: number for number, name in enumerate(names)}
    truths, public = _table(labels, numbers), _table(public_labels, numbers)
    recalls = [
        recall_test(_retrieved(model, k), truths, public, ks=[k]) for model in (target, reference)
    ]
    rows = population_gaps({"target": pair_up(*recalls)}, seed=seed).to_pylist()
    return {
        row["measure"]: Gap(row["value"], row["low"], row["high"], row["p_value"]) for row in rows
    }


def _retrieved(model: Embedded, k: int) -> pa.Table:
    found = nearest(model.captions, model.public, k=k)
    record, rank = np.nonzero(found.rows >= 0)
    nothing = np.zeros(len(record), np.int32)
    columns = {
        "shard": nothing,
        "row": record.astype(np.int32),
        "rank": rank.astype(np.int32),
        "similarity": found.similarity[record, rank],
        "public_shard": nothing,
        "public_row": found.rows[record, rank].astype(np.int32),
    }
    return pa.table(columns, schema=RETRIEVED)


def _table(labels: Labels, numbers: Mapping[str, int]) -> pa.Table:
    held = [[numbers[name] for name in each] for each in labels]
    return pa.table(
        {
            "shard": np.zeros(len(held), np.int32),
            "row": np.arange(len(held), dtype=np.int32),
            "labels": pa.array(held, pa.list_(pa.int32())),
        }
    )


def _refuse_lengths(what: str, target: np.ndarray, reference: np.ndarray, labels: Labels) -> None:
    if not len(target) == len(reference) == len(labels):
        raise InputError(
            f"{what}: {len(target)} embeddings of the target model, {len(reference)} of the "
            f"reference model, and labels of {len(labels)}; give one of each for every one"
        )
