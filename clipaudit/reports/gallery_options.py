"""What galleries are told besides their inputs: plain values, which enter their jobs' keys."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class CorpusTars:
    """How many of a gallery's tars are a corpus's."""

    corpus: str
    shards: int


@dataclass(frozen=True)
class Sources:
    """Where a gallery's pictures come from: whose its tars are, in their order.

    Of any other corpus the uids are shown; of all corpora where `pictures` may not be.
    """

    pictures: bool
    tars: tuple[CorpusTars, ...]


@dataclass(frozen=True)
class ShownSet:
    """A corpus, such as a test set, or a set of some of its samples, and what it is called."""

    title: str
    corpus: str


@dataclass(frozen=True)
class NeighborOptions:
    """What a gallery of test pictures shows: up to `count` of each test set, and their neighbours.

    The form is `rows` (a block for each test picture, in it a row for each set) or `ladder` (test
    pictures above their nearest neighbours, from the lowest similarity to the highest). `nearer`
    are the positions of two sets: only test pictures nearer to the first one are taken.
    """

    form: Literal["rows", "ladder"]
    testsets: tuple[ShownSet, ...]
    sets: tuple[ShownSet, ...]
    count: int
    columns: int
    near_duplicate_distance: float | None  # None: a calibration chose it
    seed: int = 0
    nearer: tuple[int, int] | None = None
