"""One figure of a paper, and the table that it shows."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Ask the SQL, draw the answer."""
    import pyarrow as pa

    from clipaudit.reports.drawing import figure_bytes
    from clipaudit.reports.drawings import draw_figure
    from clipaudit.reports.rendering import figure_markdown, to_csv
    from clipaudit.reports.tables import report_table

    settings = step.settings
    views = {view: step.labelled(view) for view in step.ingredients.inputs}
    relations = {view: pa.Table.from_pylist(rows) for view, rows in settings["relations"].items()}
    table = report_table(settings["sql"], {**views, **relations}, settings["parameters"])
    svg, png = figure_bytes(draw_figure(settings["draw"], table, settings["options"]))
    step.write_table("table", table, table.schema)
    step.write_bytes("csv", to_csv(table).encode(), ".csv")
    step.write_bytes("svg", svg, ".svg")
    step.write_bytes("png", png, ".png")
    text = figure_markdown(step.settings["name"], step.settings["caption"])
    step.write_bytes("markdown", text.encode(), ".md")


run_step(snakemake, compute)
