"""A figure as an image, and its other readable forms."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Draw the figure's table."""
    from clipaudit.reports.drawings import draw_figure, figure_files
    from clipaudit.reports.leftout import left_out_of, notes_of

    table, settings = step.table("table"), step.settings
    caption = " ".join([settings["caption"], *notes_of(left_out_of(table.schema))])
    figure = draw_figure(settings["form"], table, settings["options"])
    for each in figure_files(table, figure, name=settings["figure"], caption=caption):
        step.write_bytes(*each)


run_step(snakemake, compute)
