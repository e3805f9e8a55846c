"""Read the text in the images of samples by any spotter, each image once.

An image is identified by its bytes. Its text, read for any row of any corpus, stays in the memory;
only unknown images are opened and given to the spotter, which is loaded for the first of them.
"""

import hashlib
import logging
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from jaxtyping import UInt8

from clipaudit.corpora.addresses import sample_addresses
from clipaudit.corpora.drops import Drops
from clipaudit.corpora.images import open_picture
from clipaudit.corpora.reasons import NO_IMAGE, Unusable
from clipaudit.corpora.shards import RawSample, first_image, raw_samples
from clipaudit.errors import InputError
from clipaudit.models.spread import spread
from clipaudit.parrot.spans import Span, pictures_without_text, spans_table
from clipaudit.parrot.spot_memory import SpotMemory
from clipaudit.progress import Progress

WORTH_A_PROCESS = 100  # images: about five seconds
MOST_NUMBERS = 100_000_000  # uint8, of images that are open at once
SPOTTING_FAILED = "text spotting failed"  # a reason in drops: the engine fails on this image

_log = logging.getLogger(__name__)


class Spotter(Protocol):
    """Reads the text in images."""

    @property
    def recipe(self) -> Mapping[str, object]:
        """Everything that its results depend on: settings, versions, weights; as JSON values."""

    def spot(self, pixels: UInt8[np.ndarray, "h w 3"]) -> list[Span]:
        """Return the text of an RGB image in reading order; raises Unusable if it cannot."""


class ManySpotter(ABC):
    """A spotter that reads the text in several images at once."""

    together: int  # images

    @abstractmethod
    def spot_all(
        self, pictures: Sequence[UInt8[np.ndarray, "_ _ 3"]]
    ) -> list[list[Span] | Unusable]:
        """Return for each image what `spot` returns, or the Unusable that it raises."""


_SpotAll = Callable[[Sequence[np.ndarray]], Iterable[list[Span] | Unusable]]


class _Row(NamedTuple):
    row: int
    key: str
    digest: str  # SHA-256 of the image's bytes, in hex


class _Opened(NamedTuple):
    digest: str
    picture: np.ndarray | Unusable  # RGB, uint8


class _Text(NamedTuple):
    digest: str
    spans: list[Span]
    fault: str = ""  # why it could not be read; a reason in drops
    detail: str = ""


def spot_text(
    shards: Sequence[tuple[int, Path]],
    samples: pa.Table,
    make_spotter: Callable[[], Spotter],
    memory: SpotMemory,
    *,
    drops: Drops,
    workers: int = 1,
) -> Iterator[pa.Table]:
    """Yield the SPANS of the rows in `samples`, one table per shard, in their order.

    `shards` gives each shard number's tar, ascending; `samples` are SAMPLES. Rows whose image
    cannot be decoded, or on which the spotter fails, are added to `drops` instead, so that rows in
    `samples` = rows out + drops. Images in `memory` are not read again, and equal images are read
    once. `make_spotter` is called once in each of up to `workers` processes that read images, or
    never if memory has all; a ManySpotter gets several images of a shard at once. All results are
    in `memory` when the last table has been taken, and most of them if the work is killed before.
    Raises InputError for a tar that is not the indexed one.
    """
    rows = _rows_by_shard(samples)
    missing = rows.keys() - {number for number, _ in shards}
    assert not missing, f"no path for shards {sorted(missing)}"

    def texts(some: pa.Table) -> Iterator[_Text]:
        return _read_texts(shards, some, make_spotter)

    known = _Known(samples, memory, texts, workers)
    progress = Progress(_log, "spotting text", total=len(samples), unit="images")
    done = bare = 0
    try:
        for number, _ in shards:
            if number not in rows:
                continue
            table = _shard_spans(number, rows[number], known, drops, progress, done)
            yield table
            done += len(rows[number])
            bare += pictures_without_text(table)
    finally:
        memory.flush()
    memory.settle()
    log = "%d of %d images show no text, %d were known"
    _log.info(log, bare, done, known.remembered)


def _read_texts(
    shards: Sequence[tuple[int, Path]], samples: pa.Table, make_spotter: Callable[[], Spotter]
) -> Iterator[_Text]:
    """Yield the text in the images of some samples, in order, reading all of them."""
    spotter = make_spotter()
    together = 1
    spot_all: _SpotAll = partial(_one_by_one, spotter.spot)
    if isinstance(spotter, ManySpotter):
        together, spot_all = spotter.together, spotter.spot_all
    rows = _rows_by_shard(samples)
    for number, path in shards:
        wanted = {row.row: row for row in rows.get(number, ())}
        if wanted:
            for some in _groups(_opened(path, wanted), together):
                yield from _texts(some, spot_all)


def _opened(path: Path, wanted: Mapping[int, _Row]) -> Iterator[_Opened]:
    """Yield the images of some rows of a tar."""
    read = 0
    for sample in raw_samples(path, wanted.__contains__):
        read += 1
        digest = wanted[sample.row].digest
        try:
            image = _image(sample, digest, f"{path}, row {sample.row}")
            yield _Opened(digest, np.asarray(open_picture(image).rgb))
        except Unusable as error:
            yield _Opened(digest, error)
    if read != len(wanted):
        raise InputError(
            f"{path}: the index has {len(wanted)} samples of it that are not all in the file "
            f"({read} are). It was changed after indexing: index it again."
        )


def _groups(opened: Iterable[_Opened], together: int) -> Iterator[list[_Opened]]:
    """Yield up to `together` images at a time, fewer if they are large."""
    some: list[_Opened] = []
    numbers = 0
    for each in opened:
        some.append(each)
        numbers += 0 if isinstance(each.picture, Unusable) else each.picture.size
        if len(some) == together or numbers > MOST_NUMBERS:
            yield some
            some, numbers = [], 0
    if some:
        yield some


def _texts(some: Sequence[_Opened], spot_all: _SpotAll) -> Iterator[_Text]:
    opened = [each.picture for each in some if not isinstance(each.picture, Unusable)]
    found = iter(spot_all(opened) if opened else [])
    for digest, picture in some:
        result = picture if isinstance(picture, Unusable) else next(found)
        if isinstance(result, Unusable):
            yield _Text(digest, [], result.reason, result.detail)
        else:
            yield _Text(digest, result)


def _one_by_one(
    spot: Callable[[np.ndarray], list[Span]], pictures: Sequence[np.ndarray]
) -> Iterator[list[Span] | Unusable]:
    for picture in pictures:
        try:
            yield spot(picture)
        except Unusable as error:
            yield error


def _image(sample: RawSample, indexed: str, place: str) -> bytes:
    """Return the image file of a sample after checking it against the indexed digest."""
    if sample.fault is not None:
        raise Unusable(sample.fault, sample.detail)
    image = first_image(sample.members)
    if image is None:
        raise Unusable(NO_IMAGE)
    digest = hashlib.sha256(image).hexdigest()
    if digest != indexed:
        raise InputError(
            f"{place}: the image is {digest[:12]}..., but {indexed[:12]}... in the index. The tar "
            "was changed after indexing: index it again."
        )
    return image


class _Known:
    """The text of each image of some samples, from the memory or read now, each image once."""

    def __init__(
        self,
        samples: pa.Table,
        memory: SpotMemory,
        texts: Callable[[pa.Table], Iterator[_Text]],
        workers: int,
    ) -> None:
        digests = samples["image_sha256"].to_pylist()
        self._memory, self._places = memory, memory.locate(set(digests))
        self._first: dict[str, int] = {}
        for at, digest in enumerate(digests):
            self._first.setdefault(digest, at)
        unread = [at for digest, at in self._first.items() if digest not in self._places]
        # other texts may exceed what `take` can join
        self._samples, self._texts = samples.select(["shard", "row", "key", "image_sha256"]), texts
        self._read = spread(
            lambda some: texts(self._samples.take(pa.array([unread[at] for at in some]))),
            len(unread),
            workers=workers,
            each=WORTH_A_PROCESS,
        )
        self._repeated = {digest for digest, count in Counter(digests).items() if count > 1}
        self._held: dict[str, _Text] = {}  # repeated images that were read here
        self.remembered = sum(digest in self._places for digest in digests)

    def recall(self, digests: Sequence[str]) -> dict[str, list[Span]]:
        """Return the memory's results for these images."""
        found: dict[str, list[Span]] = {}
        for _ in range(2):  # a file that another process joined to others is looked for again
            left = {each for each in digests if each in self._places and each not in found}
            found |= self._memory.read({each: self._places[each] for each in left})
            if lost := left - found.keys():
                self._places |= self._memory.locate(lost)
        return found

    def read(self, digest: str) -> _Text:
        """Return the text of an image missing from the memory; call it in the samples' order."""
        if digest in self._held:
            return self._held[digest]
        if digest in self._places:  # the memory has lost it
            (text,) = self._texts(self._samples.slice(self._first[digest], 1))
        else:
            text = next(self._read)
        assert text.digest == digest, "images are read in the order in which they are asked for"
        if not text.fault:
            self._memory.add(digest, text.spans)
        if digest in self._repeated:
            self._held[digest] = text
        return text


def _shard_spans(
    number: int,
    rows: Sequence[_Row],
    known: _Known,
    drops: Drops,
    progress: Progress,
    done: int,
) -> pa.Table:
    found = known.recall([row.digest for row in rows])
    spans: list[tuple[int, int, list[Span]]] = []
    for at, row in enumerate(rows, 1):
        if row.digest in found:
            spans.append((number, row.row, found[row.digest]))
            continue
        text = known.read(row.digest)
        if text.fault:
            drops.add(number, row.row, row.key, text.fault, text.detail)
        else:
            spans.append((number, row.row, text.spans))
        progress.note(done + at, f"{known.remembered} known before")
    progress.note(done + len(rows), f"{known.remembered} known before")
    return spans_table(spans)


def _rows_by_shard(samples: pa.Table) -> dict[int, list[_Row]]:
    assert np.all(np.diff(sample_addresses(samples)) > 0), "samples come sorted by (shard, row)"
    rows: dict[int, list[_Row]] = {}
    columns = (samples[name].to_pylist() for name in ("shard", "row", "key", "image_sha256"))
    for shard, *fields in zip(*columns, strict=True):
        rows.setdefault(shard, []).append(_Row(*fields))
    return rows
