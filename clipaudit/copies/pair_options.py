"""Defines the options of a gallery of pairs, without image libraries, as planning imports it."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class PairOptions:
    """What a gallery of pairs shows: up to `count`; the corpora of both images, and their titles.

    `which` selects the pairs that pixels call copies, or the lookalikes.
    """

    which: Literal["copies", "lookalikes"]
    other: str
    other_title: str
    corpus: str
    title: str
    count: int
