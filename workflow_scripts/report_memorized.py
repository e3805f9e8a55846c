"""The most memorized samples as an image."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Look the images up, and draw them."""
    from clipaudit.memorization.examples import EXAMPLES
    from clipaudit.memorization.reports.memorized_gallery import draw_memorized, shown_addresses
    from clipaudit.reports.drawings import figure_files
    from clipaudit.reports.gallery_options import ShownSet, Sources
    from clipaudit.reports.shown_pictures import shown_pictures

    public = step.settings_as(ShownSet, "options")
    sources = step.settings_as(Sources, "sources")
    labels, neighbors, boxes = (step.table(name) for name in ("labels", "neighbors", "boxes"))
    wanted = shown_addresses(labels, neighbors, public)
    pictures = shown_pictures(wanted, sources, step.files("tars"), step.labelled("samples"))
    figure = draw_memorized(labels, neighbors, boxes, pictures, public)
    step.write_table("table", labels, EXAMPLES)
    about = {name: step.settings[name] for name in ("name", "caption")}
    for each in figure_files(labels, figure, **about):
        step.write_bytes(*each)


run_step(snakemake, compute)
