"""The readable forms of a table."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Write the table as CSV, and as its layout says."""
    from clipaudit.reports.leftout import left_out_of, notes_of
    from clipaudit.reports.rendering import to_csv, to_latex, to_markdown

    table, name = step.table("table"), step.settings["table"]
    notes = [*step.settings["notes"], *notes_of(left_out_of(table.schema))]
    step.write_bytes("csv", to_csv(table).encode(), ".csv")
    step.write_bytes("markdown", to_markdown(name, table, notes).encode(), ".md")
    step.write_bytes("latex", to_latex(name, table, notes).encode(), ".tex")


run_step(snakemake, compute)
