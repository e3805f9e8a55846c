"""Finds pairs of images that may be copies: by digests, hashes, thumbnails or an encoder.

Each way adds pairs; a pair that several ways find is one row. `copies.verification` later decides
by their pixels which pairs are copies.

Near pairs of blank images, or of a placeholder that many pages show, grow with the product of both
sides, but only MOST of each training image count. So if a way finds more than ROOM pairs, the
training images are searched for in halves. This changes no candidate: those of a training image do
not depend on other training images. Each way on its own could not keep the nearest ones: equal
distances are ordered by what the other ways find.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float16, Int64

from clipaudit.copies.fixed import MOST
from clipaudit.copies.hashing import LOW_QUALITY, hash_array, thumbnail_array
from clipaudit.copies.search import Pairs, hash_pairs, thumbnail_pairs
from clipaudit.copies.views import HALVES, TRIMMED, WHOLE
from clipaudit.corpora.addresses import sample_addresses, shards_and_rows

# Squared distance of thumbnails: 1.7 of 127 in each of the 192 colours. Of 100 flat drawings, 95
# stay within it after JPEG at quality 10, at a quarter of the size, with noise of 8 levels, or
# cropped to 95 %. None of the 30,000 further candidates that 5 of 127 let in was a copy.
THUMBNAIL_DISTANCE = 192 * 3
ROOM = 1_000_000  # pairs that one way may find at once: about 250 MB with the joins
FAR = np.iinfo(np.int16).max  # the distance of a pair that no hash found

CANDIDATES = pa.schema(
    [
        # the image that is searched for, and the training image
        pa.field("other_shard", pa.int32(), nullable=False),
        pa.field("other_row", pa.int32(), nullable=False),
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("same_bytes", pa.bool_(), nullable=False),
        pa.field("same_pixels", pa.bool_(), nullable=False),
        pa.field("distance", pa.int16()),  # of the nearest two views, in bits; null: beyond
        pa.field("view", pa.string()),  # of the image that is searched for
        pa.field("thumbnail_distance", pa.int32()),  # squared; null: beyond, or not compared
        pa.field("similarity", pa.float64()),  # by an encoder; null: below, or not compared
        pa.field("encoder", pa.string()),
    ]
)
_KEYS = ["other", "own"]  # addresses

_log = logging.getLogger(__name__)


class _TooManyPairs(Exception):
    """A way of search found more pairs than it may."""


class Described(NamedTuple):
    """The IMAGES and the HASHES of some samples."""

    images: pa.Table
    hashes: pa.Table


@dataclass(frozen=True)
class Embedded:
    """Embeddings by one encoder, with the addresses of both sides, and the lowest similarity."""

    encoder: str
    others: tuple[Int64[np.ndarray, " n"], Float16[np.ndarray, "n d"]]
    own: tuple[Int64[np.ndarray, " m"], Float16[np.ndarray, "m d"]]
    similarity: float


def find_candidates(
    others: Described,
    own: Described,
    *,
    distance: int | None,
    embedded: Iterable[Embedded] = (),
    within: bool = False,
) -> pa.Table:
    """Return CANDIDATES between images that are searched for and training images.

    `distance` is the largest between two hashes; if it is None, hashes find nothing. Hashes of a
    quality below LOW_QUALITY are not compared; if either image is so flat, thumbnails are compared.
    With `within`, both sides are of one corpus, `others` is all of it up to the last of `own`, and
    each pair is a training image and an earlier one. The first of several images with equal pixels
    then represents them all: the others are paired only with it. The MOST nearest others of each
    training image are kept: equal pixels first, then the nearest by hash, thumbnail, similarity and
    address. Pairs are ordered by training address, then other address.
    """
    search = _Search(others, own, own.images, tuple(embedded), distance)
    if within:
        first = first_of_equals(others.images)
        search = replace(search, others=_only(others, first), own=_only(own, first), first=first)
    found = list(_in_parts(search, np.sort(sample_addresses(own.images))))
    left_out = sum(missed for _, missed in found)
    if left_out:
        _log.warning(
            "%d candidates left out: an image has more than %d; only the nearest are compared",
            left_out,
            MOST,
        )
    return pa.concat_tables([nearest for nearest, _ in found])


@dataclass(frozen=True, eq=False)
class _Search:
    """Both sides of a search."""

    others: Described
    own: Described
    whole: pa.Table  # IMAGES of all training images; `own` may be only the first of equals
    embedded: Sequence[Embedded]
    distance: int | None
    first: Int64[np.ndarray, " n"] | None = None  # the first of equals, for a search within

    def of(self, wanted: Int64[np.ndarray, " n"]) -> "_Search":
        """Return the search for only these training images."""
        embedded = []
        for each in self.embedded:
            addresses, vectors = each.own
            kept = np.isin(addresses, wanted)
            embedded.append(replace(each, own=(addresses[kept], vectors[kept])))
        return replace(
            self,
            own=_only(self.own, wanted),
            whole=_rows_of(self.whole, wanted),
            embedded=embedded,
        )

    def pairs(self, room: int | None) -> pa.Table:
        """Return all pairs; raise _TooManyPairs if a way finds more than `room`."""
        others, own = self.others, self.own
        found = [
            _same(others.images, self.whole, "image_sha256", "same_bytes", room),
            _same(others.images, self.whole, "pixels_sha256", "same_pixels", room),
            _near_thumbnails(others.images, own.images, room),
        ]
        if self.distance is not None:
            found.append(_near_hashes(others.hashes, own.hashes, self.distance, room))
        found += [_similar(each, room) for each in self.embedded]
        joined = reduce(_join, found)
        if self.first is None:
            return joined
        return _of_firsts(joined, self.first).filter(pc.less(pc.field("other"), pc.field("own")))


def _in_parts(
    search: _Search, addresses: Int64[np.ndarray, " n"]
) -> Iterator[tuple[pa.Table, int]]:
    """Yield the nearest candidates of training images, and how many others there were.

    `addresses` are those of the training images, ascending.
    """
    try:
        pairs = search.pairs(ROOM if len(addresses) > 1 else None)
    except _TooManyPairs:
        pairs = None  # the halves are not searched here, where the exception holds what was found
    if pairs is not None:
        yield _nearest(_as_candidates(pairs))
        return
    for half in np.array_split(addresses, 2):
        yield from _in_parts(search.of(half), half)


def first_of_equals(images: pa.Table) -> Int64[np.ndarray, " n"]:
    """Return, ascending, the lowest address among the IMAGES with the same pixels."""
    addresses = pa.table({"digest": images["pixels_sha256"], "address": sample_addresses(images)})
    lowest = addresses.group_by("digest").aggregate([("address", "min")])["address_min"]
    return np.sort(lowest.to_numpy())


def _of_firsts(pairs: pa.Table, first: Int64[np.ndarray, " n"]) -> pa.Table:
    """Return pairs of first images, and pairs of an image with the first of the same pixels.

    Encoders also propose other pairs.
    """
    other, own = (pc.is_in(pairs[name], value_set=pa.array(first)) for name in _KEYS)
    equal = pc.fill_null(pairs["same_pixels"], False)
    return pairs.filter(pc.and_(other, pc.or_(own, equal)))


def _only(described: Described, addresses: Int64[np.ndarray, " n"]) -> Described:
    return Described(*(_rows_of(table, addresses) for table in described))


def _rows_of(table: pa.Table, addresses: Int64[np.ndarray, " n"]) -> pa.Table:
    return table.filter(pa.array(np.isin(sample_addresses(table), addresses)))


def _join(left: pa.Table, right: pa.Table) -> pa.Table:
    """Join two tables of pairs; the left one's value counts in a column that both have."""
    joined = left.join(right, _KEYS, join_type="full outer", right_suffix="_right")
    for name in [name for name in joined.column_names if name.endswith("_right")]:
        kept = name.removesuffix("_right")
        values = pc.coalesce(joined[kept], joined[name])
        joined = joined.set_column(joined.schema.get_field_index(kept), kept, values).drop([name])
    return joined


def _same(others: pa.Table, own: pa.Table, digest: str, flag: str, room: int | None) -> pa.Table:
    """Return the pairs of equal digests."""
    left = pa.table({"other": sample_addresses(others), "digest": others[digest]})
    right = pa.table({"own": sample_addresses(own), "digest": own[digest]})
    counts = [side.group_by("digest").aggregate([([], "count_all")]) for side in (left, right)]
    both = counts[0].join(counts[1], "digest", join_type="inner", right_suffix="_right")
    numbers = pc.multiply(both["count_all"], both["count_all_right"])
    _check_room(pc.sum(numbers, min_count=0).as_py(), room)
    pairs = left.join(right, "digest", join_type="inner").select(_KEYS)
    return pairs.append_column(flag, pa.repeat(pa.scalar(True), len(pairs)))


def _near_hashes(others: pa.Table, own: pa.Table, distance: int, room: int | None) -> pa.Table:
    """Return the pairs with near hashes, and the view of the nearest; ties: whole, then by name.

    The training image, whole and without its border, is compared with every view of the other image
    except its halves; a half is compared with the same half.
    """
    others, own = (
        each.filter(pc.greater_equal(each["quality"], LOW_QUALITY)) for each in (others, own)
    )
    halves = pa.array(list(HALVES))
    views = own.filter(pc.is_in(own["view"], value_set=pa.array([WHOLE, TRIMMED])))
    sides = [(others.filter(pc.invert(pc.is_in(others["view"], value_set=halves))), views)]
    for name in HALVES:
        sides.append(tuple(each.filter(pc.equal(each["view"], name)) for each in (others, own)))
    pairs = pa.concat_tables([_hash_table(left, right, distance, room) for left, right in sides])
    whole = pc.not_equal(pairs["view"], WHOLE)
    ordered = pairs.append_column("other_view", whole).sort_by(
        [(name, "ascending") for name in (*_KEYS, "distance", "other_view", "view")]
    )
    best = ordered.drop(["other_view"]).take(_first_of_runs(ordered))
    return best.set_column(2, "distance", best["distance"].cast(pa.int16()))


def _hash_table(others: pa.Table, own: pa.Table, distance: int, room: int | None) -> pa.Table:
    found = _collected(hash_pairs(hash_array(others), hash_array(own), distance=distance), room)
    keys = {
        "other": sample_addresses(others)[found.first],
        "own": sample_addresses(own)[found.second],
    }
    return pa.table(keys | {"distance": found.distance, "view": others["view"].take(found.first)})


def _near_thumbnails(others: pa.Table, own: pa.Table, room: int | None) -> pa.Table:
    """Return the pairs with near thumbnails in which either image is too flat for a hash."""
    flat_others = others.filter(pc.less(others["quality"], LOW_QUALITY))
    flat_own = own.filter(pc.less(own["quality"], LOW_QUALITY))
    clear_others = others.filter(pc.greater_equal(others["quality"], LOW_QUALITY))
    found = []
    for left, right in ((flat_others, own), (clear_others, flat_own)):
        near = _collected(
            thumbnail_pairs(
                thumbnail_array(left), thumbnail_array(right), distance=THUMBNAIL_DISTANCE
            ),
            room,
        )
        columns = {
            "other": sample_addresses(left)[near.first],
            "own": sample_addresses(right)[near.second],
            "thumbnail_distance": near.distance,
        }
        found.append(pa.table(columns))
    return pa.concat_tables(found)


def _similar(embedded: Embedded, room: int | None) -> pa.Table:
    """Return the pairs whose exact similarity is at least that of the encoder."""
    from clipaudit.neighbors.range_search import RangeSearch

    (others, left), (own, right) = embedded.others, embedded.own
    floor = float(np.nextafter(embedded.similarity, -np.inf))
    met = np.full(len(right), len(left), np.int64)
    found = RangeSearch(left).pairs(right, met, lambda *_: floor) if len(left) else iter(())
    first, second, similarity = _concatenated(found, (np.int64, np.int64, np.float64), room)
    columns = {"other": others[first], "own": own[second], "similarity": similarity}
    table = pa.table(columns)
    return table.append_column("encoder", pa.repeat(pa.scalar(embedded.encoder), len(table)))


def _collected(blocks: Iterator[Pairs], room: int | None) -> Pairs:
    return Pairs(*_concatenated(blocks, (np.int64, np.int64, np.int32), room))


def _concatenated(
    blocks: Iterable[Sequence[np.ndarray]], kinds: Sequence[type], room: int | None
) -> list[np.ndarray]:
    """Return the columns of blocks of pairs; raise _TooManyPairs if they have more than `room`."""
    found: list[Sequence[np.ndarray]] = [[np.empty(0, kind) for kind in kinds]]
    number = 0
    for block in blocks:
        found.append(block)
        number += len(block[0])
        _check_room(number, room)
    return [np.concatenate(column) for column in zip(*found, strict=True)]


def _check_room(number: int, room: int | None) -> None:
    if room is not None and number > room:
        raise _TooManyPairs


def _first_of_runs(ordered: pa.Table) -> np.ndarray:
    """Return the first row of each run of equal keys."""
    other, own = (ordered[name].to_numpy() for name in _KEYS)
    fresh = np.ones(len(ordered), bool)
    fresh[1:] = (other[1:] != other[:-1]) | (own[1:] != own[:-1])
    return np.flatnonzero(fresh)


def _as_candidates(joined: pa.Table) -> pa.Table:
    """Return joined pairs with all columns of CANDIDATES, and their addresses."""
    other, own = (joined[name].to_numpy() for name in _KEYS)
    other_shard, other_row = shards_and_rows(other)
    shard, row = shards_and_rows(own)
    known = {"other_shard": other_shard, "other_row": other_row, "shard": shard, "row": row}
    columns = dict[str, object](known)
    for field in list(CANDIDATES)[len(known) :]:
        values = pa.nulls(len(joined), field.type)
        if field.name in joined.column_names:
            values = joined[field.name].cast(field.type).combine_chunks()
        columns[field.name] = values if field.nullable else pc.fill_null(values, False)
    return pa.table(columns, schema=CANDIDATES)


def _nearest(candidates: pa.Table) -> tuple[pa.Table, int]:
    """Return the MOST nearest candidates of each training image by address, and how many others."""
    own, other = (
        sample_addresses(candidates),
        sample_addresses(candidates, "other_shard", "other_row"),
    )
    farthest = np.iinfo(np.int32).max
    order = np.lexsort(
        (
            other,
            -pc.fill_null(candidates["similarity"], -2.0).to_numpy(),
            pc.fill_null(candidates["thumbnail_distance"], farthest).to_numpy(),
            pc.fill_null(candidates["distance"], FAR).to_numpy(),
            ~pc.or_(candidates["same_pixels"], candidates["same_bytes"]).to_numpy(),
            own,
        )
    )
    ranks = _ranks(own[order])
    kept = order[ranks < MOST]
    ordered = kept[np.lexsort((other[kept], own[kept]))]
    return candidates.take(ordered), len(order) - len(kept)


def _ranks(keys: Int64[np.ndarray, " n"]) -> Int64[np.ndarray, " n"]:
    """Return the place of each element within its run of equal keys."""
    starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]]) if len(keys) else np.empty(0, int)
    counts = np.diff(np.r_[starts, len(keys)])
    return np.arange(len(keys)) - np.repeat(starts, counts)
