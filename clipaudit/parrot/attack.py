"""The typographic attack: a model's predictions on images that bear a wrong class's name.

The workers that decode images also draw on them; the images go straight through the model and are
never stored. Nothing is drawn on test sets whose images already bear such a name (SCAM, RTA-100).
"""

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Float32, Int32
from PIL import Image

from clipaudit.corpora.labels import require_labels, usable_labels
from clipaudit.corpora.shards import RawSample
from clipaudit.corpora.statements import shown_value, stated_fields
from clipaudit.errors import InputError
from clipaudit.evaluation.evaluation import (
    ZeroShotTask,
    all_usable,
    rank_classes,
    zero_shot_scoring,
)
from clipaudit.models.clip import Clip
from clipaudit.models.pictures import PictureBatch, Running, ShardPictures
from clipaudit.models.preparation import Preparation
from clipaudit.models.transforms import evaluation_preparation
from clipaudit.models.workers import Workers
from clipaudit.parrot.printed_names import Printing, draw_prints
from clipaudit.parrot.synthetic import Typeface, layout
from clipaudit.plaintext import plain
from clipaudit.progress import Progress
from clipaudit.suggestions import did_you_mean

_log = logging.getLogger(__name__)

VARIANTS = ("plain", "control", "attacked")

ATTACKED = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("variant", pa.string(), nullable=False),  # one of VARIANTS
        pa.field("text", pa.string()),  # the printed text; null: no text is printed
        pa.field("label", pa.int32(), nullable=False),  # of the right class
        pa.field("printed", pa.int32(), nullable=False),  # of the class whose name is printed
        pa.field("predicted", pa.int32(), nullable=False),
        pa.field("right_similarity", pa.float32(), nullable=False),  # cosine of the right class
        pa.field("printed_similarity", pa.float32(), nullable=False),  # of the printed class
    ]
)


def attack(
    clip: Clip,
    task: ZeroShotTask,
    running: Running,
    *,
    typeface: Typeface,
    type_size: tuple[float, float],
    seed: int,
) -> pa.Table:
    """Return ATTACKED, a row per variant of each sample, in order: plain, control, attacked.

    `draw_prints` gives the printed texts. Ties of classes go to the lowest label. Raises InputError
    for a label that is missing or outside the task's classes, a class name with letters that the
    typeface lacks, an image that cannot be decoded, and as `draw_prints`.
    """
    labels = usable_labels(task.name, task.labels, len(task.classes))
    right = require_labels(task.name, task.samples, labels)
    for label in labels:
        if missing := layout(task.classes[label], typeface).missing_glyphs:
            raise InputError(
                f"{task.name}: the font lacks {missing} letters of the class "
                f"{plain(task.classes[label])!r}. Give a font that has them as parrot.probe.font."
            )
    options = {"type_size": type_size, "seed": seed, "place": task.name}
    prints = draw_prints(task.samples, right, task.classes, labels, **options)  # type: ignore[arg-type]
    texts = [pa.nulls(len(prints), pa.string()), prints["control"], prints["name"]]
    printing = Printing(prints, typeface)
    variants = dict(zip(VARIANTS, texts, strict=True))
    printed = prints["printed"].to_numpy()
    return _answers(clip, task, running, labels, right, printed, variants, printing)


def attack_stated(clip: Clip, task: ZeroShotTask, running: Running, *, field: str) -> pa.Table:
    """Return ATTACKED of images that already bear a name, one attacked row each.

    `field` of a sample's JSON has the class whose name is on its image, by name or number. Errors
    are those of `attack`, and InputError for a sample whose field has no class, or the right one.
    """
    labels = usable_labels(task.name, task.labels, len(task.classes))
    right = require_labels(task.name, task.samples, labels)
    printed = stated_labels(task, labels, right, field)
    variants = {"attacked": pa.nulls(len(right), pa.string())}
    return _answers(clip, task, running, labels, right, printed, variants, None)


def stated_labels(
    task: ZeroShotTask,
    labels: Int32[np.ndarray, " c"],
    right: Int32[np.ndarray, " n"],
    field: str,
) -> Int32[np.ndarray, " n"]:
    """Return the label of the class that a field of each sample's JSON states; see `attack_stated`.

    If classes share the name, it is the lowest label.
    """
    by_name = {task.classes[label]: int(label) for label in labels[::-1]}
    known = set(labels.tolist())
    found = []
    samples = task.samples.select(["shard", "row", "metadata"]).to_pylist()
    for sample, own in zip(samples, right.tolist(), strict=True):
        place = f"{task.name}: shard {sample['shard']}, row {sample['row']}"
        value = stated_fields(sample["metadata"], place).get(field)
        label = by_name.get(value) if isinstance(value, str) else value
        if not isinstance(label, int) or isinstance(label, bool) or label not in known:
            guess = did_you_mean(value, by_name) if isinstance(value, str) else ""
            raise InputError(
                f"{place}: {field} is {shown_value(value)}, which is neither the name nor the "
                f"number of one of its {len(labels)} classes.{guess} Correct the JSON, or add the "
                "class to the corpus's label set."
            )
        if task.classes[label] == task.classes[own]:
            raise InputError(
                f"{place}: {field} is {shown_value(value)}, which is the right class. Keep "
                "samples that bear a wrong name alone, by a split with `where`."
            )
        found.append(label)
    return np.array(found, np.int32)


def _answers(
    clip: Clip,
    task: ZeroShotTask,
    running: Running,
    labels: Int32[np.ndarray, " c"],
    right: Int32[np.ndarray, " n"],
    printed: Int32[np.ndarray, " n"],
    variants: dict[str, pa.ChunkedArray | pa.Array],
    printing: Printing | None,
) -> pa.Table:
    score = zero_shot_scoring(clip, running.device)(task, labels)
    preparation = evaluation_preparation(clip.preprocessing)
    size = running.batch_size
    source = AttackedPictures(task.shards, task.samples, preparation, printing, batch_size=size)
    what = f"attacking on {task.name}"
    progress = Progress(_log, what, total=source.total, unit="images")
    pinned = running.device.type == "cuda"
    batches = Workers(source.batches, workers=running.workers, pinned=pinned)
    tables = [ATTACKED.empty_table()]
    for own, batch in all_usable(batches, task.name):
        each = [
            batch._replace(pixels=batch.pixels[start : start + size])
            for start in range(0, len(batch.pixels), size)
        ]
        rows = [
            _rows(one, score(one), labels, right[own], printed[own])
            | {"variant": pa.repeat(variant, len(one.rows)), "text": texts[own]}
            for one, (variant, texts) in zip(each, variants.items(), strict=True)
        ]
        variant_tables = [pa.table(columns).select(ATTACKED.names) for columns in rows]
        interleaved = pa.concat_tables(variant_tables).take(_by_sample(len(batch.rows), len(each)))
        tables.append(interleaved.cast(ATTACKED))
        progress.note(own.stop)
    return pa.concat_tables(tables)


def _by_sample(samples: int, variants: int) -> pa.Array:
    """Return the order that groups rows, sorted by variant, by sample.

    >>> _by_sample(3, 2).to_pylist()
    [0, 3, 1, 4, 2, 5]
    """
    return pa.array(np.arange(samples * variants).reshape(variants, samples).T.reshape(-1))


def _rows(
    batch: PictureBatch,
    scores: Float32[np.ndarray, "n c"],
    labels: Int32[np.ndarray, " c"],
    right: Int32[np.ndarray, " n"],
    printed: Int32[np.ndarray, " n"],
) -> dict[str, object]:
    at = np.arange(len(right))
    return {
        "shard": np.full(len(right), batch.shard, np.int32),
        "row": np.array(batch.rows, np.int32),
        "label": right,
        "printed": printed,
        "predicted": labels[rank_classes(scores)[:, 0]],
        "right_similarity": scores[at, np.searchsorted(labels, right)],
        "printed_similarity": scores[at, np.searchsorted(labels, printed)],
    }


class AttackedPictures(ShardPictures[PictureBatch]):
    """A source whose batches have the pixels of all variants, one variant after the other.

    Black images fill each variant up to the batch size. Without `printing` there is one variant:
    the unchanged image.
    """

    def __init__(
        self,
        shards: Sequence[tuple[int, Path]],
        samples: pa.Table,
        preparation: Preparation,
        printing: Printing | None,
        *,
        batch_size: int,
    ) -> None:
        """Look up the wanted rows without reading anything yet."""
        super().__init__(shards, samples, batch_size=batch_size)
        self.preparation = preparation
        self.printing = printing

    def _batch(self, number: int, samples: list[RawSample]) -> PictureBatch:
        rows, keys, pictures, faults = self._usable(samples)
        height, width = self.preparation.size
        variants = 1 if self.printing is None else len(VARIANTS)
        pixels = np.zeros((variants, self.batch_size, height, width, 3), np.uint8)
        for at, (row, picture) in enumerate(zip(rows, pictures, strict=True)):
            drawn = self.printing.printed(number, row, picture) if self.printing else []
            for variant, each in enumerate([picture, *drawn]):
                pixels[variant, at] = self.preparation.pixels(Image.fromarray(each))
        flat = torch.from_numpy(pixels.reshape(-1, height, width, 3))
        return PictureBatch(number, rows, keys, flat, faults)
