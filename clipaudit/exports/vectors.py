"""Makes columns of embeddings: a float32 vector for each sample that an encoder embedded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Bool, Float32

from clipaudit.corpora.addresses import sample_addresses
from clipaudit.corpora.vectors import embedding_array
from clipaudit.store.parquet import read_range

ROWS_AT_ONCE = 8192  # held with vectors, and per row group: 32 MB at 1,024 dimensions


@dataclass(frozen=True)
class VectorColumn:
    """The embeddings of one encoder: the column, and by corpus the files with their shards."""

    field: pa.Field
    files: Mapping[str, Sequence[tuple[Path, range]]]

    @classmethod
    def described(
        cls, name: str, encoder: str, files: Mapping[str, Sequence[Path]]
    ) -> "VectorColumn":
        """Return the column of this name, with the length of the stored vectors."""
        first = next(paths[0] for paths in files.values())
        length = pq.read_schema(first).field("embedding").type.byte_width // 2
        meaning = f"embedding of the image by encoder {encoder}, of unit length"
        field = pa.field(name, pa.list_(pa.float32(), length), metadata={"meaning": meaning})
        ranges = {
            corpus: [(path, _shards(path)) for path in paths] for corpus, paths in files.items()
        }
        return cls(field, ranges)

    def of(self, corpus: str, rows: pa.Table) -> pa.Array:
        """Return the vectors of a corpus's rows, ordered by (shard, row); null if missing."""
        length = self.field.type.list_size
        vectors: Float32[np.ndarray, "n d"] = np.zeros((len(rows), length), np.float32)
        known: Bool[np.ndarray, " n"] = np.zeros(len(rows), bool)
        places = sample_addresses(rows)
        first, last = rows["shard"][0].as_py(), rows["shard"][-1].as_py()
        for path, shards in self.files.get(corpus, ()):
            if shards.start > last or shards.stop <= first:
                continue
            for stored in read_range(path, "shard", first, last):
                addresses = sample_addresses(stored)
                at = np.searchsorted(places, addresses).clip(max=len(places) - 1)
                found = places[at] == addresses
                vectors[at[found]] = embedding_array(stored, str(path))[found]
                known[at[found]] = True
        values = pa.array(vectors.reshape(-1))
        return pa.FixedSizeListArray.from_arrays(values, length, mask=pa.array(~known))


def _shards(path: Path) -> range:
    """Return the shards from the first to the last of a file's rows, by its statistics."""
    metadata = pq.read_metadata(path)
    place = metadata.schema.to_arrow_schema().names.index("shard")
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    statistics = [group.column(place).statistics for group in groups]
    return range(min(each.min for each in statistics), max(each.max for each in statistics) + 1)
