"""The tables of the similarity audit that the settings ask for."""

from dataclasses import replace

from clipaudit.config.pictures import left_out
from clipaudit.config.settings import Settings
from clipaudit.reports.specification import ReportTable
from clipaudit.similarity.checks import can_show_evidence
from clipaudit.similarity.reports.accuracies import (
    accuracies,
    core_sets,
    of_first_seed,
    robustness,
    tables_of_accuracies,
)
from clipaudit.similarity.reports.evidence import evidence_of_orders, evidence_of_pruning
from clipaudit.similarity.reports.neighbors import (
    deduplication,
    encoders,
    gap_check,
    near_duplicates,
    near_gap,
    nearer,
    other_encoders,
)
from clipaudit.similarity.settings import Similarity


def similarity_tables(run: Settings) -> dict[str, ReportTable]:
    """Return the tables of the audit that the settings ask for, by name."""
    audit = run.section(Similarity)
    if audit is None:
        return {}
    tables = {
        "similarity_encoders": encoders(run, audit),
        "similarity_table2": near_duplicates(run, audit),
        **_optional_tables(run, audit),
    }
    if audit.small is not None:
        tables["similarity_gap_check"] = gap_check(run, audit)
        tables["similarity_table6"] = near_gap(run, audit)
        tables["similarity_table7"] = nearer(run, audit)
    for small_added in tables_of_accuracies(run, audit):
        name = "similarity_table1" if small_added else "similarity_table4"
        tables[name] = accuracies(run, audit, small_added=small_added)
    notes = left_out(run)  # below accuracies: which of them are missing for lack of images
    return {
        name: replace(table, notes=[*table.notes, *notes])
        if "predictions" in table.inputs
        else table
        for name, table in sorted(tables.items())
    }


def _optional_tables(run: Settings, audit: Similarity) -> dict[str, ReportTable]:
    """Return the tables of the sections that are on."""
    tables = {}
    if audit.core_set is not None and audit.recipe is not None:
        table3 = core_sets(run, audit, audit.core_set)
        tables["similarity_table3"] = replace(table3, notes=of_first_seed(audit))
    if audit.other_encoders:
        tables["similarity_table5"] = other_encoders(run, audit)
    if audit.deduplication is not None:
        tables["similarity_deduplication"] = deduplication(run, audit, audit.deduplication)
    if audit.robustness is not None:
        table = robustness(run, audit, audit.robustness)
        tables["similarity_robustness"] = replace(table, notes=of_first_seed(audit))
    if audit.evidence is not None and can_show_evidence(run, audit):
        tables["similarity_evidence"] = evidence_of_pruning(run, audit, audit.evidence)
        if audit.evidence.removed is not None:
            tables["similarity_evidence_orders"] = evidence_of_orders(run, audit, audit.evidence)
    return tables
