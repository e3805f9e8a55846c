"""Make images unchanged and with text erased, in worker processes.

An image has several kinds: unchanged, without any text, and without co-embedded text. For each of
the last two, a random kind erases the area of the text of the donor, another image of the shard.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from jaxtyping import Bool
from PIL import Image

from clipaudit.corpora.addresses import sample_address, sample_addresses
from clipaudit.corpora.reasons import Unusable
from clipaudit.corpora.shards import RawSample
from clipaudit.models.pictures import Fault, PictureBatch, PictureSource
from clipaudit.models.preparation import Pixels, Preparation
from clipaudit.parrot.erasing import Fill, donors, erase_polygons
from clipaudit.parrot.matching import co_embedded
from clipaudit.parrot.spans import Polygon, spans_of
from clipaudit.parrot.tokens import Tokenization

KINDS = ("raw", "all", "co", "random_all", "random_co")
PICTURES_SENT = 32  # images that a worker sends at once, in all kinds: memory, never results


def erasable_pictures(
    samples: pa.Table, spans: pa.Table, matches: pa.Table, tokenization: Tokenization, seed: int
) -> pa.Table:
    """Return the data for erasing, one row per row of `spans` (SPANS), in its order.

    It has columns of `samples` (SAMPLES, which may have more rows), the spans, and `co`, the
    co-embedded words of `matches` (MATCHES of `spans`). The text of `donor_row` and `co_donor_row`
    gives the random areas; they are null if the image, or every other one of its shard, has no such
    text.
    """
    addresses = sample_addresses(spans)
    assert np.array_equal(addresses, sample_addresses(matches)), "matches are of these spans"
    own = samples.filter(pa.array(np.isin(sample_addresses(samples), addresses)))
    assert np.array_equal(addresses, sample_addresses(own)), "spans are of these samples"
    co = matches[f"{tokenization}_co"]
    columns = {name: own[name] for name in ("shard", "row", "key", "caption", "height", "width")}
    columns |= {"spans": spans["spans"], "co": co}
    for name, lists in (("donor_row", spans["spans"]), ("co_donor_row", co)):
        columns[name] = _donor_rows(own, _holds(lists), seed)
    return pa.table(columns).combine_chunks()


def _holds(lists: pa.ChunkedArray) -> Bool[np.ndarray, " n"]:
    return np.asarray(pc.greater(pc.list_value_length(lists), 0)).astype(bool)


def _donor_rows(samples: pa.Table, has: Bool[np.ndarray, " n"], seed: int) -> pa.Array:
    shards, rows = samples["shard"].to_numpy(), samples["row"].to_numpy()
    found = np.full(len(rows), -1, np.int32)
    for shard in np.unique(shards).tolist():
        own = shards == shard
        found[own] = donors(rows[own], has[own], shard=shard, seed=seed)
    return pa.array(found, mask=~has | (found < 0))


def kinds_of(pictures: pa.Table) -> list[list[str]]:
    """Return the existing kinds of each image, in the order of KINDS."""
    there = {
        "raw": np.ones(len(pictures), bool),
        "all": _holds(pictures["spans"]),
        "co": _holds(pictures["co"]),
        "random_all": np.asarray(pc.is_valid(pictures["donor_row"])),
        "random_co": np.asarray(pc.is_valid(pictures["co_donor_row"])),
    }
    flags = np.stack([there[kind] for kind in KINDS], axis=1)  # (n, kinds)
    return [[KINDS[kind] for kind in np.flatnonzero(of_one)] for of_one in flags]


@dataclass(frozen=True)
class Reduced:
    """Scales images down to a shorter side of at most `shorter_side` pixels.

    The cost of inpainting grows with the fourth power of the side: area and radius grow with it.
    """

    shorter_side: int

    def __call__(self, picture: Image.Image) -> Image.Image:
        """Return the image, scaled down if it is larger, with its aspect ratio."""
        shorter = min(picture.size)
        if shorter <= self.shorter_side:
            return picture
        width, height = (max(1, round(side * self.shorter_side / shorter)) for side in picture.size)
        return picture.resize((width, height), Image.Resampling.BICUBIC)


class Erasing:
    """Makes the kinds of an image from its stored pixels."""

    def __init__(
        self,
        pictures: pa.Table,
        tokenization: Tokenization,
        radius: float,
        dilation: float,
        fill: Fill = "telea",
    ) -> None:
        """Take `erasable_pictures`, and lengths in an image whose shorter side is 224 pixels."""
        self.pictures = pictures
        self.tokenization = tokenization
        self.radius = radius
        self.dilation = dilation
        self.fill = fill
        self._addresses = sample_addresses(pictures)

    def all_kinds(self, shard: int, row: int, stored: Pixels) -> Iterator[Pixels]:
        """Yield the image, stored or scaled down, then its erased kinds in the order of KINDS."""
        own = self._picture(shard, row)
        for kind in kinds_of(own)[0]:
            if kind == "raw":
                yield stored
                continue
            name = {"random_all": "donor_row", "random_co": "co_donor_row"}.get(kind)
            of = own if name is None else self._picture(shard, own[name][0].as_py())
            yield self._erased(stored, of, co_only=kind in ("co", "random_co"))

    def _picture(self, shard: int, row: int) -> pa.Table:
        at = int(np.searchsorted(self._addresses, sample_address(shard, row)))
        return self.pictures.slice(at, 1)

    def _erased(self, stored: Pixels, of: pa.Table, *, co_only: bool) -> Pixels:
        """Erase the area of the text of the image `of`, stretched to the stored image."""
        (spans,) = spans_of(of)
        polygons: Sequence[Polygon] = [span.polygon for span in spans]
        if co_only:
            polygons = co_embedded(spans, set(of["co"][0].as_py()), self.tokenization)
        size = (of["height"][0].as_py(), of["width"][0].as_py())
        lengths = {"radius": self.radius, "dilation": self.dilation}
        return erase_polygons(stored, polygons, size, **lengths, fill=self.fill)


class ErasedPictures(PictureSource):
    """A source whose batches repeat each row for each kind of its image, in order."""

    def __init__(
        self,
        shards: Sequence[tuple[int, Path]],
        samples: pa.Table,
        preparation: Preparation,
        erasing: Erasing,
        reduced: Reduced,
    ) -> None:
        """Look up the wanted rows, those of `samples`, without reading anything yet."""
        # text is erased before the model's own resizing
        stored = replace(preparation, picture_steps=(reduced,))
        super().__init__(shards, samples, stored, batch_size=PICTURES_SENT)
        self.prepared = preparation
        self.erasing = erasing

    def _batch(self, number: int, samples: list[RawSample]) -> PictureBatch:
        rows: list[int] = []
        keys: list[str] = []
        pictures: list[Pixels] = []
        faults = []
        for sample in samples:
            try:
                stored = self._pixels(sample)
            except Unusable as error:
                faults.append(Fault(sample.row, sample.key, error.reason, error.detail))
                continue
            for pixels in self.erasing.all_kinds(number, sample.row, stored):
                pictures.append(self.prepared.pixels(Image.fromarray(pixels)))
                rows.append(sample.row)
                keys.append(sample.key)
        empty = np.zeros((0, *self.prepared.size, 3), np.uint8)
        pixels = np.stack(pictures) if pictures else empty
        return PictureBatch(number, rows, keys, torch.from_numpy(pixels), faults)
