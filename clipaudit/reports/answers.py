"""The parts of an audit's answer, and wording that answers share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clipaudit.plaindata import Row
from clipaudit.plaintext import plain

Tables = Mapping[str, Sequence[Row]]  # the rows of report tables, by the tables' names


CONTROL = "Control"  # label of a sentence that gives the control of the numbers before it


@dataclass(frozen=True)
class Sentence:
    """A sentence, and the report table of its numbers; "" for none.

    A terminal shows only sentences with a `label`, under it; the report shows all.
    """

    text: str
    table: str
    label: str = ""


@dataclass(frozen=True)
class Answer:
    """An audit's answer to its question: `headline` answers, the sentences give the numbers."""

    headline: str
    sentences: tuple[Sentence, ...] = ()
    heads: tuple[str, ...] = ()  # headings of a small table of the numbers, if there is one
    lines: tuple[tuple[str, ...], ...] = ()
    note: str = ""  # explains its terms
    label: str = ""  # of the headline on a terminal; if empty, the audit's name

    @property
    def leading(self) -> tuple[Sentence, ...]:
        """Return the sentences next to the headline: the first one, and controls."""
        return tuple(
            sentence
            for place, sentence in enumerate(self.sentences)
            if place == 0 or sentence.label == CONTROL
        )

    @property
    def further(self) -> tuple[Sentence, ...]:
        """Return the other sentences."""
        leading = self.leading
        return tuple(sentence for sentence in self.sentences if sentence not in leading)


def cannot(why: str) -> str:
    """Return the headline for a question whose numbers are missing."""
    return f"Cannot be said: {why}."


def listed(names: Sequence[str]) -> str:
    """Return names as a list in prose.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    names = [plain(name) for name in names]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
