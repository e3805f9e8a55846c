"""One table of the report, from its SQL."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Run the SQL."""
    import pyarrow as pa

    from clipaudit.errors import StepError, TooSmall
    from clipaudit.reports.leftout import noted
    from clipaudit.reports.tables import published_values, report_table

    sql, name = step.settings["sql"], step.settings["table"]
    views = {view: step.made(view) for view in step.ingredients.inputs}
    relations = {
        view: pa.Table.from_pylist(rows) for view, rows in step.settings["relations"].items()
    }
    given = {**views, **relations, "published": published_values(name)}
    try:
        table = report_table(sql, given, step.settings["parameters"])
    except StepError as error:
        if not any(files and not views[view] for view, files in step.ingredients.inputs.items()):
            raise
        # a view has no files, so its columns may be unknown
        raise TooSmall(next(iter(step.left_out))) from error
    table = noted(table, step.left_out)
    step.write_table("table", table, table.schema)


run_step(snakemake, compute)
