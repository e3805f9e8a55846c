"""Writes a shard of a synthetic world: its webdataset tar and its truth table.

The tar's bytes depend only on the members: plain ustar headers, no time, no owner, members in the
order given. The truth table says what was planted, one row per sample, in the order of rows:

* `shard`, `row`, `key`: the sample's address and its name in the tar
* `style`: one of the glyph world's styles; in a digit world `handwritten`, `printed` or `disturbed`
* `labels`: the drawn classes, the image's own first
* `caption`: null if none is written
* `caption_of_row`: the earlier row of this shard whose caption it repeats; null: its own
* `duplicate_of_corpus`, `duplicate_of_shard`, `duplicate_of_row`: the test image that it
  repeats with slight changes; null: none
* `copy_of_row`: the earlier row of this shard whose image it repeats with slight changes, as
  that row stands there, itself a repetition or not; null: none
* `stranger`: whether it shows classes that are not the ordinary ones of its corpus
* `framed`: whether a frame is around it; this and `stranger` are null in a digit world
* `text`: the word written into the image; null: none
* `text_height`: how many pixels high its letters are
* `text_repeats_caption`: whether the caption contains that word
* `scan`: the number of the scan in scikit-learn's `load_digits`; null: not a scan
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import UInt8

from clipaudit.corpora.plain_tars import plain_tar
from clipaudit.demo.png import png_bytes
from clipaudit.store.outputs import replaced

TRUTH = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("key", pa.string(), nullable=False),
        pa.field("style", pa.string(), nullable=False),
        pa.field("labels", pa.list_(pa.field("item", pa.int32(), nullable=False)), nullable=False),
        pa.field("caption", pa.string()),
        pa.field("caption_of_row", pa.int32()),
        pa.field("duplicate_of_corpus", pa.string()),
        pa.field("duplicate_of_shard", pa.int32()),
        pa.field("duplicate_of_row", pa.int32()),
        pa.field("copy_of_row", pa.int32()),
        pa.field("stranger", pa.bool_()),
        pa.field("framed", pa.bool_()),
        pa.field("text", pa.string()),
        pa.field("text_height", pa.int32()),
        pa.field("text_repeats_caption", pa.bool_(), nullable=False),
        pa.field("scan", pa.int32()),
    ]
)


@dataclass(frozen=True)
class Sample:
    """One image with its other members; `truth` lacks only the address.

    Columns of the truth table that `truth` lacks are null.
    """

    pixels: UInt8[np.ndarray, "side side 3"]
    caption: str | None
    label: int | None
    metadata: Mapping[str, object]
    truth: Mapping[str, object]


def write_files(samples: Iterable[Sample], shard: int, tar: Path, truth: Path) -> None:
    """Write both files whole, or leave both unchanged; their folders must exist."""
    rows = []
    with replaced(tar) as tar_part, replaced(truth) as truth_part:
        with plain_tar(tar_part) as add:
            for row, sample in enumerate(samples):
                key = f"{row:06d}"
                for extension, content in _members(sample):
                    add(f"{key}.{extension}", content)
                rows.append({**sample.truth, "shard": shard, "row": row, "key": key})
        pq.write_table(pa.Table.from_pylist(rows, TRUTH), truth_part, compression="zstd")


def _members(sample: Sample) -> Iterator[tuple[str, bytes]]:
    yield "png", png_bytes(sample.pixels)
    if sample.caption is not None:
        yield "txt", sample.caption.encode()
    if sample.label is not None:
        yield "cls", str(sample.label).encode()
    yield "json", json.dumps(dict(sample.metadata), sort_keys=True).encode()
