"""Declare the reports of the memorization audit."""

from clipaudit.memorization.reports.answer import memorization_answer
from clipaudit.memorization.reports.figures import memorization_figures
from clipaudit.memorization.reports.front import memorization_front
from clipaudit.memorization.reports.galleries import memorization_galleries
from clipaudit.memorization.reports.tables import memorization_tables
from clipaudit.reports.contents import Contents

CONTENTS = Contents(
    [memorization_tables],
    [memorization_figures],
    memorization_galleries,
    memorization_answer,
    front=memorization_front,
)
