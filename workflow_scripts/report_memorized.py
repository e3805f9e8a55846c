"""The most memorized samples as a picture."""

from clipaudit.workflow import Step, run_step


def compute(step: Step) -> None:
    """Look the pictures up, and draw them."""
    from clipaudit.corpora.lookup import paths_by_corpus, read_pictures
    from clipaudit.memorization.examples import EXAMPLES
    from clipaudit.reports.drawing import figure_bytes
    from clipaudit.reports.memorized_gallery import draw_memorized, shown_addresses
    from clipaudit.reports.rendering import figure_markdown, to_csv

    asked = step.settings["gallery"]
    labels, neighbors, boxes = (step.table(name) for name in ("labels", "neighbors", "boxes"))
    tars = paths_by_corpus(step.files("tars"), asked["tars"])
    pictures = {
        (corpus, address): picture
        for corpus, addresses in shown_addresses(labels, neighbors, asked).items()
        for address, picture in read_pictures(tars[corpus], addresses).items()
    }
    svg, png = figure_bytes(draw_memorized(labels, neighbors, boxes, pictures, asked))
    step.write_table("table", labels, EXAMPLES)
    step.write_bytes("csv", to_csv(labels).encode(), ".csv")
    step.write_bytes("svg", svg, ".svg")
    step.write_bytes("png", png, ".png")
    text = figure_markdown(step.settings["name"], step.settings["caption"])
    step.write_bytes("markdown", text.encode(), ".md")


run_step(snakemake, compute, numeric=("matplotlib", "pillow"))
