"""Each audit's answer in plain sentences, every number read off a report table."""

from collections.abc import Sequence
from dataclasses import dataclass

from clipaudit.config.audits import audits
from clipaudit.reports.answers import Answer, Tables
from clipaudit.reports.contents import contents

_DID_NOT_RUN = Answer("Did not run: this run's settings do not ask for it.")


@dataclass(frozen=True)
class Answered:
    """A question and what was said to it."""

    audit: str
    question: str
    ran: bool
    answer: Answer


def answers(tables: Tables, enabled: Sequence[str]) -> list[Answered]:
    """Return the answers of all audits in order, those of ours not enabled too."""
    return [
        Answered(audit.name, audit.question, True, contents(audit).answer(tables))
        if audit.name in enabled
        else Answered(audit.name, audit.question, False, _DID_NOT_RUN)
        for audit in audits(enabled)
    ]
