"""One table of the report: what its SQL gives."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Ask the SQL."""
    import pyarrow as pa

    from clipaudit.reports.tables import published_values, report_table

    sql, name = step.settings["sql"], step.settings["table"]
    views = {view: step.labelled(view) for view in step.ingredients.inputs}
    relations = {
        view: pa.Table.from_pylist(rows) for view, rows in step.settings["relations"].items()
    }
    given = {**views, **relations, "published": published_values(name)}
    table = report_table(sql, given, step.settings["parameters"])
    step.write_table("table", table, table.schema)


run_step(snakemake, compute)
