"""The text in the pictures of samples, by any spotter, no picture being read twice.

A picture is known by its bytes. What was read in it, for any row of any corpus, stays in the
memory; only the others are opened and given to the spotter, which is loaded for the first of them.
"""

import hashlib
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from clipaudit.parrot.spans import Span, pictures_without_text, spans_table
from clipaudit.parrot.spot_memory import SpotMemory
from clipaudit.progress import Progress

NOT_SPOTTED = "text spotting failed"  # a reason in drops: the engine fails on this picture

_log = logging.getLogger(__name__)


class Spotter(Protocol):
    """Reads the text in pictures."""

    @property
    def recipe(self) -> Mapping[str, object]:
        """All that what it reads depends on: settings, versions, weights; values for JSON."""

    def spot(self, pixels: UInt8[np.ndarray, "h w 3"]) -> list[Span]:
        """Return the text of an RGB picture in reading order; raises Unusable if it cannot."""


class _Row(NamedTuple):
    row: int
    key: str
    digest: str  # SHA-256 of the image's bytes, in hex


def spot_text(
    shards: Sequence[tuple[int, Path]],
    samples: pa.Table,
    make_spotter: Callable[[], Spotter],
    memory: SpotMemory,
    *,
    drops: Drops,
) -> Iterator[pa.Table]:
    """Yield the SPANS of the rows in `samples`, one table a shard, ordered as these are.

    `shards` gives each shard number's tar, ascending; `samples` are SAMPLES. Rows whose picture
    cannot be decoded, or on which the spotter fails, are added to `drops` instead: rows in
    `samples` = rows out + drops. Rows whose picture is in `memory` are not read. `make_spotter`
    is called once, or never if memory has all. What is read is in `memory` when the last table
    has been taken, and in good part when the work is killed before. Raises InputError for a tar
    that is not the one that was indexed.
    """
    rows = _rows_by_shard(samples)
    missing = rows.keys() - {number for number, _ in shards}
    assert not missing, f"no path for shards {sorted(missing)}"
    work = _Work(samples["image_sha256"].to_pylist(), make_spotter, memory)
    progress = Progress(_log, "spotting text", total=len(samples), unit="pictures")
    done = bare = 0
    try:
        for number, path in shards:
            if number not in rows:
                continue
            table = _shard_spans(number, path, rows[number], work, drops, progress, done)
            yield table
            done += len(rows[number])
            bare += pictures_without_text(table)
    finally:
        memory.flush()
    memory.settle()
    _log.info("%d of %d pictures show no text, %d were known", bare, done, work.remembered)


class _Work:
    """Looks pictures up, and has the spotter read those that nobody knows."""

    def __init__(
        self, digests: Sequence[str], make_spotter: Callable[[], Spotter], memory: SpotMemory
    ) -> None:
        self.remembered = 0
        self._make_spotter = make_spotter
        self._spotter: Spotter | None = None
        self._memory = memory
        self._places = memory.locate(set(digests))
        self._repeated = {digest for digest, count in Counter(digests).items() if count > 1}
        self._fresh: dict[str, list[Span]] = {}  # of the repeated ones, what was read here

    def known(self, digests: Sequence[str]) -> dict[str, list[Span]]:
        """Return what is known of these pictures."""
        places = {each: self._places[each] for each in digests if each in self._places}
        fresh = {each: self._fresh[each] for each in digests if each in self._fresh}
        return self._memory.read(places) | fresh

    def spans(self, sample: RawSample, wanted: _Row, place: str) -> list[Span]:
        """Return the text of a picture nobody knew before its shard; raises Unusable."""
        if sample.fault is not None:
            raise Unusable(sample.fault, sample.detail)
        image = first_image(sample.members)
        if image is None:
            raise Unusable(NO_IMAGE)
        digest = hashlib.sha256(image).hexdigest()
        if digest != wanted.digest:
            raise InputError(
                f"{place}: the image is {digest[:12]}..., but {wanted.digest[:12]}... in the "
                "index. The tar was changed after indexing: index it again."
            )
        if digest in self._fresh:
            self.remembered += 1
            return self._fresh[digest]
        spans = self._read(image)
        self._memory.add(digest, spans)
        if digest in self._repeated:
            self._fresh[digest] = spans
        return spans

    def _read(self, image: bytes) -> list[Span]:
        picture = open_picture(image)
        if self._spotter is None:
            self._spotter = self._make_spotter()
        return self._spotter.spot(np.asarray(picture.rgb))


def _shard_spans(
    number: int,
    path: Path,
    rows: Sequence[_Row],
    work: _Work,
    drops: Drops,
    progress: Progress,
    done: int,
) -> pa.Table:
    known = work.known([row.digest for row in rows])
    found = {row.row: known[row.digest] for row in rows if row.digest in known}
    work.remembered += len(found)
    unknown = {row.row: row for row in rows if row.digest not in known}
    handled = len(found)
    read = 0
    for sample in raw_samples(path, unknown.__contains__) if unknown else ():
        wanted = unknown[sample.row]
        read += 1
        try:
            found[sample.row] = work.spans(sample, wanted, f"{path}, row {sample.row}")
        except Unusable as error:
            drops.add(number, sample.row, wanted.key, error.reason, error.detail)
        progress.note(done + handled + read, f"{work.remembered} known before")
    if read != len(unknown):
        raise InputError(
            f"{path}: the index has {len(unknown)} samples of it that are not all in the file "
            f"({read} are). It was changed after indexing: index it again."
        )
    if not unknown:
        progress.note(done + handled, f"{work.remembered} known before")
    return spans_table((number, row.row, found[row.row]) for row in rows if row.row in found)


def _rows_by_shard(samples: pa.Table) -> dict[int, list[_Row]]:
    assert np.all(np.diff(sample_addresses(samples)) > 0), "samples come sorted by (shard, row)"
    rows: dict[int, list[_Row]] = {}
    columns = (samples[name].to_pylist() for name in ("shard", "row", "key", "image_sha256"))
    for shard, *fields in zip(*columns, strict=True):
        rows.setdefault(shard, []).append(_Row(*fields))
    return rows
