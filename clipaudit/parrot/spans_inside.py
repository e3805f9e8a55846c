"""Drops images whose text, spotted elsewhere, is placed outside them.

Such places are often in pixels of the original image, which was made smaller since.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float32

from clipaudit.corpora.drops import Drops
from clipaudit.errors import InputError
from clipaudit.plaindata import Row
from clipaudit.plaintext import plain

Corners = Float32[np.ndarray, "n 2"]

OUTSIDE = "span outside the image"  # a reason in drops
MAY_BE_OUTSIDE = 0.01  # of images with text; more are spans of another size, not strays


def spans_inside(found: pa.Table, samples: pa.Table, *, drops: Drops) -> pa.Table:
    """Return the SPANS of the images without a span entirely outside; the others go to `drops`.

    `samples` are the images of `found`, row by row, with their key, width and height. Raises
    InputError if more than MAY_BE_OUTSIDE of the images with text have a span outside.
    """
    spans = found["spans"].combine_chunks()
    sizes = np.column_stack([samples[side].to_numpy() for side in ("width", "height")])
    owners = pc.list_parent_indices(spans).to_numpy()
    low, high = _bounds(spans.flatten().field("polygon"))
    beyond = ((high < 0) | (low > sizes[owners])).any(axis=1)
    outside = np.zeros(len(found), bool)
    outside[owners[beyond]] = True
    if outside.sum() > MAY_BE_OUTSIDE * len(np.unique(owners)):
        at = int(np.argmax(beyond))
        raise InputError(
            f"{outside.sum()} of {len(np.unique(owners))} images with text have spans outside the "
            f"image, first {_shown(spans.flatten()[at].as_py(), samples, int(owners[at]))}. Give "
            "places in pixels of the stored image (docs/imports.md), or remove these spans."
        )
    for row in samples.filter(pa.array(outside)).select(["shard", "row", "key"]).to_pylist():
        drops.add(row["shard"], row["row"], row["key"], OUTSIDE)
    return found.filter(pa.array(~outside))


def _bounds(polygons: pa.Array) -> tuple[Corners, Corners]:
    """Return the least and the greatest x and y of each polygon."""
    corners = polygons.flatten().to_numpy(zero_copy_only=False).reshape(-1, 2)
    numbers = pc.list_value_length(polygons).to_numpy(zero_copy_only=False) // 2
    starts = (np.cumsum(numbers) - numbers).astype(np.int64)
    return np.minimum.reduceat(corners, starts), np.maximum.reduceat(corners, starts)


def _shown(span: Row, samples: pa.Table, at: int) -> str:
    row = samples.slice(at, 1).to_pylist()[0]
    return (
        f"shard {row['shard']}, row {row['row']}, key {plain(str(row['key']))!r}: "
        f"{plain(span['text'])!r:.60} at {span['polygon']} in an image of {row['width']} x "
        f"{row['height']} pixels"
    )
