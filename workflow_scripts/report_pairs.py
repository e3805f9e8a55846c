"""One gallery of the copies audit: pairs of images side by side."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Pick pairs, look their images up, draw them."""
    from clipaudit.copies.pair_options import PairOptions
    from clipaudit.copies.reports.pairs_gallery import draw_pairs
    from clipaudit.copies.shown_pairs import SHOWN_PAIRS, pick_pairs
    from clipaudit.corpora.addresses import sample_addresses
    from clipaudit.reports.drawings import figure_files
    from clipaudit.reports.gallery_options import Sources
    from clipaudit.reports.shown_pictures import shown_pictures

    options = step.settings_as(PairOptions, "options")
    sources = step.settings_as(Sources, "sources")
    table = pick_pairs(step.table("copies"), options)
    wanted: dict[str, set[int]] = {options.other: set(), options.corpus: set()}
    wanted[options.other] |= set(sample_addresses(table, "other_shard", "other_row").tolist())
    wanted[options.corpus] |= set(sample_addresses(table).tolist())
    pictures = shown_pictures(wanted, sources, step.files("tars"), step.labelled("samples"))
    step.write_table("table", table, SHOWN_PAIRS)
    figure = draw_pairs(table, pictures, options)
    about = {name: step.settings[name] for name in ("name", "caption")}
    for each in figure_files(table, figure, **about):
        step.write_bytes(*each)


run_step(snakemake, compute)
