"""One table of a paper, and the forms that people read."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Ask the SQL, render the answer."""
    import pyarrow as pa

    from clipaudit.reports.rendering import to_csv, to_latex, to_markdown
    from clipaudit.reports.tables import published_values, report_table

    name, sql, notes = (step.settings[key] for key in ("table", "sql", "notes"))
    views = {view: step.labelled(view) for view in step.ingredients.inputs}
    relations = {
        view: pa.Table.from_pylist(rows) for view, rows in step.settings["relations"].items()
    }
    table = report_table(
        sql,
        {**views, **relations, "published": published_values(name)},
        step.settings["parameters"],
    )
    step.write_table("table", table, table.schema)
    step.write_bytes("csv", to_csv(table).encode(), ".csv")
    step.write_bytes("markdown", to_markdown(name, table, notes).encode(), ".md")
    step.write_bytes("latex", to_latex(name, table, notes).encode(), ".tex")


run_step(snakemake, compute)
