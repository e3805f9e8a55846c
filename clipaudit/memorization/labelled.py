"""Look up images and the labels of their objects by address."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from jaxtyping import Int32, Int64

from clipaudit.corpora.addresses import sample_addresses, shard_row
from clipaudit.errors import StoreError


@dataclass(frozen=True, eq=False)
class LabelledImages:
    """Images by rising address; the labels of image i are values[starts[i]:starts[i + 1]]."""

    addresses: Int64[np.ndarray, " n"]
    starts: Int64[np.ndarray, " n_and_1"]
    values: Int32[np.ndarray, " labels"]

    @classmethod
    def of(cls, table: pa.Table, name: str) -> "LabelledImages":
        """Read a table sorted by (shard, row), in messages called `name`; null means no labels."""
        addresses = sample_addresses(table)
        _check_order(addresses, name)
        # Chunk by chunk, since a joined list column may exceed its int32 offsets.
        chunks = table["labels"].chunks
        lengths = [np.asarray(part.value_lengths().fill_null(0)) for part in chunks]
        values = [part.flatten().to_numpy(zero_copy_only=False) for part in chunks]
        none = np.empty(0, dtype=np.int32)
        starts = np.cumsum(np.concatenate([[0], *lengths]), dtype=np.int64)
        return cls(addresses, starts, np.concatenate([none, *values]).astype(np.int32, copy=False))

    def labels(
        self, images: Int64[np.ndarray, " m"]
    ) -> tuple[Int64[np.ndarray, " found"], Int64[np.ndarray, " found"]]:
        """Return all labels of m images: for each its image's place among the m, and the label."""
        first, lengths = self.starts[images], self.starts[images + 1] - self.starts[images]
        holder = np.repeat(np.arange(len(images)), lengths)
        before = np.cumsum(lengths) - lengths  # labels of the images before
        places = np.arange(len(holder)) + (first - before)[holder]
        return holder, self.values[places].astype(np.int64)


def places_among(
    addresses: Int64[np.ndarray, " n"], wanted: Int64[np.ndarray, " m"], what: str, table: str
) -> Int64[np.ndarray, " m"]:
    """Return the place of each wanted address among sorted ones."""
    places = np.searchsorted(addresses, wanted)
    known = places < len(addresses)
    known[known] = addresses[places[known]] == wanted[known]
    if not known.all():
        shard, row = shard_row(int(wanted[np.argmin(known)]))
        raise StoreError(
            f"{what} (shard, row) ({shard}, {row}): not among the {len(addresses)} images of "
            f"{table} with labels; annotate and search the same samples again"
        )
    return places


def _check_order(addresses: Int64[np.ndarray, " n"], name: str) -> None:
    wrong = np.flatnonzero(np.diff(addresses) <= 0)
    if len(wrong):
        pair = [shard_row(int(address)) for address in addresses[wrong[0] : wrong[0] + 2]]
        raise StoreError(
            f"labels of {name}: (shard, row) {pair[0]} and then {pair[1]}; they must be sorted by "
            "(shard, row) without repetition, so run the annotation of this part again"
        )
