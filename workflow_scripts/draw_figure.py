"""The picture of a figure, and the other forms that people read."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Draw the figure's table."""
    from clipaudit.reports.drawing import figure_bytes
    from clipaudit.reports.drawings import draw_figure
    from clipaudit.reports.rendering import figure_markdown, to_csv

    table, settings = step.table("table"), step.settings
    svg, png = figure_bytes(draw_figure(settings["form"], table, settings["options"]))
    step.write_bytes("csv", to_csv(table).encode(), ".csv")
    step.write_bytes("svg", svg, ".svg")
    step.write_bytes("png", png, ".png")
    text = figure_markdown(settings["figure"], settings["caption"])
    step.write_bytes("markdown", text.encode(), ".md")


run_step(snakemake, compute)
