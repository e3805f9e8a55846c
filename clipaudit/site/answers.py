"""The three answers in plain sentences, every number read off a report table."""

from collections.abc import Sequence

from clipaudit.site.memorization_answer import memorization_answer
from clipaudit.site.parrot_answer import parrot_answer
from clipaudit.site.sentences import QUESTIONS, Answer, Tables
from clipaudit.site.similarity_answer import similarity_answer


def answers(tables: Tables, enabled: Sequence[str]) -> list[Answer]:
    """Return the answers of the three audits, in the order of QUESTIONS, those not enabled too."""
    by_audit = {
        "similarity": similarity_answer,
        "memorization": memorization_answer,
        "parrot": parrot_answer,
    }
    return [
        by_audit[audit](tables)
        if audit in enabled
        else Answer(audit, question, False, "Did not run: this run's settings do not ask for it.")
        for audit, question in QUESTIONS.items()
    ]
