"""Compute the memorization audit's déjà vu gaps from arrays and lists of labels, without files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Literal

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from clipaudit.corpora.given_lists import refuse_flat, refuse_others
from clipaudit.errors import InputError
from clipaudit.memorization.gaps import CONTROL, population_gaps
from clipaudit.memorization.pairs import pair_up
from clipaudit.memorization.recall import RETRIEVED, recall_test
from clipaudit.neighbors.arrays import nearest_halves, refuse_count, unit_pair

Labels = Sequence[Sequence[str | int]]


@dataclass(frozen=True, eq=False)
class Embedded:
    """One model's embeddings of the records' captions and of the public images."""

    captions: Float[np.ndarray, "n d"]
    public: Float[np.ndarray, "m d"]


@dataclass(frozen=True)
class Gap:
    """The additional recall of a model on its training records, with its 95 % interval.

    The p value tests that membership changes nothing; None if there is no such test. All are None
    without a record that has a label.
    """

    value: float | None
    low: float | None
    high: float | None
    p_value: float | None


SeenBy = Literal["target", "reference", "neither"]
_ATTACKS: dict[SeenBy, str] = {"target": "a", "reference": "b", "neither": CONTROL}


def deja_vu_gaps(
    target: Embedded,
    reference: Embedded,
    labels: Labels,
    public_labels: Labels,
    *,
    seen_by: Sequence[SeenBy],
    k: int = 10,
    seed: int = 0,
) -> Mapping[str, Gap]:
    """Return the additional recall of two models on their own training records.

    `labels` name the objects of each record's own image, `public_labels` those of each public
    image, and `seen_by` says which of the models was trained on each record. A record's caption
    predicts the labels of the k public images nearest to it. The gaps are `ppg`, `prg`, `aucg` and
    `aucg_histogram` (Jayaraman et al., NeurIPS 2024, Sec. 3.2: https://arxiv.org/abs/2402.02103);
    records without labels are left out. With records of both models the gaps are the mean of both
    directions, which cancels a model's general advantage. With records of one model and of neither,
    they are that model's gap minus the difference of both on the others. `seed` decides the draws
    of the intervals, which take records as independent: several records of one image make them too
    narrow. In a tie the first public image counts. Labels are names, or numbers, in a
    list for each image. Raises InputError for others, if the numbers of labels and embeddings
    differ, and for records of only one model.
    """
    refuse_count(k)
    _refuse_labels(labels, public_labels)
    _refuse_lengths("captions", target.captions, reference.captions, labels)
    _refuse_lengths("public images", target.public, reference.public, public_labels)
    _refuse_seen_by(seen_by, len(labels))
    names = sorted({name for each in (*labels, *public_labels) for name in each})
    numbers = {name: number for number, name in enumerate(names)}
    truths, public = _table(labels, numbers), _table(public_labels, numbers)
    recalls = [
        recall_test(_retrieved(model, name, k), truths, public, ks=[k])
        for model, name in ((target, "target"), (reference, "reference"))
    ]
    attacks = {}
    for seen, attack in _ATTACKS.items():
        inside = pa.array([each == seen for each in seen_by])
        own, other = (table.filter(inside) for table in recalls)
        if len(own):
            pairs = pair_up(other, own) if seen == "reference" else pair_up(own, other)
            attacks[attack] = {"records": pairs}
    rows = population_gaps(attacks, seed=seed).to_pylist()
    if {"a", "b"} <= attacks.keys():
        chosen = [row for row in rows if row["target"] == "mean"]
        columns = ("value", "low", "high", "p_value")
    elif CONTROL in attacks and len(attacks) == 2:
        chosen = [row for row in rows if row["target"] != CONTROL]
        columns = ("net", "net_low", "net_high", "p_value")
    else:
        given = ", ".join(sorted(set(seen_by)))
        raise InputError(
            f"seen_by: all records are of one kind ({given}). A gap between two models may "
            "come from the models as well as from membership: add records that the other model was "
            "trained on, or records that neither was trained on"
        )
    return {row["measure"]: Gap(*(row[name] for name in columns)) for row in chosen}


def _retrieved(model: Embedded, name: str, k: int) -> pa.Table:
    names = (f"{name}.captions", f"{name}.public")
    found = nearest_halves(*unit_pair(model.captions, model.public, names=names), k=k)
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


def _table(labels: Labels, numbers: Mapping[str | int, int]) -> pa.Table:
    held = [[numbers[name] for name in each] for each in labels]
    return pa.table(
        {
            "shard": np.zeros(len(held), np.int32),
            "row": np.arange(len(held), dtype=np.int32),
            "labels": pa.array(held, pa.list_(pa.int32())),
        }
    )


def _refuse_labels(labels: Labels, public_labels: Labels) -> None:
    given = {"labels": labels, "public_labels": public_labels}
    for name, lists in given.items():
        refuse_flat(lists, name, holds="the objects in it")
    first = next((label for each in (*labels, *public_labels) for label in each), "")
    numbered = isinstance(first, Integral)
    kind, expected = (Integral, "only whole numbers") if numbered else (str, "only names")
    for name, lists in given.items():
        refuse_others(lists, name, kind=kind, expected=f"{expected} in both lists of labels")


def _refuse_seen_by(seen_by: Sequence[SeenBy], records: int) -> None:
    if len(seen_by) != records:
        raise InputError(f"seen_by: {len(seen_by)} entries for {records} records")
    for at, each in enumerate(seen_by):
        if each not in tuple(_ATTACKS):
            raise InputError(
                f"seen_by: entry {at} is {each!r}; give one of {', '.join(_ATTACKS)} "
                "for each record"
            )


def _refuse_lengths(what: str, target: np.ndarray, reference: np.ndarray, labels: Labels) -> None:
    if not len(target) == len(reference) == len(labels):
        raise InputError(
            f"{what}: {len(target)} embeddings of the target model, {len(reference)} of the "
            f"reference model, and labels of {len(labels)}; give equally many"
        )
