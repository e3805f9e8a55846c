"""The report's first page beside an audit's answer, by names of figures and galleries."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Worst:
    """A gallery whose first samples are shown: those with the highest `by`, or in its own order."""

    gallery: str
    by: str = ""  # a column of the gallery's table


@dataclass(frozen=True)
class NextStep:
    """A suggested next step: in words, and as a command, without options for the run's folders."""

    words: str
    command: str


@dataclass(frozen=True)
class Front:
    """An audit's part of the first page, with the first figure and gallery that the run has.

    The first of `figures` decides the question; the others replace it if the run lacks it.
    """

    figures: Sequence[str] = ()
    worst: Sequence[Worst] = ()
    steps: Sequence[NextStep] = ()
