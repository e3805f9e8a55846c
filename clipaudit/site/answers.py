"""Each audit's answer in plain sentences; every number comes from a report table."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from clipaudit.config.audits import Audit, audits
from clipaudit.reports.answers import Answer, Sentence, Tables
from clipaudit.reports.contents import contents
from clipaudit.reports.layouts import MINUS
from clipaudit.reports.leftout import LeftOut, joined, notes_of

# as `reports.layouts.interval` writes one; a title may hold brackets, too
_INTERVAL = re.compile(rf"\[[+{MINUS}]?[\d.]+, [+{MINUS}]?[\d.]+\]")

_DID_NOT_RUN = Answer("Did not run: this run's settings do not enable it.")


@dataclass(frozen=True)
class Answered:
    """A question and its answer."""

    audit: str
    question: str
    ran: bool
    answer: Answer

    @property
    def has_intervals(self) -> bool:
        """Whether some text of the answer holds an interval in brackets."""
        answer = self.answer
        sentences = [sentence.text for sentence in answer.sentences]
        cells = [cell for line in answer.lines for cell in line]
        return any(map(_INTERVAL.search, [answer.headline, *sentences, *cells]))


def answers(
    tables: Tables, enabled: Sequence[str], left_out: Mapping[str, LeftOut]
) -> list[Answered]:
    """Return the answers of all audits in order, including built-in audits that are off.

    `left_out` maps a table's or figure's name to what it lacks; an answer's last sentences list it.
    """
    return [
        Answered(audit.name, audit.question, True, _answer(audit, tables, left_out))
        if audit.name in enabled
        else Answered(audit.name, audit.question, False, _DID_NOT_RUN)
        for audit in audits(enabled)
    ]


def _answer(audit: Audit[Any], tables: Tables, left_out: Mapping[str, LeftOut]) -> Answer:
    """Return an audit's answer, ending with what is left out."""
    found = contents(audit).answer(tables)
    own = {name: each for name, each in left_out.items() if name.startswith(f"{audit.name}_")}
    sentences = [
        Sentence(
            note,
            next((name for name in own if name in tables and reason in own[name]), ""),
            "Left out",
        )
        for reason, names in joined(own.values()).items()
        for note in notes_of({reason: names})
    ]
    return replace(found, sentences=(*found.sentences, *sentences))
