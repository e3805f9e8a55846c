"""One gallery of a paper: test images beside the images nearest to them."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Pick test samples and their neighbours, look their images up, draw them."""
    from clipaudit.corpora.addresses import shard_row
    from clipaudit.corpora.lookup import rows_of_shards
    from clipaudit.reports.drawings import figure_files
    from clipaudit.reports.galleries import draw_gallery
    from clipaudit.reports.gallery_options import NeighborOptions, Sources
    from clipaudit.reports.shown_pictures import shown_pictures
    from clipaudit.similarity.calibrated import near_duplicate_distance
    from clipaudit.similarity.gallery import (
        SearchedSet,
        gallery,
        gallery_addresses,
        neighbor_addresses,
        pick_vectors,
        queries_of,
    )

    options = step.settings_as(NeighborOptions, "options")
    sources = step.settings_as(Sources, "sources")
    pairs = zip(options.sets, step.tables("neighbors"), strict=True)
    sets = [SearchedSet(each.title, each.corpus, neighbors) for each, neighbors in pairs]
    queries = queries_of(sets, options)
    vectors = {}
    for corpus, addresses in neighbor_addresses(sets, queries).items():
        files = [each for each in step.labelled("embeddings") if each.labels["corpus"] == corpus]
        shards = {shard_row(address)[0] for address in addresses}
        batches = rows_of_shards([file.path for file in files], shards)
        vectors[corpus] = pick_vectors(batches, addresses)
    distance = near_duplicate_distance(options.near_duplicate_distance, step.tables("calibrated"))
    table = gallery(queries, sets, vectors, options, distance)
    wanted = gallery_addresses(table)
    pictures = shown_pictures(wanted, sources, step.files("tars"), step.labelled("samples"))
    figure = draw_gallery(table, pictures, options)
    step.write_table("table", table, table.schema)
    about = {name: step.settings[name] for name in ("name", "caption")}
    for each in figure_files(table, figure, **about):
        step.write_bytes(*each)


run_step(snakemake, compute)
