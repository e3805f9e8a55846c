"""What the report's first page shows of an audit beside its answer, by names of figures."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Worst:
    """A gallery whose first samples are shown: those with the highest `by`, or in its own order."""

    gallery: str
    by: str = ""  # a column of the gallery's table


@dataclass(frozen=True)
class NextStep:
    """What to do next: in words, and the command to type in the run's folder."""

    words: str
    command: str


@dataclass(frozen=True)
class Front:
    """An audit's part of the first page. Of figures and galleries the first that is there counts.

    The first of `figures` decides the question; the others stand for it where the run lacks it.
    """

    figures: Sequence[str] = ()
    worst: Sequence[Worst] = ()
    steps: Sequence[NextStep] = ()
