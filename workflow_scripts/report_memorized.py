"""The most memorized samples as a picture."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Look the pictures up, and draw them."""
    from clipaudit.memorization.examples import EXAMPLES
    from clipaudit.memorization.reports.memorized_gallery import draw_memorized, shown_addresses
    from clipaudit.reports.drawing import figure_bytes
    from clipaudit.reports.rendering import figure_markdown, to_csv
    from clipaudit.reports.shown_pictures import shown_pictures

    asked = step.settings["gallery"]
    labels, neighbors, boxes = (step.table(name) for name in ("labels", "neighbors", "boxes"))
    wanted = shown_addresses(labels, neighbors, asked)
    pictures = shown_pictures(wanted, asked, step.files("tars"), step.labelled("samples"))
    svg, png = figure_bytes(draw_memorized(labels, neighbors, boxes, pictures, asked))
    step.write_table("table", labels, EXAMPLES)
    step.write_bytes("csv", to_csv(labels).encode(), ".csv")
    step.write_bytes("svg", svg, ".svg")
    step.write_bytes("png", png, ".png")
    text = figure_markdown(step.settings["name"], step.settings["caption"])
    step.write_bytes("markdown", text.encode(), ".md")


run_step(snakemake, compute)
