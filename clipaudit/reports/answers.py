"""What an audit's answer is made of, and the words that answers share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clipaudit.plaindata import Row
from clipaudit.plaintext import plain

Tables = Mapping[str, Sequence[Row]]  # the rows of report tables, by the tables' names


CONTROL = "Control"  # label of a sentence by which the numbers before it are judged


@dataclass(frozen=True)
class Sentence:
    """A sentence, and the report table that its numbers stand in; "" for none.

    Sentences with a `label` stand under it on a terminal, too; the others in the report alone.
    """

    text: str
    table: str
    label: str = ""


@dataclass(frozen=True)
class Answer:
    """What an audit says to its question. `headline` alone answers; sentences give the numbers."""

    headline: str
    sentences: tuple[Sentence, ...] = ()
    heads: tuple[str, ...] = ()  # of a small table of the numbers; none where there are none
    lines: tuple[tuple[str, ...], ...] = ()
    note: str = ""  # what its words mean
    label: str = ""  # of the headline on a terminal; the audit's name where it is empty

    @property
    def leading(self) -> tuple[Sentence, ...]:
        """Return the sentences that stand by the headline: the first one, and controls."""
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
    """Return the headline of a question whose numbers are not there."""
    return f"Cannot be said: {why}."


def listed(names: Sequence[str]) -> str:
    """Return names as a list in prose.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    names = [plain(name) for name in names]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
