"""The options of galleries: plain values that enter their jobs' keys."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class CorpusTars:
    """The number of a gallery's tars that belong to a corpus."""

    corpus: str
    shards: int


@dataclass(frozen=True)
class Sources:
    """The sources of a gallery's images: the corpora of its tars, in their order.

    Samples of other corpora are shown by uid; all samples are, if `pictures` is false.
    """

    pictures: bool
    tars: tuple[CorpusTars, ...]


@dataclass(frozen=True)
class ShownSet:
    """A corpus, such as a test set, or a set of some of its samples, and its title."""

    title: str
    corpus: str


@dataclass(frozen=True)
class NeighborOptions:
    """The options of a gallery of up to `count` images of each test set, and their neighbours.

    The form is `rows` (a block for each test image, with a row for each set) or `ladder` (test
    images above their nearest neighbours, from the lowest similarity to the highest). `nearer` has
    the positions of two sets: only test images nearer to the first one are taken.
    """

    form: Literal["rows", "ladder"]
    testsets: tuple[ShownSet, ...]
    sets: tuple[ShownSet, ...]
    count: int
    columns: int
    near_duplicate_distance: float | None  # None: a calibration chose it
    seed: int = 0
    nearer: tuple[int, int] | None = None
