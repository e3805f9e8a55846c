"""What a gallery of pairs is asked for: planning reads it, so no image library is imported."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class PairOptions:
    """What a gallery of pairs shows: up to `count`; the corpora of both images, and their titles.

    `which` are the pairs that pixels call copies, or those that they refute.
    """

    which: Literal["copies", "lookalikes"]
    other: str
    other_title: str
    corpus: str
    title: str
    count: int
