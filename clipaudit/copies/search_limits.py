"""Derives the limits of a search for candidates from thresholds and the number of images."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from clipaudit.copies.thresholds import ADVISED_DISTANCE, threshold_among
from clipaudit.store.actions import LabelledFile


class Limits(NamedTuple):
    """How near the images of a candidate pair are; None: the method proposes no pair."""

    distance: int | None
    similarity: Mapping[str, float | None]  # by encoder


@dataclass(frozen=True, eq=False)
class Thresholds:
    """The thresholds in the settings, and THRESHOLDS of the methods that are calibrated."""

    distance: int | None
    similarity: Mapping[str, float]
    of_hashes: pa.Table | None = None
    of_encoders: Mapping[str, pa.Table] = field(default_factory=dict)
    by_images: bool = False  # limits follow from the number of images

    def limits(self, images: int | None = None) -> Limits:
        """Return the limits of a search among `images` images; see `threshold_among`."""
        images = images if self.by_images else None
        distance: float | None = self.distance
        if self.of_hashes is not None:
            distance = threshold_among(self.of_hashes, images, advised=ADVISED_DISTANCE)
        similarity = {
            name: threshold_among(each, images) for name, each in self.of_encoders.items()
        }
        return Limits(
            None if distance is None else int(distance), {**self.similarity, **similarity}
        )

    def runs(self, first: int, last: int) -> Iterator[tuple[range, Limits]]:
        """Yield the numbers of images from `first` to `last`, by runs with the same limits.

        More images never give looser limits, so limits that are equal at two numbers are equal
        between them.
        """
        while first <= last:
            limits = self.limits(first)
            stop = first + bisect_left(
                range(first, last + 1), True, key=lambda images: self.limits(images) != limits
            )
            yield range(first, stop), limits
            first = stop


def read_thresholds(
    settings: Mapping[str, Any],
    hashes: Sequence[LabelledFile],
    encoders: Sequence[LabelledFile],
    *,
    by_images: bool = False,
) -> Thresholds:
    """Return the thresholds of a step, whose settings have `distance` and `similarity`.

    `hashes` is the file with THRESHOLDS of hashes, if the distance is calibrated. `encoders` are
    those of the calibrated encoders, labelled with their names.
    """
    tables = [file.table() for file in hashes]
    return Thresholds(
        settings["distance"],
        settings["similarity"],
        tables[0] if tables else None,
        {file.labels["encoder"]: file.table() for file in encoders},
        by_images,
    )
