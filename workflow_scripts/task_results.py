"""One number for each task of a model."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Run the SQL."""
    import pyarrow as pa

    from clipaudit.reports.leftout import noted
    from clipaudit.reports.tables import report_table

    views = {view: step.made(view) for view in step.ingredients.inputs}
    relations = {
        view: pa.Table.from_pylist(rows) for view, rows in step.settings["relations"].items()
    }
    results = report_table("parrot_task_results", {**views, **relations}, {})
    results = noted(results, step.left_out)
    step.write_table("results", results, results.schema)


run_step(snakemake, compute)
