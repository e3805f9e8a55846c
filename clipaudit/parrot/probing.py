"""The synthetic probe: a model's similarity of a text and an image of only this text.

Lin et al., ECCV 2024 (https://arxiv.org/abs/2312.14232), Sec. 5.2 and 6: the mean over the 1-grams
of the captions is the paper's Sync score. The text goes to the text encoder unchanged, without a
prompt; the tokenizer cuts a text longer than the model's context.

Sync alone does not show that a model reads: a model that finds any word similar to any image of a
word also has a high Sync. So each image is also compared with all other texts of its vocabulary
(`probe_choices`): their mean cosine, and whether the right text is the most similar. The paper has
neither.
"""

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Float32, Int64, UInt8
from PIL import Image

from clipaudit.embeddings.caption_embedding import caption_features
from clipaudit.evaluation.evaluation import unit_rows
from clipaudit.models.clip import Clip
from clipaudit.models.clip_features import image_features
from clipaudit.models.pictures import PictureBatch
from clipaudit.models.preparation import Preparation
from clipaudit.models.transforms import evaluation_preparation
from clipaudit.models.workers import Workers
from clipaudit.parrot.probe_choices import compare_choices, number_choices
from clipaudit.parrot.synthetic import Style, Typeface, colour, ink, layout
from clipaudit.progress import Progress

PROBES = pa.schema(
    [
        pa.field("gram", pa.string(), nullable=False),
        pa.field("frequency", pa.int64(), nullable=False),
        pa.field("style", pa.string(), nullable=False),  # background-letters
        pa.field("similarity", pa.float32(), nullable=False),  # cosine of the image and the gram
        # mean cosine of the image and the other choices; null: there is no other choice
        pa.field("mismatched", pa.float64()),
        pa.field("rank", pa.int64(), nullable=False),  # other choices that are more similar
        pa.field("right", pa.float64(), nullable=False),  # picked: 1, 0, or 1/k among k equals
        # different texts of the vocabulary, as the model's tokenizer sees them; chance is 1/choices
        pa.field("choices", pa.int64(), nullable=False),
        # how the gram is set in its image; 0 lines: it leaves no ink, and the image is blank
        pa.field("lines", pa.int32(), nullable=False),
        pa.field("type_size", pa.int32(), nullable=False),  # pixels
        pa.field("missing_glyphs", pa.int32(), nullable=False),  # characters drawn as a box
        pa.field("cut", pa.int32(), nullable=False),  # characters at its end that do not fit
    ]
)

LAYOUT_COLUMNS = ("lines", "type_size", "missing_glyphs", "cut")
NOTES = ("wrapped", "shrunk", "cut", "with missing glyphs", "without ink")
PLACE = "synthetic probe"

_log = logging.getLogger(__name__)


class ProbeBatch(NamedTuple):
    """Consecutive grams of a vocabulary and their images, black after the last gram's."""

    first: int  # place of the first gram in the vocabulary
    grams: list[str]
    frequencies: list[int]
    layouts: list[tuple[int, int, int, int]]  # PROBES' lines, type_size, missing_glyphs, cut
    pixels: UInt8[torch.Tensor, "grams styles height width 3"]


@dataclass(frozen=True, eq=False)
class ProbeSource:
    """Draws the images of GRAMS, each text once for all styles, one full batch at a time."""

    grams: pa.Table
    typeface: Typeface
    preparation: Preparation
    side: int
    type_size: int
    styles: Sequence[Style]
    batch_grams: int

    def batches(self, worker: int, workers: int) -> Iterator[ProbeBatch]:
        """Yield one worker's batches: every `workers`-th one."""
        step = self.batch_grams
        for first in range(worker * step, len(self.grams), workers * step):
            some = self.grams.slice(first, step)
            yield self._batch(first, some["gram"].to_pylist(), some["frequency"].to_pylist())

    def _batch(self, first: int, grams: list[str], frequencies: list[int]) -> ProbeBatch:
        layouts = []
        shape = (self.batch_grams, len(self.styles), *self.preparation.size, 3)
        pixels = np.zeros(shape, np.uint8)
        for at, gram in enumerate(grams):
            placed = layout(gram, self.typeface, side=self.side, type_size=self.type_size)
            mask = ink(placed, self.typeface, side=self.side)
            lines = len(placed.lines) if mask.any() else 0
            layouts.append((lines, placed.type_size, placed.missing_glyphs, placed.cut))
            for number, style in enumerate(self.styles):
                picture = Image.fromarray(colour(mask, style))
                pixels[at, number] = self.preparation.pixels(picture)
        return ProbeBatch(first, grams, frequencies, layouts, torch.from_numpy(pixels))


class ProbeTexts(NamedTuple):
    """The texts of a vocabulary as the model sees them."""

    choices: Int64[np.ndarray, " grams"]  # of each gram: a row of `features`
    features: Float32[torch.Tensor, "choices d"]  # unit rows, on the model's device


def probe(
    clip: Clip,
    grams: pa.Table,
    typeface: Typeface,
    *,
    side: int,
    type_size: int,
    styles: Sequence[Style],
    batch_size: int,
    workers: int,
    device: torch.device,
) -> Iterator[pa.Table]:
    """Yield the PROBES of a vocabulary, one row per gram, in their order, and style.

    `grams` are GRAMS. Images have `side` pixels and type of up to `type_size`, and are prepared
    like all images for this model. A forward pass has the images of as many grams as fit into
    `batch_size`, at least one, and is always full: a row depends on the model, these settings, the
    whole vocabulary, the device class and its threads, but not on `workers`. All texts are embedded
    first and held, at 4 bytes per dimension. The log counts grams that are not on one line at full
    size. Raises StepError for a model that has diverged.
    """
    clip.model.to(device).eval()
    preparation = evaluation_preparation(clip.preprocessing)
    source = ProbeSource(
        grams.select(["gram", "frequency"]).combine_chunks(),
        typeface,
        preparation,
        side,
        type_size,
        styles,
        batch_grams=max(1, batch_size // len(styles)),
    )
    texts = _embed_texts(source.grams["gram"].to_pylist(), clip, source.batch_grams, device)
    progress = Progress(_log, "probing with synthetic images", total=len(grams), unit="grams")
    done, notes = 0, Counter[str]()
    for batch in Workers(source.batches, workers=workers, pinned=device.type == "cuda"):
        yield _probe_rows(batch, texts, source, clip, device)
        notes += _notes(batch, type_size)
        done += len(batch.grams)
        progress.note(done, ", ".join(f"{notes[note]} {note}" for note in NOTES if notes[note]))


def _embed_texts(
    grams: Sequence[str], clip: Clip, batch_size: int, device: torch.device
) -> ProbeTexts:
    """Embed each choice of a vocabulary once, in full batches."""
    batches = (grams[start : start + batch_size] for start in range(0, len(grams), batch_size))
    choices, firsts = number_choices(clip.tokenizer(list(batch)) for batch in batches)
    rows = [np.empty((0, clip.dimension), np.float32)]
    for start in range(0, len(firsts), batch_size):
        texts = [grams[place] for place in firsts[start : start + batch_size]]
        features = caption_features(texts, clip, batch_size=batch_size, device=device)
        rows.append(unit_rows(features, PLACE))
    return ProbeTexts(choices, torch.from_numpy(np.concatenate(rows)).to(device))


def _notes(batch: ProbeBatch, type_size: int) -> Counter[str]:
    """Count the grams that are not drawn on one line at full size, by cause."""
    counts = Counter[str]()
    for lines, size, missing, cut in batch.layouts:
        special = (lines > 1, size < type_size, cut > 0, missing > 0, lines == 0)
        counts.update(note for note, holds in zip(NOTES, special, strict=True) if holds)
    return counts


def _probe_rows(
    batch: ProbeBatch, texts: ProbeTexts, source: ProbeSource, clip: Clip, device: torch.device
) -> pa.Table:
    each = len(source.styles)
    rows = list(range(len(batch.grams) * each))
    pictures = PictureBatch(0, rows, [], batch.pixels.flatten(0, 1), [])
    features = image_features(pictures, clip, source.preparation, device)
    choices = texts.choices[batch.first : batch.first + len(batch.grams)]
    found = compare_choices(unit_rows(features, PLACE), np.repeat(choices, each), texts.features)
    layouts = np.repeat(np.array(batch.layouts, np.int32), each, axis=0)  # (rows, 4)
    columns = {
        "gram": [gram for gram in batch.grams for _ in range(each)],
        "frequency": np.repeat(np.array(batch.frequencies, np.int64), each),
        "style": list(source.styles) * len(batch.grams),
        "similarity": found.matched.astype(np.float32),
        "mismatched": pa.array(found.mismatched, from_pandas=True),  # NaN becomes null
        "rank": found.rank,
        "right": found.right,
        "choices": np.full(len(rows), len(texts.features)),
    }
    columns |= dict(zip(LAYOUT_COLUMNS, layouts.T, strict=True))
    return pa.table(columns, schema=PROBES)
