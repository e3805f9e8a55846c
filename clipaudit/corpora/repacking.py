"""Repacks a small set of a large corpus into its own shards, so that the others need not be read.

Reading 3 million samples out of 231,350 tars takes, in every epoch, a walk through the headers of
all of them. Here each tar is read once for all sets (`collect`), and each set is written once in a
random order (`repack`). Members keep their bytes and get plain headers; a sample is named by its
address in the corpus, `000012-000345` for row 345 of shard 12. A set may be changed on the way: its
captions go to other samples (`swapped`), or its images are replaced (`change`).

No sample is dropped: one that cannot be read raises InputError, since the index has read it before.
"""

import hashlib
import io
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Int32, Int64

from clipaudit.corpora.addresses import sample_address, sample_addresses, shards_and_rows
from clipaudit.corpora.keptsamples import END_OF_ARCHIVE, KeptSample
from clipaudit.corpora.places import places
from clipaudit.corpora.sealed import ShardToSeal
from clipaudit.corpora.shards import IMAGE_EXTENSIONS, as_raw, sample_groups, tar_groups
from clipaudit.corpora.tarmembers import BLOCK, TarReader, member_head
from clipaudit.errors import InputError

SHARD_SAMPLES = 10_000  # of a repacked shard at most, as img2dataset's have
FEW_SAMPLES = 100  # of a repacked shard at least
SHARDS = 256  # of a set, between these bounds: decoding processes need a shard each
_SAMPLES_AT_ONCE = 256  # held in memory while they are changed: memory, never results

# Where the samples of sets are in a collected file; one row per set and sample.
COLLECTED = pa.schema(
    [
        pa.field("curated", pa.string(), nullable=False),  # the set
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("start", pa.int64(), nullable=False),  # byte at which the sample begins
        pa.field("length", pa.int64(), nullable=False),  # in bytes, headers and padding included
        pa.field("caption", pa.int64(), nullable=False),  # equal captions are equal numbers
    ]
)

# Where each sample of a repacked set comes from; by (shard, row).
SOURCES = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),  # of the repacked set
        pa.field("row", pa.int32(), nullable=False),
        pa.field("source_shard", pa.int32(), nullable=False),  # of the corpus: the image
        pa.field("source_row", pa.int32(), nullable=False),
        pa.field("caption_shard", pa.int32(), nullable=False),  # and the caption
        pa.field("caption_row", pa.int32(), nullable=False),
    ]
)

Change = Callable[[int, bytes], bytes]  # of an image: its sample's address, its file -> a new file
Write = Callable[[str, Iterable[bytes]], str]  # of a shard: its name, its blocks -> their SHA-256

_log = logging.getLogger(__name__)


class Collection:
    """The samples of a part that some sets keep, read from its tars in one pass.

    `shards` gives each shard number's tar, ascending; `members` the samples of each set by its
    name, tables with the columns shard and row; `samples` are the SAMPLES of the part.
    """

    def __init__(
        self,
        shards: Sequence[tuple[int, Path]],
        members: Mapping[str, pa.Table],
        samples: pa.Table,
    ) -> None:
        """Find the wanted rows; read no tar yet."""
        self._shards = shards
        self._members = {name: np.sort(sample_addresses(each)) for name, each in members.items()}
        self._wanted = np.unique(np.concatenate([np.zeros(0, np.int64), *self._members.values()]))
        addresses = sample_addresses(samples)
        lost = np.setdiff1d(self._wanted, addresses)
        assert not len(lost), "sets are made of samples"
        own = samples.filter(pa.array(np.isin(addresses, self._wanted)))
        self._captions = own["caption"].take(pa.array(np.argsort(sample_addresses(own))))
        self._ends: list[int] = []

    def blocks(self) -> Iterator[bytes]:
        """Yield a tar of the samples, by address; raise InputError if one is not in its own tar."""
        at, numbers = 0, self._wanted >> 32
        for number, path in self._shards:
            rows = shards_and_rows(self._wanted[numbers == number])[1]
            if not len(rows):
                continue
            found = 0
            for group in sample_groups(path, set(rows.tolist()).__contains__):
                if group.fault is not None:
                    raise _strange(path, f"row {group.row}: {group.fault}")
                found += 1
                for block in KeptSample(group, None).renamed(_name(number, group.row)):
                    at += len(block)
                    yield block
                self._ends.append(at)
            if found != len(rows):
                raise _strange(path, f"has {found} of the {len(rows)} samples that sets keep")
        yield END_OF_ARCHIVE

    def table(self) -> pa.Table:
        """Return the COLLECTED of the samples that `blocks` yielded, by set, in address order."""
        assert len(self._ends) == len(self._wanted), "blocks were yielded to the end"
        bounds = np.array([0, *self._ends], np.int64)
        captions = np.array([_number(each) for each in self._captions.to_pylist()], np.int64)
        tables = [COLLECTED.empty_table()]
        for name, members in self._members.items():
            at = np.searchsorted(self._wanted, members)
            columns = [
                pa.array([name] * len(members), pa.string()),
                *map(pa.array, shards_and_rows(members)),
                *map(pa.array, (bounds[at], bounds[at + 1] - bounds[at], captions[at])),
            ]
            tables.append(pa.Table.from_arrays(columns, schema=COLLECTED))
        return pa.concat_tables(tables)


def _strange(path: Path, found: str) -> InputError:
    return InputError(f"{path}: {found}. Index the shard again, or put back the one indexed.")


def _name(shard: int, row: int) -> str:
    return f"{shard:06d}-{row:06d}"


def _number(caption: str | None) -> int:
    digest = hashlib.sha256((caption or "").encode("utf-8")).digest()
    return int.from_bytes(digest[:8], "little") >> 1  # fits a signed number


@dataclass(frozen=True)
class Repacked:
    """The result of repacking a set: its shards in order, and its SOURCES."""

    shards: list[ShardToSeal]
    sources: pa.Table


def repack(
    collected: Sequence[tuple[Path, pa.Table]],
    write: Write,
    *,
    seed: int,
    swapped: bool = False,
    change: Change | None = None,
    workers: int = 1,
) -> Repacked:
    """Write a set in a random order as shards `shards/00000`, ...; return their content.

    `collected` are the files of `Collection.blocks`, each with the COLLECTED rows of this set. The
    order, and with it every byte, depends only on the samples, their addresses and `seed`, not on
    how the corpus is cut into parts nor on `workers`. With `swapped`, all members except the images
    come from another sample of the set, see `other_captions`. `change` makes a new file of each
    image; `workers` threads call it.

    Each shard has `shard_samples` samples, the last one the rest; a set without samples has no
    shards. Memory: some 100 bytes per sample of the set, and some hundred samples.
    """
    members = _Members([path for path, _ in collected], [table for _, table in collected])
    order = np.argsort(places(members.shards, members.rows, seed=seed))
    words = np.arange(len(order))
    if swapped:
        words = other_captions(members.shards, members.rows, members.captions, seed=seed)

    def sample(at: int) -> bytes:
        return members.sample(at, int(words[at]), change)

    def blocks(own: Int64[np.ndarray, " n"], threads: ThreadPoolExecutor) -> Iterator[bytes]:
        for first in range(0, len(own), _SAMPLES_AT_ONCE):
            yield from threads.map(sample, own[first : first + _SAMPLES_AT_ONCE].tolist())
        yield END_OF_ARCHIVE

    size = shard_samples(len(order))
    shards: list[ShardToSeal] = []
    with ThreadPoolExecutor(workers) as threads:
        for first in range(0, len(order), size):
            own = order[first : first + size]
            digest = write(f"shards/{len(shards):05d}", blocks(own, threads))
            bitmap = np.packbits(np.ones(len(own), bool), bitorder="little").tobytes()
            shards.append(ShardToSeal(digest, len(own), bitmap))
            _log.info("%d of %d samples repacked", first + len(own), len(order))
    columns = [
        *np.divmod(np.arange(len(order)), size),
        *(
            numbers[at]
            for at in (order, words[order])
            for numbers in (members.shards, members.rows)
        ),
    ]
    arrays = [pa.array(column, pa.int32()) for column in columns]
    return Repacked(shards, pa.Table.from_arrays(arrays, schema=SOURCES))


def shard_samples(samples: int) -> int:
    """Return how many samples each shard has, for a set of `samples` samples.

    >>> [shard_samples(samples) for samples in (0, 500, 100_000, 3_000_000)]
    [100, 100, 391, 10000]
    """
    return min(max(-(-samples // SHARDS), FEW_SAMPLES), SHARD_SAMPLES)


def other_captions(
    shards: Int32[np.ndarray, " n"],
    rows: Int32[np.ndarray, " n"],
    captions: Int64[np.ndarray, " n"],
    *,
    seed: int,
) -> Int64[np.ndarray, " n"]:
    """Return a permutation: for each sample, the one whose caption it gets.

    Equal `captions` are equal numbers. No sample gets a caption equal to its own, unless more than
    half of all samples share one: then as few as possible do. The result depends on the samples and
    `seed`, not on their order.
    """
    low, high = (captions & 0x7FFFFFFF).astype(np.int32), (captions >> 32).astype(np.int32)
    # equal captions are adjacent: a step as long as their longest run leaves every run
    among = np.lexsort(
        (places(shards, rows, seed=seed + 1), captions, places(high, low, seed=seed + 1))
    )
    runs = np.unique(captions, return_counts=True)[1]
    found = np.empty(len(among), np.int64)
    found[among] = np.roll(among, -int(runs.max(initial=0)))
    return found


class _Members:
    """The samples of a set, numbered over all collected files."""

    def __init__(self, files: Sequence[Path], tables: Sequence[pa.Table]) -> None:
        members = pa.concat_tables([COLLECTED.empty_table(), *tables])
        self._files = files
        self._file = np.repeat(np.arange(len(files)), [len(table) for table in tables])
        self._starts, self._lengths = (members[name].to_numpy() for name in ("start", "length"))
        self.shards, self.rows = (members[name].to_numpy() for name in ("shard", "row"))
        self.captions = members["caption"].to_numpy()

    def sample(self, at: int, words: int, change: Change | None) -> bytes:
        """Return the blocks of a sample, with all members except images from sample `words`."""
        own = self._stored(at)
        if words == at and change is None:
            return own
        shard, row = int(self.shards[at]), int(self.rows[at])
        images = _split(own)[0]
        if change is not None:
            # the others are read by no step, and show what the change removes
            name = next(each for each in IMAGE_EXTENSIONS if each in images)
            images = {name: change(sample_address(shard, row), images[name])}
        others = _split(own if words == at else self._stored(words))[1]
        return b"".join(
            member_head(f"{_name(shard, row)}.{extension}".encode(), len(data))
            + data
            + bytes(-len(data) % BLOCK)
            for extension, data in (images | others).items()
        )

    def _stored(self, at: int) -> bytes:
        path = self._files[self._file[at]]
        try:
            with open(path, "rb") as file:
                file.seek(self._starts[at])
                return file.read(self._lengths[at])
        except OSError as error:
            raise InputError(
                f"{path}: reading failed: {error}. Check the disk, then rerun."
            ) from error


def _split(blocks: bytes) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Return the members of a sample by extension: its images, and all others."""
    tar = TarReader(io.BytesIO(blocks + END_OF_ARCHIVE), len(blocks) + len(END_OF_ARCHIVE))
    members = as_raw(next(tar_groups(tar, Path("collected"), None))).members
    images = {name: data for name, data in members.items() if name in IMAGE_EXTENSIONS}
    return images, {name: data for name, data in members.items() if name not in images}


def repacked_rows(table: pa.Table, sources: pa.Table) -> pa.Table:
    """Return a table of samples of the corpus by their addresses in the repacked set, ascending.

    `sources` are the SOURCES of the set; rows of other samples are left out.
    """
    known = sample_addresses(sources, "source_shard", "source_row")
    found = pc.index_in(pa.array(known), value_set=pa.array(sample_addresses(table)))
    own = sources.filter(pc.is_valid(found))
    rows = table.take(pc.drop_null(found))
    for name in ("shard", "row"):
        rows = rows.set_column(rows.column_names.index(name), table.schema.field(name), own[name])
    return rows
